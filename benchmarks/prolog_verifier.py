"""Prints what a Prolog verdict costs beside a cold `swipl`, and what a long run leaves behind.

    python -m benchmarks.prolog_verifier [--runs 60] [--programs 10000] [--write-docs]

The same programs go through every way in turn, so that a busy machine is busy for all. In the long
run the fork server, which holds the warm Prolog, is killed with SIGKILL twice.
"""

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._soak import Item, soak_table
from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.verdict import Json
from rewardkit.verifiers.prolog import PrologVerifier

CASES = Path(__file__).resolve().parents[1] / "fixtures" / "prolog" / "cases.jsonl"
PROGRAMS = {
    "plain": "trays(6).\nrolls(24).\nsold(95).\n"
    "solve(X) :- trays(T), rolls(R), sold(S), X is T*R - S.\n",
    "clpq": ":- use_module(library(clpq)).\ntrays(6).\nrolls(24).\nsold(95).\n"
    "solve(X) :- trays(T), rolls(R), sold(S), {X = T*R - S}.\n",
    "clpfd": ":- use_module(library(clpfd)).\ntrays(6).\nrolls(24).\nsold(95).\n"
    "solve(X) :- trays(T), rolls(R), sold(S), X #= T*R - S.\n",
}
REFERENCE: Json = {"query": "solve(X)", "expect": {"type": "answer", "value": 49}}
_SLOW = ("loop", "memory", "power", "deep", "shared", "left-recursion", "sleep", "own-engine")


def cold(program: str, folder: str) -> Callable[[int], None]:
    """Returns a run of a fresh `swipl` that prints the first answer."""
    path = Path(folder, "program.pl")

    def run(number: int) -> None:
        path.write_text(f"{program}% {number}\n")
        done = subprocess.run(
            ["swipl", "-q", "-f", str(path), "-g", "solve(X), writeln(X), halt"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        assert done.stdout == b"49\n", done

    return run


def graded(verifier: PrologVerifier, program: str) -> Callable[[int], None]:
    """Returns a verdict on the program."""

    def run(number: int) -> None:
        verdict = verifier.verify(f"{program}% {number}\n", REFERENCE)
        assert verdict.passed, verdict

    return run


def latency(full: PrologVerifier, short: PrologVerifier, runs: int) -> Table:
    """Returns the table of single verdicts."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, program in PROGRAMS.items():
            ways = {
                "verdict with its audit": graded(full, program),
                "verdict, audit=False": graded(short, program),
                "cold `swipl`": cold(program, folder),
            }
            taken = _interleaved(ways, runs)
            base = taken["cold `swipl`"]
            for way, seconds in taken.items():
                least, median = seconds[0] * 1e3, statistics.median(seconds) * 1e3
                rows.append(
                    (
                        f"{name}: {way}",
                        f"{least:.1f}",
                        f"{median:.1f}",
                        f"{base[0] / seconds[0]:.0f}",
                        f"{statistics.median(base) * 1e3 / median:.0f}",
                    )
                )
    columns = ("program and way", "min ms", "median ms", "cold / it, min", "cold / it, median")
    return Table("One program of four clauses, one query", columns, tuple(rows))


def soak(count: int, *, seed: int = 7) -> Table:
    """Returns the table of a long run; raises AssertionError if a verdict is wrong or lost."""
    # A comment makes each program one of its own: equal ones would run once.
    items = [
        Item(f"{case['completion']}\n% {number}\n", case["reference"], case["passed"])
        for number, case in enumerate(_mixture(count, random.Random(seed)))
    ]
    verifier = PrologVerifier(timeout_s=2, inferences=400_000)
    return soak_table(
        verifier,
        verifier.engine.sandbox,
        items,
        batch=max(25, count // 20),
        kills={6, 13},
        what="honest, wrong and hostile",
    )


def _mixture(count: int, chooser: random.Random) -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    # A fence or an element would hide the comment; a missing full stop would end in it.
    plain = [
        c
        for c in cases
        if c["outcome"] != "no_program"
        and "syntax" not in c["outcome"]
        and "```" not in c["completion"]
        and "<" not in c["completion"][:20]
        and "answer>" not in c["completion"]
    ]
    slow = [c for c in plain if any(word in c["kind"] for word in _SLOW)]
    quick = [c for c in plain if c not in slow]
    return [chooser.choice(slow if i % 50 == 0 else quick) for i in range(1, count + 1)]


def _interleaved(ways: dict[str, Callable[[int], None]], runs: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        run(-1)
    for number in range(runs):
        for name, run in ways.items():
            began = time.perf_counter()
            run(number)
            taken[name].append(time.perf_counter() - began)
    return {name: sorted(seconds) for name, seconds in taken.items()}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    with PrologVerifier() as full, PrologVerifier(audit=False) as short:
        table = latency(full, short, options.runs)
    print(table.to_markdown(), flush=True)
    texts = [table.to_markdown()]
    if options.programs:
        soaked = soak(options.programs).to_markdown()
        print(f"\n{soaked}")
        texts.append(soaked)
    machine = describe_machine()
    text = "\n\n".join([*texts, machine])
    print(f"\n{machine}")
    if options.write_docs:
        write_sections([Section("prolog", text)])


if __name__ == "__main__":
    main()
