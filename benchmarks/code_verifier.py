"""Prints what a sandboxed run costs beside other ways, interleaved in one run.

    python -m benchmarks.code_verifier [--runs 150] [--write-docs]

The same tiny programs go through every way in turn, so that a busy machine is busy for all.
"""

import argparse
import ctypes
import importlib
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.sandbox import Job, Sandbox
from rewardkit.verdict import Json
from rewardkit.verifiers.code import CodeVerifier

PROGRAM = "a, b = map(int, input().split())\nprint(a * b + 1)\n"
INPUT = b"6 7\n"
OUTPUT = b"43\n"
CALL_PROGRAM = "def f(xs, lo, hi):\n    return sum(min(max(x, lo), hi) for x in xs)\n"
CASES: list[tuple[list[object], int]] = [
    ([[1, 5, 9], 2, 6], 13),
    ([[-3, 0, 3], -1, 1], 0),
    ([[], 0, 9], 0),
    ([[100, 7, -8], 5, 50], 62),
]
REFERENCE: Json = {
    "format": "call",
    "entry": "f",
    "cases": [{"args": args, "expected": expected} for args, expected in CASES],  # type: ignore[dict-item]
}
BWRAP = (
    *("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"),
    *("--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"),
)


def plain(*command: str) -> Callable[[], None]:
    """Returns a run of a fresh interpreter."""

    def run() -> None:
        done = subprocess.run([*command, "-c", PROGRAM], input=INPUT, capture_output=True)
        assert done.stdout == OUTPUT, done

    return run


def sandboxed(sandbox: Sandbox) -> Callable[[], None]:
    """Returns a run in the sandbox."""
    job = Job(files={"main.py": PROGRAM.encode()}, stdin=INPUT)

    def run() -> None:
        result = sandbox.run(job)
        assert result.stdout == OUTPUT, result

    return run


def unisolated_verdict() -> None:
    """Grades four calls in a forked child that reports through shared memory: no containment."""
    context = multiprocessing.get_context("fork")
    passed = context.Array(ctypes.c_bool, [False] * len(CASES))

    def work() -> None:
        namespace: dict[str, object] = {}
        exec(compile(CALL_PROGRAM, "solution.py", "exec"), namespace)
        function = namespace["f"]
        assert callable(function)
        for index, (args, expected) in enumerate(CASES):
            passed[index] = function(*args) == expected

    process = context.Process(target=work)
    process.start()
    process.join()
    assert all(passed)


def evalplus_verdict() -> Callable[[], None] | None:
    """Returns evalplus's own check of the same calls, if it is installed."""
    try:
        check = importlib.import_module("evalplus.eval").untrusted_check
    except ImportError:
        return None
    inputs, expected = map(list, zip(*CASES, strict=True))

    def run() -> None:
        status, _details = check(
            "humaneval", CALL_PROGRAM, inputs, "f", expected, 0, [0.1] * len(CASES)
        )
        assert status == "pass", status

    return run


def time_interleaved(ways: dict[str, Callable[[], None]], runs: int) -> dict[str, list[float]]:
    """Returns sorted seconds of each way; every round runs each way once."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        run()
    for _ in range(runs):
        for name, run in ways.items():
            began = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - began)
    return {name: sorted(seconds) for name, seconds in taken.items()}


def throughput(run: Callable[[], None], runs: int) -> float:
    """Returns runs a second with one thread for each processor and one more."""
    workers = len(os.sched_getaffinity(0)) + 1
    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda _: run(), range(runs)))
    return runs / (time.perf_counter() - began)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    base = interpreter()
    with Sandbox() as sandbox, CodeVerifier(languages=()) as verifier:
        tables = [
            latency(sandbox, base, options.runs),
            verdicts(verifier, options.runs),
            batches(sandbox, verifier, base, options.runs),
        ]
    text = "\n\n".join([table.to_markdown() for table in tables] + [describe_machine()])
    print(text)
    if options.write_docs:
        write_sections([Section("code", text)])


def interpreter() -> str:
    """Returns the interpreter itself, outside any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def latency(sandbox: Sandbox, base: str, runs: int) -> Table:
    """Returns the table of single runs."""
    ways = {
        "rewardkit sandbox, per-test namespaces": sandboxed(sandbox),
        "fresh `python3 -c`": plain(base),
        "fresh `python3 -I -S -c`": plain(base, "-I", "-S"),
    }
    bwrap = shutil.which("bwrap")
    if bwrap is not None:
        ways["bwrap + `python3 -I -S -c`"] = plain(bwrap, *BWRAP, base, "-I", "-S")
        ways["bwrap + `python3 -c`"] = plain(bwrap, *BWRAP, base)
    taken = time_interleaved(ways, runs)
    own = statistics.median(taken["rewardkit sandbox, per-test namespaces"])
    rows = tuple(_row(name, seconds, own) for name, seconds in taken.items())
    columns = ("one stdin program", "min ms", "median ms", "p95 ms", "median / ours")
    return Table("Latency of one run", columns, rows)


def verdicts(verifier: CodeVerifier, runs: int) -> Table:
    """Returns the table of four-test verdicts."""

    def contained() -> None:
        assert verifier.verify(f"```python\n{CALL_PROGRAM}```", REFERENCE).passed

    ours = "CodeVerifier, contained"
    ways = {ours: contained, "fork + shared memory, not contained": unisolated_verdict}
    evalplus = evalplus_verdict()
    if evalplus is not None:
        ways["evalplus `untrusted_check`, not contained"] = evalplus
    taken = time_interleaved(ways, runs)
    own = statistics.median(taken[ours])
    rows = tuple(_row(name, seconds, own) for name, seconds in taken.items())
    columns = ("four calls, one verdict", "min ms", "median ms", "p95 ms", "median / ours")
    return Table("Latency of one verdict", columns, rows)


def batches(sandbox: Sandbox, verifier: CodeVerifier, base: str, runs: int) -> Table:
    """Returns the table of work a second."""
    completions = [f"```python\n# {i}\n{CALL_PROGRAM}```" for i in range(runs)]
    began = time.perf_counter()
    assert all(v.passed for v in verifier.verify_batch(completions, [REFERENCE] * runs))
    distinct = runs / (time.perf_counter() - began)
    began = time.perf_counter()
    assert all(v.passed for v in verifier.verify_batch(completions[:1] * runs, [REFERENCE] * runs))
    equal = runs / (time.perf_counter() - began)
    rows = (
        ("sandboxed runs", f"{throughput(sandboxed(sandbox), runs):,.0f}"),
        ("fresh `python3 -c` runs", f"{throughput(plain(base), runs):,.0f}"),
        ("`verify_batch`, four calls each", f"{distinct:,.0f}"),
        ("`verify_batch`, one program repeated", f"{equal:,.0f}"),
    )
    return Table("All processors", ("work", "a second"), rows)


def _row(name: str, seconds: list[float], own: float) -> tuple[str, ...]:
    median = statistics.median(seconds)
    p95 = seconds[int(len(seconds) * 0.95)]
    cells = (f"{value * 1e3:.1f}" for value in (seconds[0], median, p95))
    return (name, *cells, f"{median / own:.1f}")


if __name__ == "__main__":
    main()
