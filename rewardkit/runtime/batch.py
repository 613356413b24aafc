"""Grading a batch on all cores, with one verdict per row whatever a row does."""

import math
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.completion import Completion
from rewardkit.errors import RewardkitError
from rewardkit.runtime._cancel import CALL_OFF
from rewardkit.runtime._tasks import CannotTravelError, describe
from rewardkit.runtime.outcome import Outcome, OutcomeStatus
from rewardkit.runtime.pool import WorkerPool
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch

__all__ = [
    "GradedRow",
    "UngradedRow",
    "abstention",
    "grade_one",
    "grade_rows",
    "grade_rows_here",
    "pack_row",
    "verdicts_of",
    "verify_rows",
]

GradedRow: TypeAlias = Verdict | RewardkitError
"""What became of one row: its verdict, or the caller's mistake in it."""

UngradedRow: TypeAlias = tuple[Completion, Json, Mapping[str, Any]]
"""A completion, its reference, and the other columns of its row."""

_PROBE_ROWS = 32

_REASONS = {
    OutcomeStatus.TIMEOUT: Reason.TIMEOUT,
    OutcomeStatus.MEMORY: Reason.MEMORY,
    OutcomeStatus.CRASH: Reason.ENGINE_FAILURE,
    OutcomeStatus.ERROR: Reason.ENGINE_FAILURE,
}


@dataclass(frozen=True, slots=True)
class _Row:
    """Grades one packed row. A caller's mistake comes back as a value, to be raised there."""

    verifier: Verifier

    def __call__(self, packed: bytes) -> GradedRow:
        completion, reference, context = pickle.loads(packed)
        return grade_one(self.verifier, completion, reference, context)


def grade_one(
    verifier: Verifier, completion: Completion, reference: Json, context: Mapping[str, Any]
) -> GradedRow:
    """Returns what became of a row that is graded in this thread.

    Raises:
        MemoryError: there is none left; a worker that meets it is replaced.
    """
    try:
        verdict: object = verifier.verify(completion, reference, **context)
    except RewardkitError as error:
        return error
    except MemoryError:  # a worker that meets it is replaced
        raise
    except Exception as error:  # the boundary: a verifier that breaks abstains on this row
        return abstention(verifier, describe(error))
    if not isinstance(verdict, Verdict):
        return abstention(verifier, f"verify returned {type(verdict).__name__}")
    return verdict


def _grade_here(
    verifier: Verifier, completion: Completion, reference: Json, context: Mapping[str, Any]
) -> GradedRow:
    try:
        return grade_one(verifier, completion, reference, context)
    except MemoryError:
        return abstention(verifier, "out of memory", Reason.MEMORY)


def abstention(
    verifier: Verifier,
    detail: str,
    reason: Reason = Reason.ENGINE_FAILURE,
    seconds: float = 0.0,
) -> Verdict:
    """Returns the verdict on a row that could not be judged."""
    return Verdict(None, reason, detail=f"{verifier.name}: {detail}", seconds=seconds)


def verify_rows(
    verifier: Verifier,
    completions: Sequence[Completion],
    references: Sequence[Json],
    contexts: Sequence[Mapping[str, Any]],
    /,
    *,
    pool: WorkerPool,
    row_timeout_s: float,
    inline_rows: int = 16,
    inline_s: float = 0.0,
    until: float = math.inf,
    crash_retries: int = 0,
) -> list[Verdict]:
    """Returns `verifier.verify` of each row, in order, run on all the workers of `pool`.

    A row that hangs, crashes or eats its memory loses only itself: its verdict has score None and
    reason timeout, engine_failure or memory. A batch that is small, or a verifier or row that
    cannot travel to a worker (a class of the running script), is graded here instead: same
    verdicts.

    Args:
        verifier: picklable; each worker unpickles it once.
        completions: one per row.
        references: one per row.
        contexts: one per row, as `row_contexts` makes them.
        pool: where the rows run. Keep one for many batches: starting it costs a tenth of a second.
        row_timeout_s: seconds for one row, past the verifier's own deadline: this one is the
            backstop.
        inline_rows: batches up to this size are graded here; 0 sends every batch to the pool.
        inline_s: of a larger batch, rows are graded here as long as all of it would take no longer
            than this by the rows so far: starting workers and carrying cheap rows to them would
            cost more than it saves.
        until: when the pool stops, on the clock of `time.monotonic`: what is not graded then is a
            timeout.
        crash_retries: how often a row whose worker died is graded again; it may be another's fault.

    Raises:
        InvalidReferenceError: the first row whose reference cannot be read.
        ConfigError: another mistake of the caller's.
    """
    results = grade_rows(
        verifier,
        completions,
        references,
        contexts,
        pool=pool,
        row_timeout_s=row_timeout_s,
        inline_rows=inline_rows,
        inline_s=inline_s,
        until=until,
        crash_retries=crash_retries,
    )
    return verdicts_of(results)


