"""Where rows are graded: here, in local workers, on a Ray cluster, by a service.

Whichever it is, the verdicts, their order and the deadlines are the same.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rewardkit._active import ACTIVE, Active, outside_runners
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.runtime._chunks import ChunkGrader
from rewardkit.runtime._settings import PoolState
from rewardkit.runtime.batch import (
    GradedRow,
    UngradedRow,
    grade_rows_here,
    pack_row,
    verdicts_of,
)
from rewardkit.runtime.pool import WorkerPool
from rewardkit.verdict import Json, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts

__all__ = ["InlineRunner", "PoolRunner", "Runner", "active_runner", "run_batch", "running_on"]


class Runner(ABC):
    """Grades rows somewhere. A class with `name` and `grade_rows` that names this base is one.

    Inside a `with` block every `Reward`, every `verify_batch` of a verifier and every scoring run
    of the same thread (or task) grades on it. Equal rows of a batch are graded once.
    """

    name: str
    """How reports call it."""

    @abstractmethod
    def grade_rows(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float, /
    ) -> list[GradedRow]:
        """Returns what became of each row, in order; `grade` calls it with rows that all differ.

        Args:
            verifier: what grades.
            rows: completion, reference and context of each.
            until: when all of it ends, on the clock of `time.monotonic`; a row that is not graded
                then has no score and the reason timeout.

        Raises:
            ConfigError: the verifier cannot be used there.
        """

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
            completions: one per row, as are references and contexts.
            references: as the verifier takes them.
            contexts: as `row_contexts` makes them.
            until: as in `grade_rows`.

        Raises:
            ConfigError: a column has another length, or the verifier cannot be used there.
        """
        check_batch(completions, references, {"contexts": contexts})
        rows = list(zip(completions, references, contexts, strict=True))
        different: dict[bytes | int, UngradedRow] = {}
        keys = [pack_row(row) or place for place, row in enumerate(rows)]  # bytes are never empty
        for key, row in zip(keys, rows, strict=True):
            different.setdefault(key, row)
        with outside_runners():
            graded = self.grade_rows(verifier, list(different.values()), until)
        found = dict(zip(different, graded, strict=True))
        return [found[key] for key in keys]

    def verify_columns(
        self,
        verifier: Verifier,
        completions: Sequence[Completion],
        references: Sequence[Json],
        columns: Mapping[str, Sequence[Any]],
        /,
        *,
        until: float = math.inf,
    ) -> list[Verdict]:
        """Returns what `verify_batch` does; a column may have any name here."""
        check_batch(completions, references, columns)
        contexts = row_contexts(len(completions), columns)
        return verdicts_of(self.grade(verifier, completions, references, contexts, until=until))

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
        return self.verify_columns(verifier, completions, references, columns, until=until)

    def close(self) -> None:
        """Stops what the runner started. It may be used again afterwards."""
        return  # an empty body would make this method abstract for a type checker

    def __enter__(self) -> Self:
        ACTIVE.set((*ACTIVE.get(), Active(self, math.inf)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        active = ACTIVE.get()
        own = [place for place, one in enumerate(active) if one.runner is self]
        if own:
            ACTIVE.set(active[: own[-1]] + active[own[-1] + 1 :])
        self.close()


class InlineRunner(Runner):
    """Grades in the calling thread, row by row.

    A row that has begun is ended by its verifier's own deadline only; `until` keeps those after it
    from beginning.
    """

    name = "inline"

    def grade_rows(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float, /
    ) -> list[GradedRow]:
        """Returns what became of each row, in order."""
        return grade_rows_here(verifier, rows, until)


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

    def grade_rows(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float, /
    ) -> list[GradedRow]:
        """Returns what became of each row, in order."""
        return self._grader.grade(verifier, rows, until)

    def state(self) -> PoolState:
        """Returns how many workers there are now."""
        return self._pool.state()

    def close(self) -> None:
        """Ends the workers, with every process that they started."""
        self._pool.close()


def active_runner() -> Runner | None:
    """Returns the runner of the innermost `with` block around the caller, if there is one."""
    active = ACTIVE.get()
    runner: Runner | None = active[-1].runner if active else None
    return runner


@contextmanager
def running_on(runner: Runner, *, until: float = math.inf) -> Iterator[None]:
    """Has what is graded inside graded on a runner that stays open, and ended at a deadline.

    Args:
        runner: where.
        until: on the clock of `time.monotonic`.
    """
    before = ACTIVE.set((*ACTIVE.get(), Active(runner, until)))
    try:
        yield
    finally:
        ACTIVE.reset(before)


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
    active = ACTIVE.get()
    if not active:
        return verifier.verify_batch(completions, references, **columns)
    runner: Runner = active[-1].runner
    until = active[-1].until
    return runner.verify_columns(verifier, completions, references, columns, until=until)
