"""Shards on a cluster: Ray Data reads them in pieces, warm actors grade and keep the pieces.

Only what is plain data travels: pieces go to actors through Ray's object store, what comes back
are counts. Verdicts go from the actor to the run's folder, which every node sees.
"""

import os
import pickle
import sys
import time
import uuid
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, Datasource
from ray.data.block import BlockMetadata
from ray.data.datasource import ReadTask

from rewardkit.datasets._json import decode_object
from rewardkit.datasets.writers import encode_line
from rewardkit.errors import ConfigError, InvalidReferenceError, RewardkitError
from rewardkit.runtime import PoolRunner
from rewardkit.runtime._tasks import describe
from rewardkit.runtime.batch import abstention
from rewardkit.runtime.ray_runner import RaySettings
from rewardkit.scoring._manifest import writing
from rewardkit.scoring._shards import (
    CheckedShard,
    Piece,
    Shard,
    ShardReading,
    check_shard,
    cut_pieces,
    finish_shard,
)
from rewardkit.scoring.grading import Outcome, grade_on
from rewardkit.scoring.resume import stop_at_bad_row
from rewardkit.scoring.run import unusable
from rewardkit.scoring.scored import scored_row
from rewardkit.scoring.statistics import Tally
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifier import Verifier

__all__ = ["GradedPiece", "ShardJob", "grade_pieces", "row_cost", "start_check", "start_finish"]

_PROBE_ROWS = 32
_PROBE_S = 1.0
_WARM_S = 10.0


@dataclass(frozen=True, slots=True)
class ShardJob:
    """All that a node needs to know; plain data."""

    reading: ShardReading
    verifier: bytes
    """Pickled."""
    path: list[str]
    """Of the driver's modules: those that exist on a node are looked through last there."""
    settings: RaySettings

    def make(self) -> tuple[Verifier, PoolRunner]:
        """Returns the verifier, and where it grades: one worker process that can be killed.

        Raises:
            ConfigError: the verifier cannot be made here.
        """
        sys.path += [entry for entry in self.path if entry not in sys.path]
        try:
            verifier: Verifier = pickle.loads(self.verifier)
        except Exception as error:  # the boundary: what the driver sent cannot be read here
            raise ConfigError(
                f"the nodes cannot use the verifier: {describe(error)}. Its module must be "
                "installed or on PYTHONPATH there"
            ) from None
        runner = PoolRunner(
            workers=1,
            row_timeout_s=self.settings.row_timeout_s,
            memory_mb=self.settings.memory_mb,
        )
        return verifier, runner


@dataclass(frozen=True, slots=True)
class GradedPiece:
    """What became of a piece; its rows are in its file."""

    shard: Shard
    first: int
    stop: int
    fraction: float
    """Share of the shard that was read up to it."""
    is_last: bool = False
    """The end of the shard, which has `stop` records."""
    tally: Tally = field(default_factory=Tally)
    skipped: list[str] = field(default_factory=list)
    """Rows that were left out; of the last one those that cannot be read."""
    node: str = ""
    error: RewardkitError | None = None


