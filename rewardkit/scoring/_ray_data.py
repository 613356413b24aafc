"""Shards on a cluster: Ray Data reads them in pieces, warm actors grade and keep the pieces.

Only what is plain data travels: pieces go to actors through Ray's object store, what comes back
are counts. Verdicts go from the actor to the run's folder, which every node sees.
"""

import pickle
import time
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, Datasource
from ray.data.block import BlockMetadata
from ray.data.datasource import ReadTask

from rewardkit.errors import RewardkitError
from rewardkit.scoring._manifest import writing
from rewardkit.scoring._piece_grader import GradedPiece, PieceGrader, ShardJob
from rewardkit.scoring._pieces import cut_pieces
from rewardkit.scoring._shards import CheckedShard, Shard, check_shard, finish_shard
from rewardkit.scoring.grading import Outcome, grade_on
from rewardkit.verdict import Reason, Verdict

__all__ = ["GradedPiece", "ShardJob", "grade_pieces", "row_cost", "start_check", "start_finish"]

_PROBE_ROWS = 32
_PROBE_S = 1.0
_WARM_S = 10.0


class _Actor:
    """A `PieceGrader` as Ray Data calls it."""

    def __init__(self, job: ShardJob) -> None:
        self._grade = PieceGrader(job)

    def __call__(self, table: Any) -> Any:  # noqa: ANN401 # pyarrow is not typed
        """Returns what became of the pieces of a batch."""
        pieces = [pickle.loads(packed.as_py()) for packed in table["piece"]]
        return _column([self._grade(piece) for piece in pieces])


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
            _Actor,
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
