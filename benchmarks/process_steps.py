"""Prints what cutting, scoring and projecting steps costs beside tokenising the same text.

    python -m benchmarks.process_steps [--completions 10000] [--steps 20] [--write-docs]

The tokenizer is a byte-level BPE of 8,000 tokens, trained here on the same kind of text, behind
the fast tokenizer of transformers, asked for offsets as a trainer asks for them. All is on one
thread.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks._tables import Section, Table, describe_machine, format_number, write_sections
from rewardkit.process import Segmentation, StepBatch, StepTokens, by_separator

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

WORDS = (
    "so then we have the total number of which gives because adding both sides and dividing by "
    "multiply remaining apples cost each day left hours therefore equals sum product twice half "
    "factor let be value compute result since implies substitute expand simplify check"
).split()


def completions(count: int, steps: int, seed: int = 0) -> list[str]:
    """Returns texts of `steps` steps of about twenty words and numbers each."""
    rng = random.Random(seed)

    def step() -> str:
        words = [rng.choice(WORDS) for _ in range(rng.randint(12, 22))]
        a, b = rng.randint(2, 999), rng.randint(2, 999)
        return " ".join([*words, f"{a} * {b} = {a * b}."])

    return ["\n\n".join(step() for _ in range(steps)) for _ in range(count)]


def make_tokenizer(texts: Sequence[str]) -> "PreTrainedTokenizerFast":
    """Returns a fast tokenizer of transformers, trained here."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=8_000, initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner)


def best_of(runs: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Returns the least CPU seconds of several runs, and the last result."""
    spent, result = [], None
    for _ in range(runs):
        started = time.process_time()
        result = work()
        spent.append(time.process_time() - started)
    return min(spent), result


def measure(count: int, steps: int, runs: int = 2) -> Table:
    """Returns what each part costs."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = completions(count, steps)
    tokenizer = make_tokenizer(texts[:500])
    tokenised, encoded = best_of(
        runs, lambda: tokenizer(texts, return_offsets_mapping=True, add_special_tokens=False)
    )
    offsets = encoded["offset_mapping"]
    cut, segments = best_of(runs, lambda: [by_separator(text) for text in texts])
    assert all(len(segment) == steps for segment in segments)
    rng = random.Random(1)
    values = [[rng.random() for _ in range(steps)] for _ in texts]

    def aggregate() -> StepBatch:
        batch = StepBatch.from_rows(values)
        for how in ("min", "prod"):
            batch.aggregate(how)  # type: ignore[arg-type] # both are names of aggregators
        return batch

    aggregated, batch = best_of(runs, aggregate)
    projected, tokens = best_of(runs, lambda: project(segments, offsets))
    spread, out = best_of(runs, lambda: batch.to_tokens(tokens, values=batch.suffix_sums()))
    assert out.shape[0] == count
    total = cut + aggregated + projected + spread
    alone, _ = best_of(runs, lambda: tokenizer.backend_tokenizer.encode_batch(texts))
    parts = (
        ("tokenising, with offsets", tokenised),
        ("tokenising in Rust alone, nothing read", alone),
        ("cutting into steps", cut),
        ("two aggregates of each", aggregated),
        ("steps to spans of tokens", projected),
        ("suffix sums to an array of tokens", spread),
        ("all four", total),
    )
    rows = tuple(
        (name, f"{seconds:.3f}", format_number(1e6 * seconds / count), f"{seconds / tokenised:.3f}")
        for name, seconds in parts
    )
    mean = sum(map(len, offsets)) / count
    return Table(
        f"{count:,} completions of {steps} steps, {mean:.0f} tokens each",
        ("part", "CPU s", "µs a completion", "share of tokenising"),
        rows,
    )


def project(segments: Sequence[Segmentation], offsets: Sequence[Any]) -> list[StepTokens]:
    """Returns the tokens of each completion's steps."""
    return [segment.project(own) for segment, own in zip(segments, offsets, strict=True)]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--completions", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    table = measure(options.completions, options.steps)
    text = f"{table.to_markdown()}\n\n{describe_machine()}"
    print(text)
    if options.write_docs:
        print(*write_sections([Section("process-steps", text)]), sep="\n")


if __name__ == "__main__":
    main()
