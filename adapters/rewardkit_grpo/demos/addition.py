"""A language model from nothing: supervised on two-digit sums for seconds, then GRPO.

    python -m rewardkit_grpo.demos.addition --seeds 0 1 2

The model writes the digits of a sum from the lowest on, one character a token. Supervision stops
when about a third of its samples are right; GRPO takes it from there by the reward alone. The
figures are on pairs that neither stage has seen.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rewardkit.completion import Completion, completion_text
from rewardkit.reward import Reward
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.logprobs import collate, completion_logps
from rewardkit_grpo.models import Model
from rewardkit_grpo.trainer import Trainer

__all__ = ["CharTokenizer", "Curve", "addition_rows", "main", "pretrain", "run", "tiny_llama"]


class CharTokenizer:
    """One token a character: digits, `+` and `=`; 0 pads and 1 ends."""

    eos_token_id = 1
    pad_token_id = 0
    characters = "0123456789+="
    vocab_size = 2 + len(characters)

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text of its characters."""
        return [2 + self.characters.index(character) for character in text]

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """Returns the text; special tokens have none."""
        return "".join(self.characters[token - 2] for token in ids if token >= 2)


def tiny_llama(seed: int) -> Model:
    """Returns a Llama of 83 thousand parameters with random weights."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=CharTokenizer.vocab_size,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            bos_token_id=None,
            eos_token_id=CharTokenizer.eos_token_id,
            pad_token_id=CharTokenizer.pad_token_id,
            tie_word_embeddings=True,
        )
    )


def addition_rows(seed: int, *, held_out: int = 256) -> tuple[list[dict[str, str]], list[Any]]:
    """Returns the rows to train on and those that are held out: all 10,000 pairs in two parts."""
    rows = [
        {"prompt": f"{a}+{b}=", "reference": str(a + b)[::-1]}
        for a in range(100)
        for b in range(100)
    ]
    random.Random(seed).shuffle(rows)
    return rows[held_out:], rows[:held_out]


def exact(completions: Sequence[Completion], /, **columns: Sequence[Any]) -> list[float]:
    """Returns 1 where the completion is the reference, and 0 elsewhere."""
    pairs = zip(completions, columns["reference"], strict=True)
    return [float(completion_text(text) == reference) for text, reference in pairs]


def pretrain(model: Model, rows: list[dict[str, str]], *, seed: int, until: float = 0.36) -> int:
    """Trains on written sums until so many samples are right; returns the optimizer steps."""
    tokenizer, rng = CharTokenizer(), random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99))
    for step in range(1, 3001):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, step / 50)
        batch = rng.sample(rows, 64)
        logps = completion_logps(
            model,
            whole := collate(
                [tokenizer.encode(row["prompt"]) for row in batch],
                [[*tokenizer.encode(row["reference"]), tokenizer.eos_token_id] for row in batch],
            ),
        )
        loss = -(logps * whole.completion_mask).sum() / whole.completion_mask.sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 25 == 0:
            with torch.no_grad():
                written = (logps * whole.completion_mask).sum(1).exp()
            # The exact probability of a right sample: every prompt has one right completion.
            if written.mean().item() > until:
                return step
    return 3000


@dataclass(frozen=True, slots=True)
class Curve:
    """What one seed did, on held-out pairs."""

    seed: int
    before: float
    """Share of right samples at temperature 1, after supervision."""
    after: float
    """The same after GRPO."""
    pretrain_s: float
    """CPU seconds."""
    grpo_s: float


def run(
    seed: int, *, steps: int = 100, output_dir: Path | None = None, **options: object
) -> tuple[Curve, Trainer]:
    """Trains one model and returns its figures.

    Args:
        seed: of everything.
        steps: of GRPO.
        output_dir: None for a temporary folder.
        options: of `GRPOConfig`, in place of the demo's.
    """
    torch.set_num_threads(1)
    train_rows, held_out = addition_rows(seed)
    model = tiny_llama(seed)
    start = time.process_time()
    pretrain(model, train_rows, seed=seed)
    pretrained = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, object] = {
            "output_dir": output_dir or Path(folder),
            "seed": seed,
            "steps": steps,
            "prompts_per_step": 32,
            "group_size": 8,
            "max_new_tokens": 5,
            "learning_rate": 4e-4,
            "eval_samples": 4,
            "generation_rows": 1024,
            "save_rollouts": output_dir is not None,
        }
        config = GRPOConfig.model_validate(settings | options)
        reward = Reward({"exact": exact})
        trainer = Trainer(model, CharTokenizer(), reward, train_rows, config, eval_dataset=held_out)
        before = trainer.evaluate()["eval/reward"]
        learning = time.process_time()
        trainer.run()
        learnt = time.process_time()
        after = trainer.evaluate()["eval/reward"]
    return Curve(seed, before, after, pretrained - start, learnt - learning), trainer


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints one line a seed."""
    parser = argparse.ArgumentParser(description="GRPO on two-digit sums, from random weights.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=100)
    chosen = parser.parse_args(arguments)
    for seed in chosen.seeds:
        curve, _ = run(seed, steps=chosen.steps)
        print(  # noqa: T201 # a command
            f"seed {seed}: sampled reward {curve.before:.3f} -> {curve.after:.3f} "
            f"({curve.after - curve.before:+.3f}); CPU seconds: supervision "
            f"{curve.pretrain_s:.1f}, GRPO {curve.grpo_s:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
