"""What an actor does with the pieces of shards: grades them, and keeps what came of it."""

import os
import pickle
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from rewardkit.datasets._json import decode_object
from rewardkit.datasets.writers import encode_line
from rewardkit.errors import ConfigError, InvalidReferenceError, RewardkitError
from rewardkit.runtime import PoolRunner
from rewardkit.runtime._tasks import describe
from rewardkit.runtime.batch import abstention
from rewardkit.runtime.ray_runner import RaySettings
from rewardkit.scoring._manifest import writing
from rewardkit.scoring._pieces import Piece
from rewardkit.scoring._shards import Shard, ShardReading
from rewardkit.scoring.grading import Outcome, grade_on
from rewardkit.scoring.resume import stop_at_bad_row
from rewardkit.scoring.run import unusable
from rewardkit.scoring.scored import scored_row
from rewardkit.scoring.statistics import Tally
from rewardkit.verifier import Verifier

__all__ = ["GradedPiece", "PieceGrader", "ShardJob"]


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
    """Grades pieces, and keeps its verifier and the engines warm."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._verifier: Verifier | None = None
        self._runner: PoolRunner | None = None

    def __call__(self, piece: Piece) -> GradedPiece:
        """Returns what became of a piece."""
        at = (piece.shard, piece.first, piece.stop, piece.fraction)
        if piece.is_last:
            return GradedPiece(*at, True, skipped=piece.skipped, error=piece.error)
        try:
            tally, skipped = self._grade(piece)
        except RewardkitError as error:  # raised by the driver: it is the caller's to mend
            return GradedPiece(*at, error=error)
        import ray

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
