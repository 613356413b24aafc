"""Grades a stream of rows batch by batch; the order stays."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError, RewardkitError
from rewardkit.runtime import Runner, WorkerPool, verify_rows
from rewardkit.scoring.scored import Candidate
from rewardkit.verdict import Json, Verdict
from rewardkit.verifier import Verifier, row_contexts

__all__ = ["BatchSizer", "GradedBatch", "Outcome", "grade_batches", "grade_on", "make_batches"]

Outcome: TypeAlias = Verdict | InvalidReferenceError
"""What became of one row: its verdict, or why its reference cannot be used."""

_MAX_BATCH_CHARS = 4_000_000
_AHEAD = 2
_ROW_TIMEOUT_S = 600.0
"""The pool's backstop for one row: a verifier's own deadline is far below it."""


@dataclass(frozen=True, slots=True)
class GradedBatch:
    """A batch of rows with one outcome a row."""

    candidates: list[Candidate]
    outcomes: list[Outcome]
    seconds: float
    """Wall time of the whole batch."""


class BatchSizer:
    """Chooses how many rows make a batch: about half a second to two seconds of work.

    A batch is what an interrupted run still finishes and what a killed run loses, so it is short;
    and it is long enough to keep a verifier's own workers busy.
    """

    def __init__(self, *, min_rows: int = 16, max_rows: int = 1024) -> None:
        self.rows = min_rows
        self._min_rows = min_rows
        self._max_rows = max_rows

    def learn(self, batch: GradedBatch) -> None:
        """Takes the time of a finished batch into account."""
        if batch.seconds < 0.5 and len(batch.candidates) >= self.rows:
            self.rows = min(self.rows * 2, self._max_rows)
        elif batch.seconds > 2.0:
            self.rows = max(self.rows // 2, self._min_rows)


def make_batches(candidates: Iterator[Candidate], sizer: BatchSizer) -> Iterator[list[Candidate]]:
    """Yields the rows in batches, bounded in rows and in characters."""
    batch: list[Candidate] = []
    characters = 0
    for candidate in candidates:
        batch.append(candidate)
        characters += len(completion_text(candidate.row.completion))
        if len(batch) >= sizer.rows or characters > _MAX_BATCH_CHARS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class _Work:
    """What a verifier needs of a batch."""

    completions: list[Completion]
    references: list[Json]
    columns: dict[str, list[Any]]

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> "_Work":
        """Returns the work of these rows; a column that a row lacks is None there."""
        contexts = [candidate.row.context for candidate in candidates]
        names = dict.fromkeys(name for context in contexts for name in context)
        return cls(
            [candidate.row.completion for candidate in candidates],
            [candidate.row.reference for candidate in candidates],
            {name: [context.get(name) for context in contexts] for name in names},
        )

    def one(self, index: int) -> "_Work":
        """Returns one row as a batch of its own."""
        columns = {name: [values[index]] for name, values in self.columns.items()}
        return _Work([self.completions[index]], [self.references[index]], columns)


def grade_batches(
    verifier: Verifier,
    batches: Iterator[list[Candidate]],
    sizer: BatchSizer,
    pool: WorkerPool | None,
    runner: Runner | None = None,
) -> Iterator[GradedBatch]:
    """Yields the batches in order, each with its outcomes.

    Args:
        verifier: what grades.
        batches: the rows.
        sizer: learns from each batch how long the next ones should be.
        pool: where rows are graded; None leaves whole batches to the verifier.
        runner: where rows are graded instead, with a further batch begun before one has ended.

    Raises:
        ConfigError: the verifier broke its contract of one verdict a row.
    """

    def grade(candidates: list[Candidate]) -> GradedBatch:
        start = time.perf_counter()
        outcomes = (
            _grade(verifier, _Work.of(candidates), pool)
            if runner is None
            else grade_on(runner, verifier, candidates)
        )
        return GradedBatch(candidates, outcomes, time.perf_counter() - start)

    for batch in map(grade, batches) if runner is None else _overlapped(grade, batches):
        sizer.learn(batch)
        yield batch


def _overlapped(
    grade: Callable[[list[Candidate]], GradedBatch], batches: Iterator[list[Candidate]]
) -> Iterator[GradedBatch]:
    """Yields the graded batches in order; at most two are read ahead."""
    with ThreadPoolExecutor(_AHEAD, "rewardkit-score") as threads:
        begun: deque[Future[GradedBatch]] = deque()
        for candidates in batches:
            begun.append(threads.submit(grade, candidates))
            if len(begun) == _AHEAD:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def grade_on(
    runner: Runner, verifier: Verifier, candidates: Sequence[Candidate], *, until: float = math.inf
) -> list[Outcome]:
    """Returns what became of each row, graded on a runner.

    Raises:
        ConfigError: the verifier cannot be used there.
    """
    work = _Work.of(candidates)
    contexts = row_contexts(len(work.completions), work.columns)
    outcomes: list[Outcome] = []
    for row in runner.grade(verifier, work.completions, work.references, contexts, until=until):
        if isinstance(row, RewardkitError) and not isinstance(row, InvalidReferenceError):
            raise row
        outcomes.append(row)
    return outcomes


def _grade(verifier: Verifier, work: _Work, pool: WorkerPool | None) -> list[Outcome]:
    try:
        return list(_verify(verifier, work, pool))
    except InvalidReferenceError:
        # One bad reference refuses the batch: row by row, the others get their verdicts.
        return [_grade_one(verifier, work.one(i), pool) for i in range(len(work.completions))]


def _grade_one(verifier: Verifier, work: _Work, pool: WorkerPool | None) -> Outcome:
    try:
        return _verify(verifier, work, pool)[0]
    except InvalidReferenceError as error:
        return error


def _verify(verifier: Verifier, work: _Work, pool: WorkerPool | None) -> list[Verdict]:
    if pool is not None:
        contexts = row_contexts(len(work.completions), work.columns)
        return verify_rows(
            verifier,
            work.completions,
            work.references,
            contexts,
            pool=pool,
            row_timeout_s=_ROW_TIMEOUT_S,
            inline_rows=0,
        )
    verdicts = verifier.verify_batch(work.completions, work.references, **work.columns)
    if len(verdicts) != len(work.completions):
        raise ConfigError(
            f"the verifier {verifier.name!r} returned {len(verdicts)} verdicts for "
            f"{len(work.completions)} completions; it must return one each."
        )
    return verdicts
