"""Prints how many cores grade the rollouts of how many GPUs, and simulates a training step.

    python -m benchmarks.sizing [--gpus 1000] [--dollars 0.04] [--write-docs]

The rates of the verifiers are read from the tables of docs/verifiers/, so they are those that the
other programs here have measured. All else is an assumption, and stands in the tables.
"""

import argparse
import heapq
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks._tables import ROOT, Section, Table, format_number, write_sections


@dataclass(frozen=True, slots=True)
class Rate:
    """Verdicts a second of one core."""

    name: str
    per_core: float
    source: str


def figure(page: str, row: str, column: int) -> float:
    """Returns a number of a table in docs/verifiers/.

    Args:
        page: its name, without `.md`.
        row: how the row begins.
        column: of the cells after the first, from 0.
    """
    text = (ROOT / "docs" / "verifiers" / f"{page}.md").read_text("utf-8")
    found = re.search(rf"^\| {re.escape(row)} \|(.+)\|$", text, re.M)
    if found is None:
        raise SystemExit(f"docs/verifiers/{page}.md has no row {row!r}")
    number = re.search(r"[\d.,]+", found[1].split("|")[column])
    assert number is not None
    return float(number[0].replace(",", ""))


def rates() -> list[Rate]:
    """Returns the rates that docs/verifiers/ holds; those on two cores are halved."""
    return [
        Rate(
            "math, GSM8K solutions",
            figure("math", "rewardkit, strict | 5,276", 2),
            "math: real model solutions, CPU-seconds",
        ),
        Rate(
            "math, mixed hard answers",
            figure("math", "rewardkit, lenient, references known", 1),
            "math: ordinary rows, CPU-seconds",
        ),
        Rate(
            "SQL, reference prepared",
            1e3 / figure("sql", "SqlVerifier, reference prepared", 0),
            "SQL: median time of a verdict",
        ),
        Rate(
            "code, four calls",
            figure("code", "`verify_batch`, four calls each", 0) / 2,
            "code: all processors, two cores",
        ),
        Rate(
            "code, hostile and honest mixed",
            figure("code", "programs a second", 0) / 2,
            "code: soak, two busy cores",
        ),
        Rate(
            "Prolog, with its audit",
            1e3 / figure("prolog", "plain: verdict with its audit", 1),
            "Prolog: median time of a verdict",
        ),
    ]


@dataclass(frozen=True, slots=True)
class Training:
    """What is assumed of a training step."""

    gpus: int = 1000
    tokens_per_gpu_s: float = 2500.0
    """Tokens that one GPU writes a second, over all its sequences."""
    sequences_per_gpu: int = 64
    """Completions that one GPU writes at the same time."""
    tokens: float = 4000.0
    """Mean length of a completion."""
    sigma: float = 0.7
    """Of the logarithm of the length."""
    prompts: int = 4096
    group_size: int = 16

    @property
    def completions(self) -> int:
        """Of one step."""
        return self.prompts * self.group_size

    @property
    def verdicts_per_s(self) -> float:
        """While all GPUs write."""
        return self.gpus * self.tokens_per_gpu_s / self.tokens


@dataclass(frozen=True, slots=True)
class Step:
    """What a simulated step took."""

    generation_s: float
    tail_s: float
    """From the last completion to the last verdict: what grading adds to the step."""
    p99_wait_s: float
    """From a completion to the start of its grading."""
    busy: float
    """Share of the cores' time up to the last verdict that was grading."""


def finish_times(training: Training, rng: random.Random) -> list[float]:
    """Returns when each completion of a step ends: every free slot takes the next prompt."""
    speed = training.tokens_per_gpu_s / training.sequences_per_gpu
    mu = math.log(training.tokens) - training.sigma**2 / 2
    slots = [0.0] * min(training.gpus * training.sequences_per_gpu, training.completions)
    heapq.heapify(slots)
    ends = []
    for _ in range(training.completions):
        end = heapq.heappop(slots) + rng.lognormvariate(mu, training.sigma) / speed
        heapq.heappush(slots, end)
        ends.append(end)
    return sorted(ends)


