"""Grading a batch on all cores, with one verdict per row whatever a row does."""

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.completion import Completion
from rewardkit.errors import RewardkitError
from rewardkit.runtime._tasks import CannotTravelError, describe
from rewardkit.runtime.outcome import Outcome, OutcomeStatus
from rewardkit.runtime.pool import WorkerPool
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch

__all__ = ["verify_rows"]

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

    def __call__(self, packed: bytes) -> Verdict | RewardkitError:
        completion, reference, context = pickle.loads(packed)
        return _grade(self.verifier, completion, reference, context)


def _grade(
    verifier: Verifier, completion: Completion, reference: Json, context: Mapping[str, Any]
) -> Verdict | RewardkitError:
    try:
        verdict: object = verifier.verify(completion, reference, **context)
    except RewardkitError as error:
        return error
    except MemoryError:  # a worker that meets it is replaced
        raise
    except Exception as error:  # the boundary: a verifier that breaks abstains on this row
        return _abstention(verifier, describe(error))
    if not isinstance(verdict, Verdict):
        return _abstention(verifier, f"verify returned {type(verdict).__name__}")
    return verdict


def _grade_here(
    verifier: Verifier, completion: Completion, reference: Json, context: Mapping[str, Any]
) -> Verdict | RewardkitError:
    try:
        return _grade(verifier, completion, reference, context)
    except MemoryError:
        return _abstention(verifier, "out of memory", Reason.MEMORY)


def _abstention(
    verifier: Verifier,
    detail: str,
    reason: Reason = Reason.ENGINE_FAILURE,
    seconds: float = 0.0,
) -> Verdict:
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

    Raises:
        InvalidReferenceError: the first row whose reference cannot be read.
        ConfigError: another mistake of the caller's.
    """
    check_batch(completions, references, {"contexts": contexts})
    rows = list(zip(completions, references, contexts, strict=True))
    if len(rows) <= inline_rows:
        results = [_grade_here(verifier, *row) for row in rows]
    else:
        results = _grade_cheap(verifier, rows, inline_s)
        results += _spread(verifier, rows[len(results) :], pool, row_timeout_s)
    for result in results:
        if isinstance(result, RewardkitError):
            raise result
    return [result for result in results if isinstance(result, Verdict)]


def _grade_cheap(
    verifier: Verifier, rows: Sequence[tuple[Completion, Json, Mapping[str, Any]]], budget_s: float
) -> list[Verdict | RewardkitError]:
    """Returns the verdicts of the first rows: of all of them if they are cheap."""
    results: list[Verdict | RewardkitError] = []
    started = time.perf_counter()
    while len(results) < len(rows):
        # Not by the first probe alone: a batch may be sorted by length.
        spent = time.perf_counter() - started
        if spent * len(rows) > budget_s * max(len(results), _PROBE_ROWS // 2):
            break
        results += [_grade_here(verifier, *row) for row in rows[len(results) :][:_PROBE_ROWS]]
    return results


def _spread(
    verifier: Verifier,
    rows: Sequence[tuple[Completion, Json, Mapping[str, Any]]],
    pool: WorkerPool,
    row_timeout_s: float,
) -> list[Verdict | RewardkitError]:
    if not rows:
        return []
    packed = {i: data for i, row in enumerate(rows) if (data := _pack_row(row)) is not None}
    try:
        outcomes = pool.map(_Row(verifier), packed.values(), timeout_s=row_timeout_s)
    except CannotTravelError:
        outcomes, packed = [], {}
    results: dict[int, Verdict | RewardkitError] = {
        i: _result(verifier, outcome) for i, outcome in zip(packed, outcomes, strict=True)
    }
    return [
        results[i] if i in results else _grade_here(verifier, *row) for i, row in enumerate(rows)
    ]


def _pack_row(row: tuple[Completion, Json, Mapping[str, Any]]) -> bytes | None:
    try:
        return pickle.dumps(row, pickle.HIGHEST_PROTOCOL)
    except Exception:  # a completion nested too deep, a column of live objects: graded here
        return None


def _result(
    verifier: Verifier, outcome: Outcome[Verdict | RewardkitError]
) -> Verdict | RewardkitError:
    if outcome.value is not None:
        return outcome.value
    return _abstention(verifier, outcome.detail, _REASONS[outcome.status], outcome.seconds)
