"""Training through a noisy verifier: what corrections bring, and what they do not.

    pip install matplotlib
    python -m rewardkit_grpo.demos.noise --seeds 0 1 2 3 4 --out out/noise

The model and task of `rewardkit_grpo.demos.addition`, with a verifier whose verdicts are flipped at
known rates, drawn anew for every rollout. All runs of a seed start from the same weights, see the
same prompts, and differ in the coefficients alone. On held-out sums the expected true reward is
computed exactly, as the probability of the right answer. It writes `noise.json`, `noise.png`, and
prints a table.
"""

import argparse
import copy
import json
import random
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from rewardkit.advantages import AdvantageStage
from rewardkit.completion import Completion, completion_text
from rewardkit.noise import Channel, NoiseCorrection, OnlineRates, Rates
from rewardkit.reward import Reward
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.demos.addition import CharTokenizer, addition_rows, pretrain, tiny_llama
from rewardkit_grpo.logprobs import collate, completion_logps
from rewardkit_grpo.models import Model
from rewardkit_grpo.trainer import Trainer

__all__ = ["METHODS", "WORLDS", "World", "main", "run_seed"]

Row: TypeAlias = dict[str, str]
Curves: TypeAlias = dict[str, list[dict[str, float]]]
"""By method: at each evaluation, the step and the expected reward, over all rows and by source."""


@dataclass(frozen=True, slots=True)
class World:
    """A verifier's error rates (rho0, rho1) on each source of prompts."""

    title: str
    rates: Mapping[str, tuple[float, float]]

    @property
    def channel(self) -> Channel:
        """The true rates, by source; over all rows their mean, as one audit would find them."""
        pairs = list(self.rates.values())
        pooled = Rates.exact(*(statistics.fmean(column) for column in zip(*pairs, strict=True)))
        by_source = {source: Rates.exact(*pair) for source, pair in self.rates.items()}
        return Channel(pooled, by_source, ("source",))


WORLDS = {
    "iid": World("every verdict flips: .1/.2", {"even": (0.1, 0.2), "odd": (0.1, 0.2)}),
    "heavy": World("every verdict flips: .2/.4", {"even": (0.2, 0.4), "odd": (0.2, 0.4)}),
    "strata": World("by source: 0/0 and .3/.5", {"even": (0.0, 0.0), "odd": (0.3, 0.5)}),
}

METHODS = ("clean", "control", "grpo", "backward", "forward", "by_source", "online")


class Exact(Verifier):
    """The truth: the completion is the reference."""

    name = "exact"

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns 1 or 0."""
        right = completion_text(completion) == reference
        return Verdict(float(right), Reason.MATCH if right else Reason.MISMATCH)


class Flipped:
    """The truth with errors: a shaper, because its verdicts are drawn and not decided."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.rng = random.Random(seed)

    def __call__(self, completions: Sequence[Completion], /, **columns: Any) -> list[float]:
        """Returns one noisy verdict a completion."""
        rows = zip(completions, columns["reference"], columns["source"], strict=True)
        return [self._verdict(text, reference, source) for text, reference, source in rows]

    def _verdict(self, completion: Completion, reference: str, source: str) -> float:
        rho0, rho1 = self.world.rates[source]
        accepted = 1 - rho1 if completion_text(completion) == reference else rho0
        return float(self.rng.random() < accepted)


