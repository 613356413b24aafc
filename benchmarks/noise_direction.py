"""What noise and its corrections do to a policy gradient, beside the exact clean one.

python -m benchmarks.noise_direction [--groups N] [--write-docs]
"""

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks._tables import Section, Table, write_sections
from benchmarks._tabular import (
    GROUP,
    Batch,
    Direction,
    World,
    hackable,
    heavy,
    iid,
    measure,
    two_verifiers,
)
from rewardkit.noise import (
    audit,
    backward_coefficients,
    correct_backward,
    correct_forward,
    forward_coefficients,
    leave_one_out,
)

__all__ = ["ESTIMATORS", "main", "z_score"]

SEED = 20


def z_score(values: object) -> list[float]:
    """Returns values centred and divided by their group's sample standard deviation + 1e-4."""
    grouped = np.asarray(values, dtype=float).reshape(-1, GROUP)
    centred = grouped - grouped.mean(1, keepdims=True)
    return list((centred / (grouped.std(1, ddof=1, keepdims=True) + 1e-4)).ravel())


ESTIMATORS: dict[str, Callable[[Batch], list[float]]] = {
    "clean, leave-one-out": lambda b: leave_one_out(b.truth, b.groups),
    "noisy, leave-one-out": lambda b: leave_one_out(b.score, b.groups),
    "noisy, z-score": lambda b: z_score(b.score),
    "backward, leave-one-out, one pair of rates": lambda b: backward_coefficients(
        b.score, b.world.channel, groups=b.groups
    ),
    "backward, leave-one-out, rates by stratum": lambda b: backward_coefficients(
        b.score, b.world.channel, groups=b.groups, strata=b.strata
    ),
    "backward, z-score (refused)": lambda b: z_score(correct_backward(b.score, b.world.channel)),
    "forward, one pair of rates": lambda b: forward_coefficients(
        b.score, b.world.channel, scale="j"
    ),
    "forward, rates by stratum": lambda b: forward_coefficients(
        b.score, b.world.channel, strata=b.strata, scale="j"
    ),
    "forward, centred (refused)": lambda b: leave_one_out(
        correct_forward(b.score, b.world.channel), b.groups
    ),
}


def main() -> None:
    """Prints the tables, and puts them into the documentation where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=20_000, help="for each of the 8 prompts")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(SEED)
    batches = [
        world.sample(rng, options.groups) for world in (iid(), heavy(), two_verifiers(), hackable())
    ]
    tables = [_directions(batches, options.groups), _audits(batches[0])]
    text = "\n\n".join(table.to_markdown() for table in tables)
    print(text)
    if options.write_docs:
        write_sections([Section("noise-direction", text)])


def _directions(batches: list[Batch], groups: int) -> Table:
    worlds = [batch.world for batch in batches]
    rows, errors = [], []
    for name, estimate in ESTIMATORS.items():
        found = [measure(batch, estimate(batch)) for batch in batches]
        errors += [one.error for one in found]
        rows.append((name, *(_cell(one) for one in found)))
    note = (
        f"Each cell: cosine with the exact clean gradient / length along it (1 is right) / "
        f"signal-to-noise ratio for one group of {GROUP} a prompt. {groups:,} groups for each of 8 "
        f"prompts with 6 responses; the standard error of a length is at most {max(errors):.3f}."
    )
    return Table("Direction, length and noise", ("estimator", *_names(worlds)), tuple(rows), note)


def _names(worlds: list[World]) -> list[str]:
    return [world.name for world in worlds]


def _cell(found: Direction) -> str:
    return f"{found.cosine:.4f} / {found.scale:.2f} / {found.snr:.3f}"


def _audits(batch: Batch) -> Table:
    plain, scored = ESTIMATORS["noisy, leave-one-out"](batch), z_score(batch.score)
    pairs = {
        "backward, leave-one-out": (plain, "backward, leave-one-out, one pair of rates"),
        "backward, z-score (refused)": (scored, "backward, z-score (refused)"),
        "forward": (plain, "forward, one pair of rates"),
        "forward, centred (refused)": (plain, "forward, centred (refused)"),
    }
    rows = []
    for name, (before, estimator) in pairs.items():
        found = audit(before, ESTIMATORS[estimator](batch))
        rows.append((name, f"{found.mean:.4f}", f"{found.max:.4f}", f"{found.cosine:.4f}"))
    columns = ("correction", "mean difference", "largest", "cosine")
    return Table("The audit of the first column's advantages", columns, tuple(rows))


if __name__ == "__main__":
    main()
