"""A data set of many files: which they are, and the pieces in which they are graded.

A piece is a range of records of one shard. What is graded of it stands in a file of its own in the
run's folder until all of the shard is; so a run that was killed has lost the pieces in hand, and
nothing else.
"""

import glob
import os
import re
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.completion import completion_text
from rewardkit.datasets._json import decode_object
from rewardkit.datasets.rows import Columns
from rewardkit.errors import ConfigError, DataError, RewardkitError
from rewardkit.scoring.output import write_output
from rewardkit.scoring.resume import Input
from rewardkit.scoring.scored import Candidate, ScoredColumns, read_scored
from rewardkit.scoring.statistics import Tally

__all__ = [
    "CheckedShard",
    "Piece",
    "Shard",
    "ShardReading",
    "check_shard",
    "cut_pieces",
    "find_shards",
    "finish_shard",
    "is_sharded",
    "pieces_done",
]

_SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
_MOST_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a data set."""

    path: Path
    out: Path
    """The scored file, which appears when all of it is graded and checked."""
    bytes: int


@dataclass(frozen=True, slots=True)
class ShardReading:
    """How every shard is read."""

    columns: Columns
    added: ScoredColumns
    skips: bool
    """Leave out rows that cannot be read or used."""
    folder: Path
    """Where pieces stand."""

    def open(self, shard: Shard) -> Input:
        """Returns the rows of a shard, from the start."""
        return Input(
            shard.path, columns=self.columns, split=None, added=self.added, skips=self.skips
        )

    def file(self, shard: Shard, first: int, stop: int) -> Path:
        """Returns where a graded piece stands."""
        return self.folder / f"{shard.out.name}.{first}-{stop}.jsonl"


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one shard that are graded together, and kept together."""

    shard: Shard
    first: int
    stop: int
    """Records `first` to `stop - 1`, without those that cannot be read."""
    rows: list[Candidate]
    fraction: float
    """Share of the shard that is read so far, in [0, 1]."""
    is_last: bool = False
    """It has no rows, and stands for the end: the shard has `stop` records."""
    skipped: list[str] = field(default_factory=list)
    """Of the last one: the first 20 rows of the shard that cannot be read."""
    error: RewardkitError | None = None
    """Why the shard cannot be read on."""


def is_sharded(source: Path) -> bool:
    """Returns whether a path means many files: a pattern, or a folder that is no Hugging Face one.

    >>> is_sharded(Path("rows/part-*.parquet")), is_sharded(Path("rows.parquet"))
    (True, False)
    """
    if source.is_dir():
        return not any((source / name).exists() for name in ("dataset_dict.json", "state.json"))
    return not source.exists() and glob.has_magic(str(source))


def find_shards(source: Path, out: Path) -> list[Shard]:
    """Returns the files of a data set, by name.

    Args:
        source: a folder, or a pattern with `*`, `?`, `[…]` or `**`. Names that begin with `.` or
            `_` are no data.
        out: the folder of the scored files, which have the names of the shards.

    Raises:
        DataError: there are none, or one is of no kind that can be read.
        ConfigError: two would be scored into the same file.
    """
    pattern = str(source / "*") if source.is_dir() else str(source)
    found = (Path(name) for name in sorted(glob.glob(pattern, recursive=True)))
    paths = [path for path in found if path.is_file() and path.name[0] not in "._"]
    if not paths:
        raise DataError(f"{source}: no files there.")
    shards: dict[Path, Shard] = {}
    for path in paths:
        if not path.name.lower().endswith(_SUFFIXES):
            raise DataError(
                f"{path}: unknown kind of data file. Name the shards with a pattern, as in "
                f"'{path.parent}/*.parquet'."
            )
        target = out / re.sub(r"\.json(\.gz)?$", r".jsonl\1", path.name, flags=re.IGNORECASE)
        if target in shards:
            raise ConfigError(
                f"{shards[target].path} and {path} would both be scored into {target}: score them "
                "apart, or rename one."
            )
        shards[target] = Shard(path.absolute(), target.absolute(), max(path.stat().st_size, 1))
    return list(shards.values())


def cut_pieces(
    reading: ShardReading, shard: Shard, done: Sequence[range], most_rows: int
) -> Iterator[Piece]:
    """Yields what is still to be graded of a shard, then its end.

    Args:
        reading: how it is read.
        shard: the file.
        done: ranges of records that are graded already, in order.
        most_rows: of a piece; one record of many rollouts may bring more.
    """
    try:
        rows = reading.open(shard)
        cutter = _Cutter(shard, rows, done, most_rows)
        for candidate in rows:
            yield from cutter.take(candidate)
        yield from cutter.end()
    except RewardkitError as error:
        yield Piece(shard, 0, 0, [], 1.0, is_last=True, error=error)


