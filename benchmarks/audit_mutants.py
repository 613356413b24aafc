"""The audit on rewards with one planted fault each, and on rewards without any.

    python -m benchmarks.audit_mutants [--write-docs] [--workers 3] [--keep results.jsonl]

With `--keep` each result is written down when it is there, and a later call goes on from it.

A fault is found if a finding names its root cause. A finding beside it that the line of the fault
does not allow for is an extra one; a finding on a good reward is a false alarm.
"""

import argparse
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.audit import audit_reward
from rewardkit.noise import wilson_interval

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "audit"


@dataclass(frozen=True, slots=True)
class Planted:
    """One line of the fixtures."""

    reward: str
    kind: str
    root_cause: str | None = None
    """Slugs with | between, any of which is right; None for a good reward."""
    also: tuple[str, ...] = ()
    """Other faults that the reward really has."""

    def judge(self, slugs: Sequence[str]) -> tuple[bool, bool]:
        """Returns whether it is found (or a good one silent), and whether all else is silent."""
        wanted = self.root_cause.split("|") if self.root_cause else []
        found = any(slug in wanted for slug in slugs) if wanted else not slugs
        return found, not set(slugs) - {*wanted, *self.also}


def read_planted(name: str) -> list[Planted]:
    """Returns the lines of one of the lists of fixtures."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [Planted(**{**row, "also": tuple(row.get("also", ()))}) for row in rows]


def audit_planted(planted: Planted) -> tuple[list[str], list[str], float]:
    """Returns the slugs and levels of what is found, and the seconds that it took."""
    started = time.monotonic()
    report = audit_reward(f"{FOLDER}/{planted.reward}", kind=planted.kind)
    slugs = [finding.root_cause.partition(":")[0] for finding in report.findings]
    return slugs, [f.level.value for f in report.findings], time.monotonic() - started


def audit_all(
    planted: Sequence[Planted], *, workers: int, keep: Path | None
) -> list[tuple[list[str], list[str], float]]:
    """Returns the result of each; those that `keep` holds already are not run again."""
    known = {}
    if keep is not None and keep.exists():
        known = dict(map(json.loads, keep.read_text("utf-8").splitlines()))
    lock = threading.Lock()

    def one(line: Planted) -> tuple[list[str], list[str], float]:
        if line.reward in known:
            slugs, levels, seconds = known[line.reward]
            return slugs, levels, seconds
        result = audit_planted(line)
        if keep is not None:
            with lock, keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps([line.reward, result]) + "\n")
        return result

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, planted))


def summarise(
    name: str, planted: Sequence[Planted], results: Sequence[tuple[list[str], list[str], float]]
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Returns the lines of a family in the summary, and a line for each of its rewards."""
    lines, found, clean = [], 0, 0
    for line, (slugs, levels, _) in zip(planted, results, strict=True):
        right, alone = line.judge(slugs)
        found += right
        clean += right and alone
        named = ", ".join(f"{s} ({level})" for s, level in zip(slugs, levels, strict=True))
        reward = line.reward.partition(":")[2]
        lines.append((reward, name, line.kind, "yes" if right else "**no**", named or "nothing"))
    score = wilson_interval(found, len(planted))
    summary = [
        (f"{name} faults, root cause named", f"{len(planted)}", f"{found}",
         f"{100 * score.low:.0f} to {100 * score.high:.0f} %"),
        ("of these, with no other finding", f"{len(planted)}", f"{clean}", ""),
    ]  # fmt: skip
    return summary, lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="holds the results; a later call goes on")
    options = parser.parse_args(arguments)
    families = {"planted": read_planted("mutants.jsonl"), "held back": read_planted("held.jsonl")}
    good = {"": read_planted("good.jsonl"), "held back, ": read_planted("held_good.jsonl")}
    everything = [line for lines in (*families.values(), *good.values()) for line in lines]
    results = audit_all(everything, workers=options.workers, keep=options.keep)
    rows: list[tuple[str, ...]] = []
    summary: list[tuple[str, ...]] = []
    alarms, start = [], 0
    for name, planted in families.items():
        head, lines = summarise(name, planted, results[start : start + len(planted)])
        summary, rows, start = [*summary, *head], [*rows, *lines], start + len(planted)
    for name, planted in good.items():
        slugs = [result[0] for result in results[start : start + len(planted)]]
        bad = [(p.reward, s) for p, s in zip(planted, slugs, strict=True) if s]
        silent = len(planted) - len(bad)
        summary.append((f"{name}good rewards, silent", f"{len(planted)}", f"{silent}", ""))
        alarms, start = [*alarms, *bad], start + len(planted)
    seconds = sorted(result[2] for result in results)
    table = Table(
        "Planted faults",
        ("set", "rewards", "right", "95 % interval"),
        tuple(summary),
        note=f"An audit took {seconds[len(seconds) // 2]:.0f} s in the median and at most "
        f"{seconds[-1]:.0f} s, {options.workers} at a time."
        + (f" False alarms: {alarms}" if alarms else ""),
    )
    each = Table(
        "Each of them", ("reward", "set", "kind", "found", "findings"), tuple(rows), prose=True
    )
    text = "\n\n".join([describe_machine(["hypothesis"]), table.to_markdown(), each.to_markdown()])
    print(text)
    if options.write_docs:
        write_sections([Section("audit", text)])


if __name__ == "__main__":
    main()
