"""Prints what a warm Lean worker costs beside a process a proof, and what labelled cases come to.

    python -m benchmarks.formal_cases [--cases FILE.jsonl] [--proofs 20] [--write-docs]

A case is a line with `system` (lean4, dafny, coq), `statement`, `submission` and `label`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.verifier import Verifier
from rewardkit.verifiers.dafny import DafnyVerifier
from rewardkit.verifiers.lean import LeanVerifier, LocalLean
from rewardkit.verifiers.lean._inside import elpi
from rewardkit.verifiers.rocq import RocqVerifier

MAKERS: dict[str, Callable[[], Verifier]] = {
    "lean4": lambda: LeanVerifier(timeout_s=4.0),
    "dafny": DafnyVerifier,
    "coq": RocqVerifier,
}


def cases_table(path: Path) -> Table:
    """Returns how many labelled cases are right, wrong and undecided, by system."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines: list[tuple[str, ...]] = []
    for system, make in MAKERS.items():
        began, right, undecided, wrong = time.monotonic(), 0, 0, []
        mine = [row for row in rows if row["system"] == system]
        with make() as verifier:
            for row in mine:
                verdict = verifier.verify(row["submission"], {"statement": row["statement"]})
                right += verdict.score == float(row["label"])
                undecided += verdict.abstained
                if not verdict.abstained and verdict.score != float(row["label"]):
                    wrong.append(row["id"])
        spent = f"{time.monotonic() - began:.1f}"
        counts = (str(len(mine)), str(right), str(undecided))
        lines.append((system, *counts, ", ".join(wrong) or "0", spent))
    columns = ("system", "cases", "right", "undecided", "wrong", "seconds")
    return Table("Labelled cases", columns, tuple(lines))


def pool_table(count: int, rounds: int = 5) -> Table:
    """Returns what `count` one-theorem files cost in a warm worker, and in a process each.

    Of each way the fastest of some rounds, in turn: other work on the machine only adds.
    """
    files = [f"theorem t{i} (n : Nat) : n + {i} = n + {i} := rfl\n" for i in range(count)]
    backend = LocalLean(lean="wheel")
    path = ":".join(backend.toolchain.path)
    backend.check(files[0])
    warm, cold = [], []
    for _ in range(rounds):
        warm.append(_seconds(lambda: _check_all(backend, files)))
        cold.append(_seconds(lambda: _run_all(path, files)))
    backend.close()
    fast, slow = min(warm), min(cold)
    lines = (
        ("a process a file", f"{slow:.2f}", f"{1000 * slow / count:.0f}"),
        ("one warm worker, a fork a file", f"{fast:.2f}", f"{1000 * fast / count:.0f}"),
    )
    note = (
        f"The warm worker is {slow / fast:.1f} times as fast; the fastest of {rounds} rounds each. "
        f"{describe_machine()}"
    )
    return Table(f"{count} proofs with one header", ("way", "seconds", "each, ms"), lines, note)


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _check_all(backend: LocalLean, files: list[str]) -> None:
    for text in files:
        assert not backend.check(text).messages


def _run_all(path: str, files: list[str]) -> None:
    program = [sys.executable, elpi.__file__, elpi.find_elpi(), "Main.lean"]
    with tempfile.TemporaryDirectory() as folder:
        for text in files:
            Path(folder, "Main.lean").write_text(text, encoding="utf-8")
            environment = {**os.environ, "LEAN_PATH": path}
            subprocess.run(program, cwd=folder, env=environment, check=True)


def main() -> None:
    """Prints the tables; writes them into the docs where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--proofs", type=int, default=20)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    pool = pool_table(options.proofs)
    print(pool.to_markdown())
    if options.cases:
        print(cases_table(options.cases).to_markdown())
    if options.write_docs:
        write_sections([Section("formal-pool", pool.to_markdown())])


if __name__ == "__main__":
    main()