def simulate(
    ends: Sequence[float], per_core: float, cores: int, rng: random.Random, *, spread: float = 1.0
) -> Step:
    """Returns what a step takes when completions are graded in the order in which they end.

    Args:
        ends: when they end, in order.
        per_core: verdicts a second of a core.
        cores: of the verifiers.
        rng: of the costs, which are log-normal with the mean that `per_core` says.
        spread: standard deviation of the logarithm of a cost.
    """
    free = [0.0] * cores
    mu = -math.log(per_core) - spread**2 / 2
    waits, work, last = [], 0.0, 0.0
    for end in ends:
        start = max(end, heapq.heappop(free))
        cost = rng.lognormvariate(mu, spread)
        heapq.heappush(free, start + cost)
        waits.append(start - end)
        work += cost
        last = max(last, start + cost)
    waits.sort()
    return Step(
        ends[-1], max(0.0, last - ends[-1]), waits[int(0.99 * len(waits))], work / (cores * last)
    )


def cores_for(verdicts_per_s: float, per_core: float) -> int:
    """Returns the cores that are busy 70 % of the time at a rate of verdicts."""
    return max(1, math.ceil(verdicts_per_s / per_core / 0.7))


def rate_table(found: Sequence[Rate], dollars: float) -> Table:
    """Returns verdicts a second and money, by verifier."""
    return Table(
        "Verdicts of one core",
        ("verifier", "a second", "core-hours per million", "dollars per million", "from"),
        tuple(
            (
                rate.name,
                format_number(rate.per_core),
                format_number(1e6 / rate.per_core / 3600),
                format_number(1e6 / rate.per_core / 3600 * dollars),
                rate.source,
            )
            for rate in found
        ),
        note=f"A core-hour is taken for {dollars} dollars.",
    )


def growth_table(found: Sequence[Rate]) -> Table:
    """Returns core-seconds of a step by prompts × group size."""
    sizes = [(128, 8), (512, 8), (512, 16), (2048, 16), (4096, 16), (4096, 64)]
    return Table(
        "Core-seconds of grading in one step",
        ("verifier", *(f"{prompts:,} × {group}" for prompts, group in sizes)),
        tuple(
            (rate.name, *(format_number(p * g / rate.per_core) for p, g in sizes)) for rate in found
        ),
        note="Columns are prompts × completions of a prompt.",
    )


def step_table(found: Sequence[Rate], training: Training) -> Table:
    """Returns a simulated step by verifier and cores."""
    ends = finish_times(training, random.Random(1))
    rows = []
    for rate in found:
        enough = cores_for(training.verdicts_per_s, rate.per_core)
        for cores in sorted({max(1, enough // 4), enough, 2 * enough}):
            step = simulate(ends, rate.per_core, cores, random.Random(2))
            rows.append(
                (
                    rate.name,
                    f"{cores:,}",
                    f"{1e3 * step.tail_s:,.1f}",
                    f"{1e3 * step.p99_wait_s:,.1f}",
                    f"{100 * step.busy:.0f}",
                )
            )
    note = (
        f"{training.completions:,} completions ({training.prompts:,} prompts × "
        f"{training.group_size}) of {training.tokens:,.0f} tokens on average, log-normal with "
        f"sigma {training.sigma}; {training.gpus:,} GPUs write "
        f"{training.tokens_per_gpu_s:,.0f} tokens a second each in {training.sequences_per_gpu} "
        f"sequences, so {training.verdicts_per_s:,.0f} completions end a second while all write; "
        f"the last one ends after {format_number(ends[-1])} s. Costs of verdicts are log-normal "
        "with sigma 1."
    )
    return Table(
        f"A step of {training.gpus:,} GPUs, simulated",
        ("verifier", "cores", "ms after the last completion", "p99 wait, ms", "busy %"),
        tuple(rows),
        note=note,
    )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=1000)
    parser.add_argument("--dollars", type=float, default=0.04)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    found = rates()
    tables = [
        rate_table(found, options.dollars),
        growth_table(found),
        step_table(found, Training(gpus=options.gpus)),
    ]
    text = "\n\n".join(table.to_markdown() for table in tables)
    print(text)
    if options.write_docs:
        write_sections([Section("sizing", text)])


if __name__ == "__main__":
    main()
