"""A long run of mixed programs through a verifier with a fork server, and what it leaves behind."""

import gc
import os
import signal
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._tables import Table
from rewardkit.sandbox import Sandbox
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier

__all__ = ["Item", "census", "resident", "soak_table"]


class Item(NamedTuple):
    """A completion of the run."""

    completion: str
    reference: Json
    passes: bool


def soak_table(
    verifier: Verifier,
    sandbox: Sandbox,
    items: Sequence[Item],
    *,
    batch: int,
    kills: Collection[int],
    what: str,
) -> Table:
    """Returns the table of a run that closes `verifier`.

    Args:
        verifier: what grades; made by the caller, and not yet used.
        sandbox: the one in it, whose fork servers are watched.
        items: the completions; equal ones would run once, so none equals another.
        batch: how many are graded at once.
        kills: numbers of the batches in which the fork servers are killed with SIGKILL.
        what: the kind of programs, for the table's head.

    Raises:
        AssertionError: a verdict is wrong or lost, or a process is left.
    """
    memory, server_memory = list[int](), list[int]()
    graded = wrong = lost = killed = 0
    before = census()
    began = time.monotonic()
    with verifier:
        for number, start in enumerate(range(0, len(items), batch)):
            part = items[start : start + batch]
            killer = threading.Timer(0.3, _kill_servers, [sandbox])
            if number in kills:
                killer.start()
                killed += 1
            verdicts = verifier.verify_batch(
                [item.completion for item in part], [item.reference for item in part]
            )
            killer.cancel()
            graded += len(verdicts)
            lost += sum(verdict.abstained for verdict in verdicts)
            wrong += sum(
                not verdict.abstained and verdict.passed != item.passes
                for verdict, item in zip(verdicts, part, strict=True)
            )
            gc.collect()
            memory.append(resident(os.getpid()))
            server_memory.append(sum(map(resident, _servers(sandbox))))
        during = census()
    seconds = time.monotonic() - began
    time.sleep(0.5)
    after = census()
    rows = (
        ("programs graded", f"{graded:,} of {len(items):,}"),
        ("wrong verdicts", str(wrong)),
        ("abstentions", str(lost)),
        ("fork servers killed with SIGKILL", str(killed)),
        ("programs a second", f"{graded / seconds:.0f}"),
        ("judge's memory, first to last twentieth, MiB", _span(memory)),
        ("fork server's memory, first to last, MiB", _span(server_memory)),
        ("descriptors before, at the end, after closing", f"{before[0]}, {during[0]}, {after[0]}"),
        ("child processes before, at the end, after", f"{before[1]}, {during[1]}, {after[1]}"),
    )
    assert not wrong, "a wrong verdict"
    assert not lost, "a lost verdict"
    assert after[1] <= before[1], "a process is left"
    return Table("Soak", (f"{what} programs, mixed", "found"), rows)


def census() -> tuple[int, int]:
    """Returns open descriptors of this process, and its children with theirs, zombies included."""
    family, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                children = path.read_text().split()
            except OSError:
                continue
            family += len(children)
            waiting += map(int, children)
    return len(os.listdir("/proc/self/fd")), family


def resident(pid: int) -> int:
    """Returns a process's resident memory in bytes, 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _servers(sandbox: Sandbox) -> list[int]:
    """Returns the pids of the single-threaded servers inside their namespaces."""
    found = []
    for server in sandbox._pool.servers:
        pid = server.process.pid
        try:
            found += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            continue
    return [int(pid) for pid in found]


def _kill_servers(sandbox: Sandbox) -> None:
    """Kills the fork servers as the kernel would when memory is short."""
    for pid in _servers(sandbox):
        os.kill(pid, signal.SIGKILL)


def _span(sizes: Sequence[int]) -> str:
    return " → ".join(f"{size / (1 << 20):.0f}" for size in (sizes[0], sizes[-1]))
