"""Other auditors on the same planted faults, beside `rewardkit audit`.

    python -m benchmarks.audit_peers --keep results.jsonl --environments DIR [--write-docs]

`results.jsonl` is what `benchmarks.audit_mutants --keep` wrote. DIR holds one virtual environment a
tool, named as the tool, with that tool installed from PyPI.

The tools name what they find in words of their own, so a fault is counted in two ways: the tool
says something of it that it does not say of `boxed_number`, the good reward of which most faults
are variants; or something that it says of none of the good rewards. Neither asks for the root
cause.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks._tables import Section, Table, describe_machine, write_sections
from benchmarks.audit_mutants import FOLDER, Planted, read_planted

ROOT = FOLDER.parents[1]
LIMIT_S = 30
TASKS = [
    ("What is 6 times 7?", "42"),
    ("What is 3 + 4?", "7"),
    ("What is 100 - 1?", "99"),
    ("What is 1 / 2 as a decimal number?", "0.5"),
    ("What is 2 - 5?", "-3"),
    ("What is 4 - 4?", "0"),
]


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool says of one reward."""

    labels: frozenset[str]
    """In its own words, with the case."""
    gate: bool
    """Its own default gate fails."""
    ended: bool = True
    """It gave a report within the time."""


def run_tool(argv: Sequence[str], read: Callable[[str], tuple[set[str], bool]]) -> Said:
    """Returns what one run says; a run without a report says nothing but that."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{FOLDER}"}
    try:
        done = subprocess.run(
            argv, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=LIMIT_S
        )
        labels, gate = read(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return Said(frozenset(), gate=True, ended=False)
    return Said(frozenset(labels), gate)


def read_corpus_report(text: str) -> tuple[set[str], bool]:
    """Reads what reward-doctor and rewardlint print; the gate is an accepted exploit or a crash."""
    report = json.loads(text)
    failures = report["failures"]
    labels = {f"{one['mode'] or 'error'} {one['id']}" for one in failures}
    return labels, any(one["mode"] is None for one in failures) or bool(
        report["n_exploits_accepted"]
    )


def read_probe_report(text: str) -> tuple[set[str], bool]:
    """Reads what rewardprobe prints; the gate is a critical finding."""
    report = json.loads(text, strict=False)  # it wraps long texts by raw line breaks
    found = [one for family in report["families"] for one in family["findings"]]
    return {f"{one['attack']} {one['severity']}" for one in found}, report["summary"][
        "critical"
    ] > 0


def ask(tool: str, folder: Path, tasks: Path, planted: Planted) -> Said:
    """Returns what a tool says of a reward of the fixtures."""
    file, _, name = planted.reward.partition(":")
    program = str(folder / tool / "bin" / tool)
    if tool == "rewardprobe":
        target = f"{file.removesuffix('.py')}::{name}"
        return run_tool([program, "test", target, "-d", str(tasks), "--json"], read_probe_report)
    return run_tool([program, "audit", planted.reward, "-f", "json"], read_corpus_report)


def version_of(tool: str, folder: Path) -> str:
    """Returns the version that is installed."""
    code = f"import importlib.metadata as m; print(m.version({tool!r}))"
    python = str(folder / tool / "bin" / "python")
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def own_row(keep: Path, mutants: list[Planted], good: list[Planted]) -> tuple[str, ...]:
    """Returns the line of `rewardkit audit`, whose measure is that it names the root cause."""
    results = dict(map(json.loads, keep.read_text("utf-8").splitlines()))
    named = sum(planted.judge(results[planted.reward][0])[0] for planted in mutants)
    gates = [sum("contract" in results[p.reward][1] for p in rows) for rows in (mutants, good)]
    alarms = sum(bool(results[planted.reward][0]) for planted in good)
    return (
        "rewardkit audit",
        f"{named}",
        f"{named}",
        f"{gates[0]}",
        "0",
        f"{gates[1]}",
        f"{alarms}",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(arguments)
    folder = options.environments.resolve()
    tasks = folder / "tasks.jsonl"
    lines = [json.dumps({"prompt": p, "question": p, "answer": a}) for p, a in TASKS]
    tasks.write_text("\n".join(lines) + "\n", "utf-8")
    mutants = [row for row in read_planted("mutants.jsonl") if row.kind == "math"]
    good = [
        row
        for row in read_planted("good.jsonl")
        if row.kind == "math" and not row.reward.startswith("own.py")
    ]
    rows = [own_row(options.keep, mutants, good)]
    for tool in ("reward-doctor", "rewardlint", "rewardprobe"):
        with ThreadPoolExecutor(options.workers) as pool:
            said = list(
                pool.map(lambda row, tool=tool: ask(tool, folder, tasks, row), [*mutants, *good])
            )
        bad, fine = said[: len(mutants)], said[len(mutants) :]
        usual = frozenset[str]().union(*(one.labels for one in fine))
        plain = next(
            one.labels
            for one, row in zip(fine, good, strict=True)
            if row.reward.endswith(":boxed_number")
        )
        beyond = [sum(bool(one.labels - base) for one in bad) for base in (plain, usual)]
        rows.append(
            (
                f"{tool} {version_of(tool, folder)}",
                f"{beyond[0]}",
                f"{beyond[1]}",
                f"{sum(one.gate and one.ended for one in bad)}",
                f"{sum(not one.ended for one in bad)}",
                f"{sum(one.gate and one.ended for one in fine)}",
                f"{sum(bool(one.labels) or not one.ended for one in fine)}",
            )
        )
    table = Table(
        f"{len(mutants)} planted faults and {len(good)} good rewards of kind math",
        ("auditor", "says more than of boxed_number", "more than of any good one",
         "its gate fails", "no report",
         "gate fails on good ones", "good ones with any finding"),
        tuple(rows),
        note="Of rewardkit audit, the first two columns count root causes that it named. No "
        f"report: it raised, or took more than {LIMIT_S} s.",
    )  # fmt: skip
    text = f"{describe_machine([])}\n\n{table.to_markdown()}"
    print(text)
    if options.write_docs:
        write_sections([Section("audit-peers", text)])


if __name__ == "__main__":
    main()
