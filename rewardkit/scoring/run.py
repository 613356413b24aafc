"""One scoring run: reads, grades, appends, resumes."""

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rewardkit.datasets.rows import Columns
from rewardkit.datasets.writers import encode_line
from rewardkit.errors import ConfigError, DataError, InvalidReferenceError
from rewardkit.runtime import Runner, WorkerPool
from rewardkit.scoring.grading import BatchSizer, GradedBatch, grade_batches, make_batches
from rewardkit.scoring.journal import Journal
from rewardkit.scoring.output import write_output
from rewardkit.scoring.resume import Input, SkippedRows, stop_at_bad_row
from rewardkit.scoring.rewards import RewardVerifier
from rewardkit.scoring.scored import Candidate, ScoredColumns, read_scored, scored_row
from rewardkit.scoring.statistics import Tally
from rewardkit.verdict import Json
from rewardkit.verifier import LargeBatches, Verifier

_RUNNER_ROWS = 8192
"""Most rows of a batch that many nodes share."""

__all__ = ["Progress", "ScoreResult", "run_settings", "score_file", "unusable"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    tally: Tally
    """The verdicts so far, those of earlier runs included."""
    resumed_rows: int
    """How many of them an earlier run wrote."""
    fraction: float
    """Share of the work that is done, in [0, 1]."""
    rows_by_node: Mapping[str, int] = field(default_factory=dict)
    """Rows that each node of a cluster has graded in this run; empty for a single file."""


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """What a scoring run did."""

    tally: Tally
    """All verdicts in the scored file, those of earlier runs included."""
    resumed_rows: int
    """Rows that an earlier run had written."""
    skipped: SkippedRows
    """Rows that were left out, with `on_bad_row="skip"`."""
    seconds: float
    """Wall time of this run's grading."""
    stopped: bool
    """True if `should_stop` ended the run."""
    rows_by_node: Mapping[str, int] = field(default_factory=dict)
    """As in `Progress`."""

    @property
    def rows_per_second(self) -> float:
        """Rows that this run graded, a second."""
        graded = self.tally.rows - self.resumed_rows
        return graded / self.seconds if self.seconds > 0 else 0.0


def score_file(
    verifier: Verifier,
    path: Path | str,
    out: Path | str,
    *,
    config: Mapping[str, Json],
    columns: Columns | None = None,
    split: str | None = None,
    prefix: str = "",
    pool: WorkerPool | None = None,
    runner: Runner | None = None,
    limit: int | None = None,
    on_bad_row: Literal["stop", "skip"] = "stop",
    overwrite: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> ScoreResult:
    """Grades each row of a data file and writes it with its verdict; resumes an earlier run.

    Each row is written once, in the order of the input: its own columns, then `row_id`, `score`
    and `verdict`. A run that was killed at any moment is resumed by the same call. That the rows
    already there stem from this input is checked row by row, not assumed.

    Args:
        verifier: what grades; with a pool it must be picklable, as verifiers are.
        path: the data file; see `rewardkit.datasets`.
        out: the scored file: .jsonl, .ndjson (each also .gz) or .parquet.
        config: the verifier's name and options; a run resumes only where they are the same.
        columns: which columns hold the completion and the reference.
        split: which split of a Hugging Face dataset that has several.
        prefix: stands before the names of the three columns that are added.
        pool: where rows are graded, one by one; None leaves batches to the verifier's workers.
        runner: where rows are graded instead: on a Ray cluster, by a service.
        limit: grade at most this many rows. A later run with a higher limit, or none, goes on.
        on_bad_row: what becomes of a row that cannot be read, or whose reference cannot be used:
            "stop" ends the run with an error that names it, "skip" leaves it out and counts it.
        overwrite: start anew, whatever is there.
        on_progress: called after each batch.
        should_stop: asked after each batch; True ends the run in good order.

    Raises:
        DataError: a file cannot be read or written, a column is missing, or the input changed.
        ConfigError: an option is outside its range, or an earlier run had other options.
    """
    added = ScoredColumns(prefix, reward=isinstance(verifier, RewardVerifier))
    source, target = Path(path), Path(out)
    if limit is not None and limit < 1:
        raise ConfigError(f"limit must be at least 1, or None for all rows, not {limit}")
    if source.exists() and target.exists() and source.samefile(target):
        raise ConfigError(f"{out} is the input itself; choose another --out.")
    chosen = columns or Columns()
    settings = run_settings(config, chosen, split=split, prefix=prefix, bad_rows=on_bad_row)

    def open_input() -> Input:
        return Input(source, columns=chosen, split=split, added=added, skips=on_bad_row == "skip")

    rows = open_input()
    notes: dict[str, Json] = {"input": source.name}
    with Journal(target, config=settings, notes=notes, overwrite=overwrite) as journal:
        if journal.is_finished:
            return _check_finished(rows, journal, added, limit)
        run = _Run(rows, journal, added, limit, skips=on_bad_row == "skip")
        result = run.grade(verifier, pool, runner, on_progress, should_stop)
        if not result.stopped:
            if not journal.in_place:
                write_output(journal.out, journal.path, journal.rows, open_input, added)
            journal.finish()
        return result


def run_settings(config: Mapping[str, Json], columns: Columns, **others: Json) -> dict[str, Json]:
    """Returns all that decides what a run writes: it resumes only where this is the same."""
    return {
        **config,
        "completion column": columns.completion,
        "reference column": columns.reference,
        **{name.replace("_", " "): value for name, value in others.items()},
    }


def _check_finished(
    rows: Input, journal: Journal, added: ScoredColumns, limit: int | None
) -> ScoreResult:
    """Returns the result of a run whose output is complete, and cannot be appended to."""
    tally = Tally()
    for pair in rows.match(read_scored(journal.out), journal.out):
        tally.add(pair.scored[added.verdict])
    wants_more = limit is None or limit > tally.rows
    if wants_more and next(iter(rows), None) is not None:
        raise DataError(
            f"{journal.out} is finished with {tally.rows} rows, and rows cannot be added to this "
            "kind of file. Start anew with --overwrite."
        )
    return ScoreResult(tally, tally.rows, rows.skipped, 0.0, stopped=False)


def unusable(candidate: Candidate, error: InvalidReferenceError) -> DataError:
    """Returns what is said about a row whose reference cannot be used."""
    return DataError(
        f"{candidate.row.place}: the reference cannot be used: {error}. "
        "`rewardkit lint-references` lists all such rows."
    )


class _Run:
    def __init__(
        self, rows: Input, journal: Journal, added: ScoredColumns, limit: int | None, *, skips: bool
    ) -> None:
        self._rows = rows
        self._journal = journal
        self._added = added
        self._limit = limit
        self._skips = skips
        self._tally = Tally()

    def grade(
        self,
        verifier: Verifier,
        pool: WorkerPool | None,
        runner: Runner | None,
        on_progress: Callable[[Progress], None],
        should_stop: Callable[[], bool],
    ) -> ScoreResult:
        for pair in self._rows.match(self._journal.rows(), self._journal.path):
            self._tally.add(pair.scored[self._added.verdict])
        resumed = self._tally.rows
        todo = iter(self._rows)
        if self._limit is not None:
            todo = itertools.islice(todo, max(self._limit - resumed, 0))
        least = verifier.batch_rows if isinstance(verifier, LargeBatches) else 0
        most = 1024 if runner is None else _RUNNER_ROWS
        sizer = BatchSizer(min_rows=max(16, least), max_rows=max(most, least))
        batches = make_batches(todo, sizer)
        start, stopped = time.perf_counter(), False
        on_progress(Progress(self._tally, resumed, self._fraction()))
        for batch in grade_batches(verifier, batches, sizer, pool, runner):
            self._write(batch)
            on_progress(Progress(self._tally, resumed, self._fraction()))
            if stopped := should_stop():
                break
        seconds = time.perf_counter() - start
        return ScoreResult(self._tally, resumed, self._rows.skipped, seconds, stopped)

    def _fraction(self) -> float:
        read = self._rows.source.fraction()
        return read if self._limit is None else min(max(self._tally.rows / self._limit, read), 1.0)

    def _write(self, batch: GradedBatch) -> None:
        """Appends a batch in one write; a bad reference ends the run after the rows before it."""
        lines: list[bytes] = []
        stop: DataError | None = None
        for candidate, outcome in zip(batch.candidates, batch.outcomes, strict=True):
            if not isinstance(outcome, InvalidReferenceError):
                row = scored_row(candidate, outcome, self._added)
                lines.append(encode_line(row))
                self._tally.add(row[self._added.verdict])
                continue
            bad = unusable(candidate, outcome)
            if not self._skips:
                stop = bad
                break
            self._rows.skipped.add(bad)
        self._journal.append(b"".join(lines))
        if stop is not None:
            stop_at_bad_row(stop)
