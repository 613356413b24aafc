"""A data set of many files: which they are, how a scored one is made and checked."""

import glob
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.datasets._json import decode_object
from rewardkit.datasets.rows import Columns
from rewardkit.errors import ConfigError, DataError
from rewardkit.scoring.output import write_output
from rewardkit.scoring.resume import Input
from rewardkit.scoring.scored import ScoredColumns, read_scored
from rewardkit.scoring.statistics import Tally

__all__ = [
    "CheckedShard",
    "Shard",
    "ShardReading",
    "check_shard",
    "find_shards",
    "finish_shard",
    "is_sharded",
]

_SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")


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
