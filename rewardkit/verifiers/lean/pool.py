"""What the backends that keep warm workers share: the workers that wait, and repeats."""

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rewardkit.sandbox import Sandbox, Session, Status
from rewardkit.verifiers.lean.backends import Check, LostError

__all__ = ["Load", "PooledLean", "Worker", "limit_of", "repeat", "settle", "speaks_of_memory"]

_LIMITS = {
    Status.MEMORY: "memory",
    Status.WALL: "timeout",
    Status.CPU: "timeout",
    Status.OUTPUT: "output",
}


@dataclass(slots=True)
class Worker:
    """One sandbox with a Lean in it."""

    session: Session
    kind: str = ""
    """What it may be given: files of one kind, or of one header."""
    env: int | None = None
    """The REPL's number for the loaded header."""
    uses: int = 0


@dataclass(slots=True)
class Load:
    """How many checks are in progress."""

    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, change: int) -> int:
        """Returns the number of checks in progress after a change of it."""
        with self.lock:
            self.count += change
            return self.count

    def __reduce__(self) -> tuple[type["Load"], tuple[()]]:
        return Load, ()


def settle(load: Load, attempt: Callable[[bool], Check], fresh: bool) -> Check:
    """Returns an attempt's check, made once more where only the clock and our own load spoke.

    A clock that runs while other checks take the processors says nothing about the proof. The
    worker that was late is gone; the second attempt has one that nobody used.

    Args:
        load: that of the backend.
        attempt: makes the check; its argument asks for a fresh worker.
        fresh: whether the first attempt has to have one.
    """
    shared = load.add(1) > 1
    try:
        check = attempt(fresh)
        if check.by_clock and (shared or load.count > 1):
            check = attempt(True)
        return check
    finally:
        load.add(-1)


class PooledLean:
    """A backend whose workers wait in a pool between files.

    A fork of the process has workers of its own, and a pickled copy has none.
    """

    sandbox: Sandbox
    _idle: list[Worker]

    def close(self) -> None:
        """Ends the workers and the fork server. A later check starts others."""
        with self._lock:
            workers, self._idle = self._idle, []
        if self._owner == os.getpid():
            for worker in workers:
                worker.session.close()
        self.sandbox.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._idle = []
        self._load = Load()

    def _start(self, kind: str) -> Worker:
        """Returns a new worker of a kind; raises OSError where the sandbox's server died."""
        raise NotImplementedError

    def _take(self, kind: str, fresh: bool) -> Worker:
        """Returns a worker of a kind, the one that waits since the shortest time if any does."""
        if self._owner != os.getpid():
            self._reset()
        if not fresh:
            with self._lock:
                for place in reversed(range(len(self._idle))):
                    if self._idle[place].kind == kind:
                        return self._idle.pop(place)
        return self._start(kind)

    def _give(self, worker: Worker) -> None:
        with self._lock:
            self._idle.append(worker)

    def _ending(self, worker: Worker) -> Check:
        """Returns the limit that ended a worker.

        Raises:
            LostError: it was no limit.
        """
        result = worker.session.wait(grace_s=0.2)
        name = _LIMITS.get(result.status)
        if name is None:
            raise LostError(f"the worker ended: {result.status} {result.detail}")
        by_clock = result.status is Status.WALL
        return Check((), name, detail=f"the {name} limit", by_clock=by_clock)


def limit_of(report: dict[str, Any], memory_bytes: int) -> Check | None:
    """Returns the limit or signal that ended a run of a worker, or None.

    Args:
        report: the worker's, see `_inside/worker.py`.
        memory_bytes: the limit of memory.
    """
    errors = report["stderr"][-300:]
    if report["late"]:
        return Check((), "timeout", detail="the limit on the clock", by_clock=True)
    if report["full"]:
        return Check((), "output", detail="the output limit")
    number = report["signal"]
    if number in (signal.SIGKILL, signal.SIGXCPU):
        return Check((), "timeout", detail="the processor limit")
    if number is None and report["code"] in (0, 1):
        return None
    memory = speaks_of_memory(errors) or report["rss"] > memory_bytes // 2
    detail = f"signal {number}, exit {report['code']}: {errors}"
    return Check((), "memory" if memory else "crash", detail=detail)


def speaks_of_memory(errors: str) -> bool:
    """Returns whether what a process wrote as it died says that memory was short."""
    words = ("memory", "bad_alloc", "create thread", "tack overflow")
    return any(word in errors for word in words)


def repeat(attempts: int, attempt: Callable[[], Check]) -> Check:
    """Returns an attempt's check; an attempt that is lost is made again.

    Raises:
        LostError: all attempts were lost.
    """
    error: Exception | None = None
    for _ in range(attempts):
        try:
            return attempt()
        except (OSError, LostError, ValueError) as lost:
            error = lost
    raise LostError(f"lost {attempts} times: {error}")
