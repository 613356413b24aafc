"""Prints what the worker pool costs and what it survives, against other pools in the same run.

    python -m benchmarks.runtime [--calls 2000] [--items 4000]

The work is `hashlib.pbkdf2_hmac`: its cost is set by a number, and any pool can import it.
"""

import argparse
import collections
import functools
import hashlib
import itertools
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from pebble import ProcessPool
from rich.console import Console
from rich.table import Table

from rewardkit.runtime import WorkerPool

WORK: Callable[[int], bytes] = functools.partial(hashlib.pbkdf2_hmac, "sha256", b"secret", b"salt")
HANG: Callable[..., object] = functools.partial(collections.deque, maxlen=0)
CHUNK = 64
LIMIT_S = 60.0

console = Console(width=100)


@contextmanager
def pools(workers: int) -> Iterator[tuple[WorkerPool, ProcessPoolExecutor, ProcessPool]]:
    """Starts the three pools, with their workers warm."""
    context = multiprocessing.get_context("spawn")
    with (
        WorkerPool(workers=workers) as ours,
        ProcessPoolExecutor(workers, mp_context=context) as futures,
        ProcessPool(workers, context=context) as pebble,
    ):
        ours.map(WORK, [1] * 4 * workers, timeout_s=LIMIT_S, chunk_size=1)
        list(futures.map(WORK, [1] * 4 * workers))
        list(pebble.map(WORK, [1] * 4 * workers, timeout=LIMIT_S).result())
        yield ours, futures, pebble