def with_source(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows with their source: whether the first number is even."""
    return [
        row | {"source": "odd" if int(row["prompt"].split("+")[0]) % 2 else "even"} for row in rows
    ]


def make_stage(method: str, world: World, *, seed: int) -> AdvantageStage:
    """Returns the coefficients of a method; `clean` and `control` are the same, without rates."""
    if method == "grpo":
        return AdvantageStage("group_z")
    none = Rates.exact(0.0, 0.0)
    made = {
        "clean": ("backward", none),
        "control": ("backward", none),
        "backward": ("backward", world.channel.rates),
        "forward": ("forward", world.channel.rates),
        "by_source": ("backward", world.channel),
        "online": (
            "backward",
            OnlineRates(Exact(), share=0.1, stratified_by=("source",), seed=seed),
        ),
    }
    correction, rates = made[method]
    return AdvantageStage(NoiseCorrection(correction, rates, scale="ema"))  # type: ignore[arg-type]


@torch.no_grad()
def expected_reward(model: Model, rows: Sequence[Row]) -> dict[str, float]:
    """Returns the mean probability of the right answer, over all rows and by source."""
    tokenizer = CharTokenizer()
    batch = collate(
        [tokenizer.encode(row["prompt"]) for row in rows],
        [[*tokenizer.encode(row["reference"]), tokenizer.eos_token_id] for row in rows],
    )
    logps = completion_logps(model, batch) * batch.completion_mask
    right = logps.sum(1).exp().tolist()
    found = {"all": statistics.fmean(right)}
    for source in ("even", "odd"):
        own = [p for p, row in zip(right, rows, strict=True) if row["source"] == source]
        found[source] = statistics.fmean(own)
    return found


def run_method(
    method: str,
    world: World,
    model: Model,
    rows: tuple[list[Row], list[Row]],
    *,
    seed: int,
    steps: int,
) -> list[dict[str, float]]:
    """Trains a copy of the model; returns its curve."""
    train_rows, held_out = rows
    noise: Any = Exact() if method == "clean" else Flipped(world, seed)
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=Path(folder),
            seed=seed,
            steps=steps,
            loss="grpo" if method == "grpo" else "pgbc",
            prompts_per_step=32,
            group_size=8,
            max_new_tokens=5,
            learning_rate=4e-4,
            generation_rows=1024,
            save_rollouts=False,
        )
        trainer = Trainer(
            copy.deepcopy(model),
            CharTokenizer(),
            Reward({"verifier": noise}),
            train_rows,
            config,
            stage=make_stage(method, world, seed=seed),
        )
        curve = [{"step": 0.0, **expected_reward(trainer.model, held_out)}]
        while trainer.step < steps:
            trainer.train_step()
            if trainer.step % 10 == 0 or trainer.step == steps:
                here = expected_reward(trainer.model, held_out)
                curve.append({"step": float(trainer.step), **here})
    return curve


def run_seed(
    seed: int,
    steps: int,
    worlds: Sequence[str] = tuple(WORLDS),
    methods: Sequence[str] = METHODS,
) -> dict[str, Curves]:
    """Returns the curves of a seed, by world and method."""
    torch.set_num_threads(1)
    train_rows, held_out = (with_source(rows) for rows in addition_rows(seed, held_out=1024))
    model = tiny_llama(seed)
    pretrain(model, train_rows, seed=seed)
    rows = (train_rows, held_out)
    found: dict[str, Curves] = {name: {} for name in worlds}
    clean: list[dict[str, float]] | None = None
    for name in worlds:
        for method in methods:
            if method == "clean" and clean is not None:  # no noise, so the same in every world
                found[name][method] = clean
                continue
            curve = run_method(method, WORLDS[name], model, rows, seed=seed, steps=steps)
            found[name][method] = curve
            if method == "clean":
                clean = curve
    return found


def table(found: Mapping[int, Mapping[str, Curves]]) -> str:
    """Returns the last expected rewards in Markdown: of the control, and what others add to it.

    Means over the seeds and their standard errors. Seeds differ by where supervision left them, so
    a method is held against the control of its own seed.
    """
    seeds = list(found.values())
    lines = ["| coefficients | " + " | ".join(WORLDS[w].title for w in seeds[0]) + " |"]
    lines.append("|---|" + "---:|" * len(seeds[0]))
    methods = sorted(next(iter(seeds[0].values())), key=lambda name: name != "control")
    for method in methods:
        cells = [_cell(seeds, world, method) for world in seeds[0]]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(seeds: Sequence[Mapping[str, Curves]], world: str, method: str) -> str:
    last = [seed[world][method][-1]["all"] for seed in seeds]
    if method != "control":
        control = [seed[world]["control"][-1]["all"] for seed in seeds]
        last = [value - base for value, base in zip(last, control, strict=True)]
    sign = "" if method == "control" else "+"
    mean = format(statistics.fmean(last), f"{sign}.3f")
    if len(last) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(last) / len(last) ** 0.5:.3f}"


def plot(found: Mapping[int, Mapping[str, Curves]], path: Path) -> None:
    """Draws the expected true reward over the steps: mean over the seeds, and standard error."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    seeds = list(found.values())
    size = (4.2 * len(seeds[0]), 3.6)
    figure = pyplot.figure(figsize=size, layout="constrained")
    grid: list[Any] = [figure.add_subplot(1, len(seeds[0]), i + 1) for i in range(len(seeds[0]))]
    for axes, world in zip(grid, seeds[0], strict=True):
        for method in seeds[0][world]:
            curves = [[point["all"] for point in seed[world][method]] for seed in seeds]
            steps = [point["step"] for point in seeds[0][world][method]]
            mean = [statistics.fmean(column) for column in zip(*curves, strict=True)]
            axes.plot(steps, mean, label=method, marker="o", markersize=2)
            if len(seeds) > 1:
                half = [
                    statistics.stdev(column) / len(seeds) ** 0.5
                    for column in zip(*curves, strict=True)
                ]
                axes.fill_between(
                    steps,
                    [m - h for m, h in zip(mean, half, strict=True)],
                    [m + h for m, h in zip(mean, half, strict=True)],
                    alpha=0.15,
                )
        axes.set(title=WORLDS[world].title, xlabel="step")
        axes.grid(alpha=0.3)
    grid[0].set_ylabel("expected true reward, held out")
    grid[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs all worlds and methods, one process a seed."""
    parser = argparse.ArgumentParser(description="GRPO through noisy verifiers, corrected or not.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, default=Path("out/noise"))
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    found: dict[int, dict[str, Curves]] = {}
    with ProcessPoolExecutor(chosen.jobs) as pool:
        steps = [chosen.steps] * len(chosen.seeds)
        runs = pool.map(run_seed, chosen.seeds, steps)
        for seed, curves in zip(chosen.seeds, runs, strict=True):
            found[seed] = curves
            print(f"seed {seed} done", flush=True)  # noqa: T201 # a command
            (chosen.out / "noise.json").write_text(json.dumps(found) + "\n")
    plot(found, chosen.out / "noise.png")
    print(table(found))  # noqa: T201


if __name__ == "__main__":
    main()