class _Cutter:
    def __init__(self, shard: Shard, source: Input, done: Sequence[range], most_rows: int) -> None:
        self._shard = shard
        self._source = source
        self._spans = deque(done)
        self._most = most_rows
        self._first = 0
        self._stop = 0
        self._rows: list[Candidate] = []
        self._chars = 0

    def take(self, candidate: Candidate) -> Iterator[Piece]:
        at = candidate.row.position
        self._stop = at + 1
        while self._spans and at >= self._spans[0].start:
            yield from self._cut(self._spans[0].start)
            if at < self._spans[0].stop:
                return
            self._first = self._spans.popleft().stop
        is_full = len(self._rows) >= self._most or self._chars > _MOST_CHARS
        if is_full and self._rows[-1].row.position != at:
            yield from self._cut(at)
        self._rows.append(candidate)
        self._chars += len(completion_text(candidate.row.completion))

    def _cut(self, stop: int) -> Iterator[Piece]:
        if self._rows:
            yield Piece(self._shard, self._first, stop, self._rows, self._source.source.fraction())
            self._first, self._rows, self._chars = stop, [], 0

    def end(self) -> Iterator[Piece]:
        yield from self._cut(self._stop)
        examples = self._source.skipped.examples
        yield Piece(self._shard, self._stop, self._stop, [], 1.0, True, examples)


def pieces_done(reading: ShardReading, shard: Shard) -> list[range]:
    """Returns the ranges that are graded, in order and apart; what overlaps them is removed."""
    name = re.compile(re.escape(shard.out.name) + r"\.(\d+)-(\d+)\.jsonl")
    found = [name.fullmatch(entry.name) for entry in os.scandir(reading.folder)]
    spans = sorted((range(int(one[1]), int(one[2])) for one in found if one), key=_by_place)
    kept: list[range] = []
    for span in spans:
        if kept and span.start < kept[-1].stop:
            # Of a run that was killed: its last piece came after this folder had been looked at.
            reading.file(shard, span.start, span.stop).unlink(missing_ok=True)
        else:
            kept.append(span)
    return kept


def _by_place(span: range) -> tuple[int, int]:
    return span.start, -span.stop


@dataclass(frozen=True, slots=True)
class CheckedShard:
    """A scored shard that has a row for each row of its input."""

    tally: Tally
    skipped: int
    """Rows of the input that were left out."""
    examples: list[str]
    """The first of them."""


def finish_shard(reading: ShardReading, shard: Shard, done: Sequence[range]) -> CheckedShard:
    """Writes the scored file of a shard from its pieces, checks it, and lets it appear.

    Raises:
        DataError: the file cannot be written, or is not what the input asks for.
    """
    files = [reading.file(shard, span.start, span.stop) for span in done]
    draft = reading.folder / shard.out.name
    if draft.suffix.lower() in (".jsonl", ".ndjson"):
        with draft.open("wb") as target:
            for file in files:
                with file.open("rb") as piece:
                    shutil.copyfileobj(piece, target)
    else:

        def rows() -> Iterator[dict[str, Any]]:
            for file in files:
                with file.open("rb") as piece:
                    for number, line in enumerate(piece, 1):
                        yield decode_object(line, f"{file.name}:{number}")

        write_output(
            draft, files[0] if files else draft, rows, lambda: reading.open(shard), reading.added
        )
    checked = check_shard(reading, shard, draft)
    with draft.open("rb") as written:
        os.fsync(written.fileno())
    os.replace(draft, shard.out)
    for file in files:
        file.unlink(missing_ok=True)
    return checked


def check_shard(reading: ShardReading, shard: Shard, scored: Path | None = None) -> CheckedShard:
    """Returns what a scored shard holds, after it was held against its input row by row.

    Raises:
        DataError: a row of the input has no row there, or one there has none in the input.
    """
    path = scored or shard.out
    rows, tally = reading.open(shard), Tally()
    for pair in rows.match(read_scored(path), path):
        tally.add(pair.scored[reading.added.verdict])
    for candidate in rows:
        if not reading.skips:
            raise DataError(
                f"{candidate.row.place}: this row is not in {path}: the input has grown since it "
                "was scored. Start anew with --overwrite."
            )
        rows.skipped.add(DataError(f"{candidate.row.place}: left out"))
    return CheckedShard(tally, rows.skipped.count, rows.skipped.examples)
