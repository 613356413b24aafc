"""Runs a grader in a process of its own, where it can be killed and its CPU time can be counted.

CPU time is the process's own plus that of everything below it, whether or not it was waited for.
"""

import logging
import multiprocessing
import os
import resource
import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks._cases import Case
from benchmarks._graders import Build, Grade, Grader

__all__ = ["Judged", "Timed", "descendants", "judge", "resident_kib", "time_passes"]

MARKERS = (Path("/tmp/rewardkit_marker"), Path("/tmp/rkpwned"))
"""What the injected code of the labelled cases makes when it runs."""
START_S = 120.0
WORKER_TIER = "symbolic"
"""The tier whose work is done below the process that asks."""
PASS_S = 3_600.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_context = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Judged:
    """What a grader said of one case."""

    case: Case
    grade: Grade
    wall_s: float
    error: str = ""
    """The type of the exception that came out, if one did."""
    killed: bool = False
    ran_code: bool = False

    @property
    def right(self) -> bool:
        """True if it passed what is right and did not pass what is wrong."""
        return (self.grade.passed is True) == self.case.label


@dataclass(frozen=True, slots=True)
class Timed:
    """CPU milliseconds of one case in one pass."""

    case_id: str
    tier: str
    cpu_ms: float


def judge(build: Build, cases: Sequence[Case], *, limit_s: float) -> list[Judged]:
    """Returns what a grader says of each case.

    Args:
        build: makes the grader, in its own process.
        cases: the rows, in order.
        limit_s: wall seconds after which the grader is killed and started anew for the next row.
    """
    judged: list[Judged] = []
    runner: _Runner | None = None
    for case in cases:
        runner = runner or _Runner(build)
        found = runner.grade(case, limit_s)
        judged.append(found)
        if found.killed:
            runner.kill()
            runner = None
    if runner is not None:
        runner.kill()
    return judged


class _Runner:
    """A grader in a spawned process, one row at a time."""

    def __init__(self, build: Build) -> None:
        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=_serve, args=(theirs, build), daemon=False)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START_S):
            self.kill()
            raise TimeoutError(f"{build} did not start within {START_S:.0f} s")
        self._pipe.recv()

    def grade(self, case: Case, limit_s: float) -> Judged:
        started = time.perf_counter()
        self._pipe.send((case.completion, case.reference))
        died, answer = False, None
        if self._pipe.poll(limit_s):
            try:
                answer = self._pipe.recv()
            except EOFError:
                died = True
        wall_s = time.perf_counter() - started
        ran_code = _take_markers()
        if answer is None:
            error = "died" if died else ""
            return Judged(case, Grade(None), wall_s, error, killed=True, ran_code=ran_code)
        grade, error, wall_s = answer
        return Judged(case, grade, wall_s, error, ran_code=ran_code)

    def kill(self) -> None:
        _kill_tree(self._process.pid)
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, build: Build) -> None:
    grader = _quietly(build)
    pipe.send("ready")
    while True:
        try:
            completion, reference = pipe.recv()
        except EOFError:
            return
        error, grade = "", Grade(None)
        started = time.perf_counter()
        try:
            grade = grader(completion, reference)
        except Exception as caught:
            error = type(caught).__name__
        pipe.send((grade, error, time.perf_counter() - started))


def time_passes(build: Build, cases: Sequence[Case], *, passes: int) -> list[list[Timed]]:
    """Returns the CPU time of each case in each of several passes of one fresh process.

    The grader is built before the first pass and has graded one case of its own; references are
    new to it in the first pass and known in the later ones.
    """
    ours, theirs = _context.Pipe()
    process = _context.Process(target=_time, args=(theirs, build, list(cases), passes))
    process.start()
    theirs.close()
    try:
        if not ours.poll(PASS_S):
            raise TimeoutError(f"{build} did not end within {PASS_S:.0f} s")
        found: list[list[Timed]] = ours.recv()
        return found
    finally:
        _kill_tree(process.pid)
        process.join()
        _take_markers()


def _time(pipe: Connection, build: Build, cases: list[Case], passes: int) -> None:
    grader = _quietly(build)
    grader(r"One half is left, so \boxed{\frac{1}{2}}.", "0.5")
    below = descendants(os.getpid())
    found: list[list[Timed]] = []
    for _ in range(passes):
        found.append([])
        others = _cpu_s(below)
        for case in cases:
            started = time.process_time()
            try:
                grade = grader(case.completion, case.reference)
            except Exception:
                grade = Grade(None)
            spent = time.process_time() - started
            # Looking at other processes disturbs the caches, so it is done where they had work.
            if grade.tier == WORKER_TIER or case is cases[-1]:
                now = _cpu_s(below)
                spent, others = spent + now - others, now
            found[-1].append(Timed(case.id, grade.tier, spent * 1e3))
    pipe.send(found)


def _quietly(build: Build) -> Grader:
    # Some graders log a whole completion for each that they give up on.
    logging.disable(logging.CRITICAL)
    return build()


def _take_markers() -> bool:
    found = False
    for marker in MARKERS:
        if marker.is_dir():
            marker.rmdir()
            found = True
        elif marker.exists():
            marker.unlink()
            found = True
    return found


def descendants(pid: int) -> list[int]:
    """Returns the processes below one, parents before children."""
    below: dict[int, list[int]] = defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = _stat(int(name))
        if fields:
            below[int(fields[1])].append(int(name))
    found = list(below[pid])
    for child in found:
        found += below[child]
    return found


def resident_kib(pids: Sequence[int]) -> int:
    """Returns the memory of some processes in KiB; shared pages count in each of them."""
    pages = sum(int(fields[21]) for pid in pids if (fields := _stat(pid)))
    return pages * resource.getpagesize() // 1024


def _cpu_s(pids: Sequence[int]) -> float:
    """Returns the CPU seconds that processes and their dead children have taken; ticks of 10 ms."""
    ticks = sum(sum(map(int, fields[11:15])) for pid in pids if (fields := _stat(pid)))
    return ticks * _TICK_S


def _stat(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat from the state on, or [] for a process that is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


def _kill_tree(pid: int | None) -> None:
    if pid is None:
        return
    for one in [pid, *descendants(pid)]:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            continue