class PieceGrader:
    """An actor: grades pieces, and keeps its verifier and the engines warm."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._verifier: Verifier | None = None
        self._runner: PoolRunner | None = None

    def __call__(self, table: Any) -> Any:  # noqa: ANN401 # pyarrow is not typed
        """Returns what became of the pieces of a batch."""
        pieces = [pickle.loads(packed.as_py()) for packed in table["piece"]]
        return _column([self._told(piece) for piece in pieces])

    def _told(self, piece: Piece) -> GradedPiece:
        at = (piece.shard, piece.first, piece.stop, piece.fraction)
        if piece.is_last:
            return GradedPiece(*at, True, skipped=piece.skipped, error=piece.error)
        try:
            tally, skipped = self._grade(piece)
        except RewardkitError as error:  # raised by the driver: it is the caller's to mend
            return GradedPiece(*at, error=error)
        node: str = ray.get_runtime_context().get_node_id()
        return GradedPiece(*at, tally=tally, skipped=skipped, node=node)

    def _grade(self, piece: Piece) -> tuple[Tally, list[str]]:
        reading = self._job.reading
        tally, verdict_column = Tally(), reading.added.verdict
        target = reading.file(piece.shard, piece.first, piece.stop)
        if target.exists():  # an earlier life of this actor kept it, and could not say so any more
            for line in target.read_bytes().splitlines():
                tally.add(decode_object(line, target.name)[verdict_column])  # type: ignore[arg-type]
            return tally, []
        outcomes = self._outcomes(piece, _count_try(target))
        lines, skipped = [], []
        for candidate, outcome in zip(piece.rows, outcomes, strict=True):
            if isinstance(outcome, InvalidReferenceError):
                bad = unusable(candidate, outcome)
                if not reading.skips:
                    stop_at_bad_row(bad)
                skipped.append(str(bad))
                continue
            row = scored_row(candidate, outcome, reading.added)
            tally.add(row[verdict_column])
            lines.append(encode_line(row))
        _keep(target, b"".join(lines))
        return tally, skipped

    def _outcomes(self, piece: Piece, tries: int) -> list[Outcome]:
        if self._verifier is None or self._runner is None:
            self._verifier, self._runner = self._job.make()
        most = 1 + self._job.settings.retries
        if tries > most:
            lost = abstention(self._verifier, f"its actor was lost {most} times")
            return [lost for _ in piece.rows]
        return grade_on(self._runner, self._verifier, piece.rows)


def _count_try(target: Path) -> int:
    """Returns which try at a piece this is; of those that ended with their actor a mark is left."""
    mark = target.with_name(f"{target.name}.tries")
    with writing(target), mark.open("ab") as file:
        file.write(b".")
        return file.tell()


def _keep(target: Path, data: bytes) -> None:
    """Writes a piece in one step, so that who looks finds all of it or nothing."""
    part = target.with_name(f"{target.name}.{uuid.uuid4().hex}.part")
    with writing(target):
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        target.with_name(f"{target.name}.tries").unlink(missing_ok=True)


def _column(values: Sequence[object]) -> Any:  # noqa: ANN401 # pyarrow is not typed
    packed = [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in values]
    return pa.table({"piece": pa.array(packed, pa.large_binary())})


class _PieceSource(Datasource):
    """Reads shards, each by a task of its own."""

    def __init__(
        self, job: ShardJob, todo: Sequence[tuple[Shard, Sequence[range]]], most_rows: int
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # Ray's own
        self._job = job
        self._todo = todo
        self._most_rows = most_rows

    def estimate_inmemory_data_size(self) -> int:
        return sum(shard.bytes for shard, _ in self._todo)

    def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[ReadTask]:
        return [
            ReadTask(
                # What is done is looked at before: a task that is run again must bring the same.
                partial(_read, self._job, shard, done, self._most_rows),
                BlockMetadata(
                    num_rows=None,
                    size_bytes=shard.bytes,
                    input_files=(str(shard.path),),
                    exec_stats=None,
                ),
            )
            for shard, done in self._todo
        ]


def _read(job: ShardJob, shard: Shard, done: Sequence[range], most_rows: int) -> Iterator[Any]:
    for piece in cut_pieces(job.reading, shard, done, most_rows):
        yield _column([piece])


def grade_pieces(
    job: ShardJob,
    todo: Sequence[tuple[Shard, Sequence[range]]],
    *,
    most_rows: int,
    actors: int,
) -> Generator[GradedPiece, None, None]:
    """Yields what becomes of each piece of the shards, as it becomes known.

    Args:
        job: what is done.
        todo: shards, each with the ranges that are graded already.
        most_rows: of a piece.
        actors: how many grade.
    """
    context = DataContext.get_current().copy()
    context.target_max_block_size = 1  # each piece is a block: what an actor gets, and repeats
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    cpus = job.settings.cpus
    with DataContext.current(context):
        read = ray.data.read_datasource(
            _PieceSource(job, todo, most_rows), override_num_blocks=len(todo), num_cpus=cpus
        )
        graded = read.map_batches(
            PieceGrader,
            batch_size=1,
            batch_format="pyarrow",
            fn_constructor_args=(job,),
            compute=ActorPoolStrategy(size=actors),
            num_cpus=cpus,
            # A byte, so that reading has other arguments: Ray Data would else fuse the two, and one
            # actor would read and grade a whole shard.
            memory=1,
        )
        batches = graded.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
    for batch in batches:
        for packed in batch["piece"]:
            yield pickle.loads(packed.as_py())


def row_cost(job: ShardJob, shard: Shard) -> float:
    """Returns the seconds that a row takes on a node, from the first rows of a shard.

    Raises:
        RewardkitError: the nodes cannot use the verifier, or the shard cannot be read.
    """
    measured: float | RewardkitError = ray.get(_call(_probe, job, shard))
    if isinstance(measured, RewardkitError):
        raise measured
    return measured


def start_finish(job: ShardJob, shard: Shard, done: Sequence[range]) -> Any:  # noqa: ANN401
    """Starts a task that writes and checks a scored shard; `ray.get` gives a `CheckedShard`."""
    return _call(_finish, job, shard, done)


def start_check(job: ShardJob, shard: Shard) -> Any:  # noqa: ANN401
    """Starts a task that checks a shard scored earlier; `ray.get` gives a `CheckedShard`."""
    return _call(_check, job, shard)


def _call(function: Any, job: ShardJob, *args: object) -> Any:  # noqa: ANN401
    remote = ray.remote(num_cpus=job.settings.cpus, scheduling_strategy="SPREAD")(function)
    return remote.remote(job, *args)


def _probe(job: ShardJob, shard: Shard) -> float | RewardkitError:
    try:
        rows = []
        for candidate in job.reading.open(shard):
            rows.append(candidate)
            if len(rows) == _PROBE_ROWS:
                break
        verifier, runner = job.make()
        with runner:
            grade_on(runner, verifier, rows[:1], until=time.monotonic() + _WARM_S)
            started = time.monotonic()
            done = grade_on(runner, verifier, rows[1:], until=started + _PROBE_S)
            graded = [one for one in done if not _is_late(one)]
        return (time.monotonic() - started) / max(1, len(graded))
    except RewardkitError as error:
        return error


def _is_late(outcome: Outcome) -> bool:
    return isinstance(outcome, Verdict) and outcome.reason is Reason.TIMEOUT


def _finish(job: ShardJob, shard: Shard, done: Sequence[range]) -> CheckedShard | RewardkitError:
    try:
        with writing(shard.out):
            if shard.out.exists():  # a task that is run again: its node died after the last step
                return check_shard(job.reading, shard)
            return finish_shard(job.reading, shard, done)
    except RewardkitError as error:
        return error


def _check(job: ShardJob, shard: Shard) -> CheckedShard | RewardkitError:
    try:
        return check_shard(job.reading, shard)
    except RewardkitError as error:
        return error