def seconds(run: Callable[[], object]) -> float:
    """Returns the wall time of one run."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def print_latency(ours: WorkerPool, futures: ProcessPoolExecutor, pebble: ProcessPool) -> None:
    """Prints the round trip of one tiny task through a warm pool."""
    calls: dict[str, Callable[[], object]] = {
        "rewardkit call": lambda: ours.call(WORK, 1, timeout_s=LIMIT_S),
        "concurrent.futures submit": lambda: futures.submit(WORK, 1).result(),
        "pebble schedule": lambda: pebble.schedule(WORK, (1,), timeout=LIMIT_S).result(),
    }
    table = Table("warm call", "median µs", "p99 µs", "ratio to rewardkit")
    base = 0.0
    for name, call in calls.items():
        times = sorted(seconds(call) for _ in range(1000))
        median = statistics.median(times)
        base = base or median
        table.add_row(
            name, f"{median * 1e6:.0f}", f"{times[990] * 1e6:.0f}", f"{median / base:.1f}"
        )
    console.print(table)


def print_throughput(
    ours: WorkerPool, futures: ProcessPoolExecutor, pebble: ProcessPool, items: int
) -> None:
    """Prints items per second through `map`, for a cheap and a dear item."""
    table = Table(f"map, {ours.workers} workers", "item µs", "items/s", "speed-up over inline")
    for rounds in (10, 1000):
        work = [rounds] * items
        inline = min(seconds(functools.partial(_run_inline, work)) for _ in range(3))
        runs: dict[str, Callable[[], object]] = {
            "rewardkit, a deadline per item": functools.partial(
                ours.map, WORK, work, timeout_s=LIMIT_S
            ),
            f"concurrent.futures, chunks of {CHUNK}, no deadline": functools.partial(
                _run_futures, futures, work
            ),
            f"pebble, chunks of {CHUNK}, a deadline per chunk": functools.partial(
                _run_pebble, pebble, work
            ),
        }
        cost = f"{inline / items * 1e6:.0f}"
        table.add_row("inline, no deadline", cost, f"{items / inline:,.0f}", "1.00")
        for name, run in runs.items():
            took = min(seconds(run) for _ in range(3))
            table.add_row(name, cost, f"{items / took:,.0f}", f"{inline / took:.2f}")
    console.print(table)


def _run_inline(work: list[int]) -> None:
    for item in work:
        WORK(item)


def _run_futures(futures: ProcessPoolExecutor, work: list[int]) -> None:
    list(futures.map(WORK, work, chunksize=CHUNK))


def _run_pebble(pebble: ProcessPool, work: list[int]) -> None:
    list(pebble.map(WORK, work, chunksize=CHUNK, timeout=LIMIT_S).result())


def print_recovery(ours: WorkerPool, pebble: ProcessPool) -> None:
    """Prints how late a deadline ends a hang in C, and how soon the next call is answered."""
    endless = itertools.repeat(0)

    def hang_pebble() -> None:
        error = pebble.schedule(HANG, (endless,), timeout=0.2).exception()
        if not isinstance(error, TimeoutError):
            raise AssertionError(error)

    runs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "rewardkit": (
            lambda: ours.call(HANG, endless, timeout_s=0.2),
            lambda: ours.call(WORK, 1, timeout_s=LIMIT_S),
        ),
        "pebble": (hang_pebble, lambda: pebble.schedule(WORK, (1,), timeout=LIMIT_S).result()),
    }
    table = Table("a hang in C, deadline 0.2 s", "late by ms", "next call ms")
    for name, (hang, call) in runs.items():
        late = statistics.median(seconds(hang) - 0.2 for _ in range(3))
        hang()
        table.add_row(name, f"{late * 1e3:.1f}", f"{seconds(call) * 1e3:.1f}")
    console.print(table)


def print_leaks(workers: int, calls: int) -> None:
    """Prints what the process holds before and after many calls, a tenth of them hostile."""
    hostile: list[tuple[Callable[..., Any], tuple[Any, ...], float]] = [
        (os._exit, (1,), LIMIT_S),
        (os.abort, (), LIMIT_S),
        (bytearray, (2**40,), LIMIT_S),
        (HANG, (itertools.repeat(0),), 0.02),
        (int, ("x" * 1000,), LIMIT_S),
    ]
    table = Table(f"{calls:,} calls, a tenth hostile", "before", "after")
    with WorkerPool(workers=workers) as pool:
        pool.map(WORK, [1] * 200, timeout_s=LIMIT_S, chunk_size=1)
        before = _holdings()
        statuses: collections.Counter[str] = collections.Counter()
        for i in range(calls):
            task = hostile[i // 10 % len(hostile)] if i % 10 == 0 else (WORK, (1,), LIMIT_S)
            function, arguments, timeout_s = task
            statuses[pool.call(function, *arguments, timeout_s=timeout_s).status.value] += 1
        after = _holdings()
    for name in before:
        table.add_row(name, f"{before[name]:,}", f"{after[name]:,}")
    table.caption = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
    console.print(table)


def _holdings() -> dict[str, int]:
    below = _below(os.getpid())
    return {
        "open files": len(os.listdir("/proc/self/fd")),
        "processes below": len(below),
        "peak memory, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "memory of the fork server, MiB": _resident_mb(below[0]),
    }


def _resident_mb(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 2**20


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = collections.defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(file.read().rpartition(")")[2].split()[1])].append(int(name))
        except OSError:
            continue
    found = list(parents[pid])
    for child in found:
        found += parents[child]
    return found


def main() -> None:
    """Runs all the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=2000, help="calls of the leak run")
    parser.add_argument("--items", type=int, default=4000, help="items of the throughput run")
    arguments = parser.parse_args()
    workers = len(os.sched_getaffinity(0))
    with WorkerPool(workers=1) as pool:
        first = seconds(lambda: pool.call(WORK, 1, timeout_s=LIMIT_S))
    console.print(
        f"{workers} cores, load {os.getloadavg()[0]:.1f}; first call {first * 1e3:.0f} ms"
    )
    with pools(workers) as (ours, futures, pebble):
        print_latency(ours, futures, pebble)
        print_throughput(ours, futures, pebble, arguments.items)
        print_recovery(ours, pebble)
    print_leaks(workers, arguments.calls)


if __name__ == "__main__":
    main()
