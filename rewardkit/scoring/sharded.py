"""One scoring run over many files on a cluster: reads, grades, keeps, checks, resumes."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from rewardkit._install import require_extra
from rewardkit.datasets.rows import Columns
from rewardkit.errors import ConfigError, DataError, RewardkitError
from rewardkit.runtime._link import import_path
from rewardkit.runtime._tasks import describe, pack
from rewardkit.runtime.ray_runner import RayRunner
from rewardkit.scoring._folder import ScoredFolder
from rewardkit.scoring._piece_grader import GradedPiece, ShardJob
from rewardkit.scoring._pieces import pieces_done
from rewardkit.scoring._shards import CheckedShard, Shard, ShardReading, find_shards
from rewardkit.scoring.resume import SkippedRows
from rewardkit.scoring.rewards import RewardVerifier
from rewardkit.scoring.run import Progress, ScoreResult, run_settings
from rewardkit.scoring.scored import ScoredColumns
from rewardkit.scoring.statistics import Tally
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier

__all__ = ["score_shards"]

_PIECE_S = 2.0
_LEAST_ROWS = 8
_MOST_ROWS = 1024
_LOOK_S = 0.5


def score_shards(
    verifier: Verifier,
    source: Path | str,
    out: Path | str,
    *,
    config: Mapping[str, Json],
    runner: RayRunner,
    columns: Columns | None = None,
    prefix: str = "",
    on_bad_row: Literal["stop", "skip"] = "stop",
    overwrite: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> ScoreResult:
    """Grades each row of many files on a Ray cluster, with Ray Data; resumes an earlier run.

    Each shard gets a scored file of its own name and kind in the folder `out`, with a row for each
    of its rows in their order, as `score_file` writes them. It appears when it is complete and was
    held against its shard row by row. What was killed goes on with the same call: finished shards
    are checked, pieces of others that were graded are kept. The nodes must see `source` and `out`
    under the same paths.

    Args:
        verifier: what grades; picklable, and importable on the nodes.
        source: a folder of `.parquet`, `.jsonl`, `.ndjson` or `.json` files (the last three also
            `.gz`), or a pattern such as `rows/part-*.parquet`.
        out: the folder of the scored files; it is made.
        config: the verifier's name and options; a run resumes only where they are the same.
        runner: the cluster, with its actors' number, timeouts and retries.
        columns: which columns hold the completion and the reference.
        prefix: stands before the names of the three columns that are added.
        on_bad_row: what becomes of a row that cannot be read, or whose reference cannot be used:
            "stop" ends the run with an error that names it, "skip" leaves it out and counts it.
        overwrite: start anew, whatever is there.
        on_progress: called after each piece.
        should_stop: asked after each piece; True ends the run, which can be resumed.

    Raises:
        DataError: a file cannot be read or written, a column is missing, or the input changed.
        ConfigError: an option is outside its range, an earlier run had other options, or the
            verifier cannot be used on the nodes.
        EngineMissingError: the extra `data` is not installed, which Ray Data needs.
    """
    require_extra("data")
    chosen, target = columns or Columns(), Path(out)
    shards = find_shards(Path(source), target)
    packed = pack(verifier, what=f"the verifier {verifier.name}")
    settings = run_settings(config, chosen, split=None, prefix=prefix, bad_rows=on_bad_row)
    notes: dict[str, Json] = {"input": str(source)}
    with ScoredFolder(target, shards, config=settings, notes=notes, overwrite=overwrite) as folder:
        added = ScoredColumns(prefix, reward=isinstance(verifier, RewardVerifier))
        reading = ShardReading(chosen, added, on_bad_row == "skip", folder.pieces)
        runner.connect()
        job = ShardJob(reading, packed, import_path(), runner.settings)
        run = _ShardRun(job, shards, runner.count_actors(), on_progress)
        result = run.grade(should_stop)
        if not result.stopped:
            folder.finish()
        return result


class _ShardRun:
    """What is known of each shard, while the cluster works."""

    def __init__(
        self,
        job: ShardJob,
        shards: list[Shard],
        actors: int,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._job = job
        self._shards = shards
        self._actors = actors
        self._on_progress = on_progress
        self._done: dict[Path, list[range]] = {}
        self._ends: dict[Path, int] = {}
        self._read: dict[Path, float] = {}
        self._checked: dict[Path, CheckedShard] = {}
        self._waiting: list[Shard] = []
        self._tasks: dict[Any, Shard] = {}
        self._graded = Tally()
        self._known = Tally()
        self._skipped = SkippedRows()
        self._nodes: Counter[str] = Counter()

    def grade(self, should_stop: Callable[[], bool]) -> ScoreResult:
        """Returns what came of it.

        Raises:
            RewardkitError: as `score_shards`.
        """
        started, stopped = time.perf_counter(), False
        todo = []
        for shard in self._shards:
            if shard.out.exists():
                self._waiting.append(shard)
            else:
                self._done[shard.path] = pieces_done(self._job.reading, shard)
                todo.append((shard, list(self._done[shard.path])))
        self._tell()
        if todo:
            stopped = self._grade_pieces(todo, should_stop)
        while (self._waiting or self._tasks) and not stopped:
            self._settle(wait_s=_LOOK_S)
            stopped = should_stop()
        seconds = time.perf_counter() - started
        if stopped:
            tally = self._known
            tally.merge(self._graded)
            return self._result(tally, seconds, stopped=True)
        tally = Tally()
        for shard in self._shards:
            if shard.path not in self._checked:
                raise DataError(f"{shard.path}: not all of it is graded. The same command goes on.")
            checked = self._checked[shard.path]
            tally.merge(checked.tally)
        self._skipped.count = sum(one.skipped for one in self._checked.values())
        return self._result(tally, seconds, stopped=False)

    def _result(self, tally: Tally, seconds: float, *, stopped: bool) -> ScoreResult:
        resumed = tally.rows - self._graded.rows
        return ScoreResult(tally, resumed, self._skipped, seconds, stopped, dict(self._nodes))

    def _grade_pieces(self, todo: list[Any], should_stop: Callable[[], bool]) -> bool:
        from ray.exceptions import RayError

        from rewardkit.scoring._ray_data import grade_pieces, row_cost

        try:
            row_s = row_cost(self._job, todo[0][0])
            rows = max(_LEAST_ROWS, min(_MOST_ROWS, int(_PIECE_S / max(row_s, 1e-9))))
            pieces = grade_pieces(self._job, todo, most_rows=rows, actors=self._actors)
            with contextlib.closing(pieces):
                for piece in pieces:
                    self._take(piece)
                    self._settle()
                    self._tell()
                    if should_stop():
                        return True
        except RayError as error:
            raise ConfigError(
                f"the cluster cannot go on: {describe(error)}. What is graded is kept; the same "
                "command goes on"
            ) from error
        return False

    def _take(self, piece: GradedPiece) -> None:
        if piece.error is not None:
            raise piece.error
        path = piece.shard.path
        for line in piece.skipped:
            self._skipped.add(DataError(line))
        self._read[path] = max(self._read.get(path, 0.0), piece.fraction)
        if piece.is_last:
            self._ends[path] = piece.stop
        else:
            self._done[path].append(range(piece.first, piece.stop))
            self._graded.merge(piece.tally)
            self._nodes[piece.node] += piece.tally.rows
        end = self._ends.get(path)
        if end is not None and sum(len(span) for span in self._done[path]) >= end:
            self._done[path].sort(key=lambda span: span.start)
            self._waiting.append(piece.shard)

    def _settle(self, *, wait_s: float = 0.0) -> None:
        """Starts the checks that are due, a few at a time, and takes in those that have ended."""
        import ray

        from rewardkit.scoring._ray_data import start_check, start_finish

        while self._waiting and len(self._tasks) < max(2, self._actors):
            shard = self._waiting.pop(0)
            done = self._done.get(shard.path)
            started = (
                start_check(self._job, shard)
                if done is None
                else start_finish(self._job, shard, done)
            )
            self._tasks[started] = shard
        if not self._tasks:
            return
        ended, _ = ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=wait_s)
        for task in ended:
            shard = self._tasks.pop(task)
            checked: CheckedShard | RewardkitError = ray.get(task)
            if isinstance(checked, RewardkitError):
                raise checked
            self._checked[shard.path] = checked
            self._read[shard.path] = 1.0
            if shard.path not in self._done:
                self._known.merge(checked.tally)
            for line in checked.examples:
                self._skipped.add(DataError(line))

    def _tell(self) -> None:
        tally = Tally()
        tally.merge(self._known)
        tally.merge(self._graded)
        total = sum(shard.bytes for shard in self._shards)
        read = sum(self._read.get(shard.path, 0.0) * shard.bytes for shard in self._shards)
        progress = Progress(tally, self._known.rows, read / total, dict(self._nodes))
        self._on_progress(progress)
