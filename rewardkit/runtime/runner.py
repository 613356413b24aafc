"""Where rows are graded: here, in local workers, on a Ray cluster, by a service.

Whichever it is, the verdicts, their order and the deadlines are the same.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.runtime._chunks import ChunkGrader
from rewardkit.runtime._settings import PoolState
from rewardkit.runtime.batch import GradedRow, grade_rows_here, verdicts_of
from rewardkit.runtime.pool import WorkerPool
from rewardkit.verdict import Json, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts

__all__ = ["InlineRunner", "PoolRunner", "Runner", "active_runner", "run_batch", "running_on"]


@runtime_checkable
class Runner(Protocol):
    """Grades rows somewhere. A class with `name` and `grade` that names this base is one.

    Inside a `with` block every `Reward` and every scoring run of the same thread (or task) grades
    on it; `verify_batch` does so for one verifier.
    """

    name: str
    """How reports call it."""

    def grade(
        self,
        verifier: Verifier,
        completions: Sequence[Completion],
        references: Sequence[Json],
        contexts: Sequence[Mapping[str, Any]],
        /,
        *,
        until: float = math.inf,
    ) -> list[GradedRow]:
        """Returns what became of each row, in order: a verdict, or a caller's mistake in it.

        Args:
            verifier: what grades.
            completions: one per row.
            references: one per row.
            contexts: one per row, as `row_contexts` makes them.
            until: when all of it ends, on the clock of `time.monotonic`; a row that is not graded
                then has no score and the reason timeout.

        Raises:
            ConfigError: the verifier cannot be used there.
        """
        ...

    def verify_batch(
        self,
        verifier: Verifier,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        *,
        until: float = math.inf,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns what `verifier.verify_batch` does, graded on this runner.

        Raises:
            ConfigError: a column has another length, or the verifier cannot be used there.
            InvalidReferenceError: a reference cannot be read.
        """
        check_batch(completions, references, columns)
        contexts = row_contexts(len(completions), columns)
        return verdicts_of(self.grade(verifier, completions, references, contexts, until=until))

    def close(self) -> None:
        """Stops what the runner started. It may be used again afterwards."""
        return  # an empty body would make this method abstract for a type checker

    def __enter__(self) -> Self:
        _ACTIVE.set((*_ACTIVE.get(), _Active(self)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ACTIVE.set(tuple(one for one in _ACTIVE.get() if one.runner is not self))
        self.close()


class InlineRunner(Runner):
    """Grades in the calling thread, row by row.

    A row that has begun is ended by its verifier's own deadline only; `until` keeps those after it
    from beginning.
    """

    name = "inline"

    def grade(
        self,
        verifier: Verifier,
        completions: Sequence[Completion],
        references: Sequence[Json],
        contexts: Sequence[Mapping[str, Any]],
        /,
        *,
        until: float = math.inf,
    ) -> list[GradedRow]:
        """Returns what became of each row, in order."""
        return grade_rows_here(verifier, completions, references, contexts, until=until)


class PoolRunner(Runner):
    """Grades in local worker processes, which are killed at a deadline.

    Args:
        workers: most processes, at least 1; None for one per core.
        row_timeout_s: seconds for one row, past the verifier's own deadline: the backstop.
        memory_mb: private memory of one worker, in MiB; None for no limit.
        crash_retries: how often a row whose worker died is graded again, at least 0.

    Raises:
        ConfigError: a value is outside its range.
    """

    name = "pool"

    def __init__(
        self,
        *,
        workers: int | None = None,
        row_timeout_s: float = 600.0,
        memory_mb: int | None = 1024,
        crash_retries: int = 1,
    ) -> None:
        if not 0 < row_timeout_s < math.inf:
            raise ConfigError(f"row_timeout_s is a positive number, not {row_timeout_s!r}")
        if crash_retries < 0:
            raise ConfigError(f"crash_retries is at least 0, not {crash_retries!r}")
        # A worker holds engines that take a second to start, so it is not replaced often.
        self._pool = WorkerPool(workers=workers, memory_mb=memory_mb, max_tasks=100_000)
        self._grader = ChunkGrader(
            self._pool, row_timeout_s=row_timeout_s, crash_retries=crash_retries
        )

    @property
    def workers(self) -> int:
        """Most processes at a time."""
        return self._pool.workers

    def grade(
        self,
        verifier: Verifier,
        completions: Sequence[Completion],
        references: Sequence[Json],
        contexts: Sequence[Mapping[str, Any]],
        /,
        *,
        until: float = math.inf,
    ) -> list[GradedRow]:
        """Returns what became of each row, in order."""
        check_batch(completions, references, {"contexts": contexts})
        rows = list(zip(completions, references, contexts, strict=True))
        return self._grader.grade(verifier, rows, until)

    def state(self) -> PoolState:
        """Returns how many workers there are now."""
        return self._pool.state()

    def close(self) -> None:
        """Ends the workers, with every process that they started."""
        self._pool.close()


@dataclass(frozen=True, slots=True)
class _Active:
    runner: Runner
    until: float = math.inf


_ACTIVE: ContextVar[tuple[_Active, ...]] = ContextVar("rewardkit_runners", default=())


def active_runner() -> Runner | None:
    """Returns the runner of the innermost `with` block around the caller, if there is one."""
    active = _ACTIVE.get()
    return active[-1].runner if active else None


@contextmanager
def running_on(runner: Runner, *, until: float = math.inf) -> Iterator[None]:
    """Has what is graded inside graded on a runner that stays open, and ended at a deadline.

    Args:
        runner: where.
        until: on the clock of `time.monotonic`.
    """
    before = _ACTIVE.get()
    _ACTIVE.set((*before, _Active(runner, until)))
    try:
        yield
    finally:
        _ACTIVE.set(before)


def run_batch(
    verifier: Verifier,
    completions: Sequence[Completion],
    references: Sequence[Json],
    columns: Mapping[str, Sequence[Any]],
) -> list[Verdict]:
    """Returns the verdicts of a batch, graded on the active runner, or else by the verifier itself.

    Raises:
        ConfigError: a column has another length, or the verifier cannot be used there.
        InvalidReferenceError: a reference cannot be read.
    """
    active = _ACTIVE.get()
    if not active:
        return verifier.verify_batch(completions, references, **columns)
    runner, until = active[-1].runner, active[-1].until
    check_batch(completions, references, columns)
    contexts = row_contexts(len(completions), columns)
    return verdicts_of(runner.grade(verifier, completions, references, contexts, until=until))


def seconds_left(until: float) -> float | None:
    """Returns the seconds up to a moment of the monotonic clock, at least 0; None for never."""
    return None if until == math.inf else max(0.0, until - time.monotonic())