def verdicts_of(results: Sequence[GradedRow]) -> list[Verdict]:
    """Returns the verdicts, or raises the first mistake of the caller's among them."""
    for result in results:
        if isinstance(result, RewardkitError):
            raise result
    return [result for result in results if isinstance(result, Verdict)]


def grade_rows(
    verifier: Verifier,
    completions: Sequence[Completion],
    references: Sequence[Json],
    contexts: Sequence[Mapping[str, Any]],
    /,
    *,
    pool: WorkerPool,
    row_timeout_s: float,
    inline_rows: int = 0,
    inline_s: float = 0.0,
    until: float = math.inf,
    crash_retries: int = 0,
    timings: list[float] | None = None,
) -> list[GradedRow]:
    """Returns what `verify_rows` does, with a caller's mistake as the result of its row.

    `timings`, where given, gets the seconds that each row took in its worker.
    """
    check_batch(completions, references, {"contexts": contexts})
    rows = list(zip(completions, references, contexts, strict=True))
    if len(rows) <= inline_rows:
        results = [_grade_here(verifier, *row) for row in rows]
    else:
        results = _grade_cheap(verifier, rows, inline_s)
        spread = _Spread(verifier, pool, row_timeout_s, until, crash_retries, timings)
        results += spread.grade(rows[len(results) :])
    return results


def grade_rows_here(
    verifier: Verifier, rows: Sequence[UngradedRow], until: float = math.inf
) -> list[GradedRow]:
    """Returns what `grade_rows` does, graded in this thread; a row that has begun is not killed."""
    call_off = CALL_OFF.get()
    graded: list[GradedRow] = []
    for row in rows:
        if call_off is not None:
            call_off.check()
        if time.monotonic() < until:
            graded.append(_grade_here(verifier, *row))
        else:
            graded.append(abstention(verifier, "not begun in time", Reason.TIMEOUT))
    return graded


def _grade_cheap(
    verifier: Verifier, rows: Sequence[UngradedRow], budget_s: float
) -> list[GradedRow]:
    """Returns the verdicts of the first rows: of all of them if they are cheap."""
    results: list[GradedRow] = []
    started = time.perf_counter()
    while len(results) < len(rows):
        # Not by the first probe alone: a batch may be sorted by length.
        spent = time.perf_counter() - started
        if spent * len(rows) > budget_s * max(len(results), _PROBE_ROWS // 2):
            break
        results += [_grade_here(verifier, *row) for row in rows[len(results) :][:_PROBE_ROWS]]
    return results


@dataclass(frozen=True, slots=True)
class _Spread:
    """One batch on its way through a pool."""

    verifier: Verifier
    pool: WorkerPool
    row_timeout_s: float
    until: float
    crash_retries: int
    timings: list[float] | None

    def grade(self, rows: Sequence[UngradedRow]) -> list[GradedRow]:
        """Returns what became of each row."""
        packed = {i: data for i, row in enumerate(rows) if (data := pack_row(row)) is not None}
        try:
            outcomes = self._outcomes(packed)
        except CannotTravelError:
            outcomes = {}
        return [
            _result(self.verifier, outcomes[i])
            if i in outcomes
            else _grade_here(self.verifier, *row)
            for i, row in enumerate(rows)
        ]

    def _outcomes(self, packed: Mapping[int, bytes]) -> dict[int, Outcome[GradedRow]]:
        outcomes: dict[int, Outcome[GradedRow]] = {}
        todo = list(packed)
        for _ in range(1 + self.crash_retries):
            if todo:
                done = self.pool.map(
                    _Row(self.verifier),
                    [packed[i] for i in todo],
                    timeout_s=self.row_timeout_s,
                    until=self.until,
                )
                outcomes.update(zip(todo, done, strict=True))
                if self.timings is not None:
                    self.timings.extend(outcome.seconds for outcome in done)
            todo = [i for i in todo if outcomes[i].status is OutcomeStatus.CRASH]
        return outcomes


def pack_row(row: UngradedRow) -> bytes | None:
    """Returns a row as it travels, or None: equal bytes are equal rows."""
    try:
        return pickle.dumps(row, pickle.HIGHEST_PROTOCOL)
    except Exception:  # a completion nested too deep, a column of live objects: graded here
        return None


def _result(verifier: Verifier, outcome: Outcome[GradedRow]) -> GradedRow:
    if outcome.value is not None:
        return outcome.value
    return abstention(verifier, outcome.detail, _REASONS[outcome.status], outcome.seconds)
