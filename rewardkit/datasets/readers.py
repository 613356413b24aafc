"""Opens a data file of any supported kind as a stream of rows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from rewardkit.datasets._huggingface import HuggingFaceFile
from rewardkit.datasets._json import JsonFile
from rewardkit.datasets._parquet import Arrow, ParquetFile
from rewardkit.datasets.rows import Columns, Record, Row, expand_record
from rewardkit.errors import DataError

__all__ = ["OnBadRow", "RecordFile", "RowSource", "open_records", "raise_bad_row", "read_rows"]

OnBadRow = Callable[[DataError], None]
"""What is called for a row that cannot be read; if it returns, the row is left out."""

_JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")


def raise_bad_row(error: DataError) -> None:
    """Raises the error: the first bad row ends the reading."""
    raise error


class RecordFile(Protocol):
    """A data file as a stream of records; every kind of file is one of these."""

    def records(self, on_bad_row: OnBadRow) -> Iterator[Record]:
        """Yields the records in file order, holding one batch in memory at a time."""
        ...

    def fraction(self) -> float:
        """Returns which share of the file the last `records` has read, from 0 to 1."""
        ...

    def arrow_schema(self) -> Arrow:
        """Returns the file's own Arrow schema, or None where it has none."""
        ...


def open_records(path: Path | str, *, split: str | None = None) -> RecordFile:
    """Returns a data file, of the kind that its name says.

    Args:
        path: `.jsonl`, `.ndjson` or `.json` (lines or one array), each also with `.gz`; `.parquet`;
            or a folder that `Dataset.save_to_disk` wrote.
        split: which split of a Hugging Face dataset that has several.

    Raises:
        DataError: the file is not there, or of another kind.
    """
    file = Path(path)
    if not file.exists():
        raise DataError(f"{file}: no such file. Check the path.")
    if file.is_dir():
        return HuggingFaceFile(file, split=split)
    if split is not None:
        raise DataError(f"{file}: only a Hugging Face dataset has splits; leave --split away.")
    if file.name.lower().endswith(_JSON):
        return JsonFile(file)
    if file.suffix.lower() == ".parquet":
        return ParquetFile(file)
    raise DataError(
        f"{file}: unknown kind of data file. Known are .jsonl, .ndjson and .json (each also .gz), "
        ".parquet, and a folder written by Dataset.save_to_disk."
    )


class RowSource:
    """A data file as a stream of rows that can be read again from the start.

    Args:
        path: see `open_records`.
        columns: which columns hold the completion and the reference.
        split: which split of a Hugging Face dataset that has several.
        on_bad_row: called for each row that cannot be read; the default raises.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        columns: Columns | None = None,
        split: str | None = None,
        on_bad_row: OnBadRow = raise_bad_row,
    ) -> None:
        self.path = Path(path)
        self.columns = columns or Columns()
        self._on_bad_row = on_bad_row
        self._file = open_records(path, split=split)

    def __iter__(self) -> Iterator[Row]:
        for record in self._file.records(self._on_bad_row):
            try:
                rows = list(expand_record(record, self.columns))
            except DataError as error:
                self._on_bad_row(error)
                continue
            yield from rows

    def fraction(self) -> float:
        """Returns which share of the file has been read, from 0 to 1."""
        return self._file.fraction()

    def arrow_schema(self) -> Arrow:
        """Returns the file's own Arrow schema, or None where it has none."""
        return self._file.arrow_schema()


def read_rows(
    path: Path | str,
    *,
    columns: Columns | None = None,
    split: str | None = None,
    on_bad_row: OnBadRow = raise_bad_row,
) -> Iterator[Row]:
    """Yields the rows of a data file, in order, in memory that does not grow with the file.

    Raises:
        DataError: the file cannot be read, or lacks a column; file and line are named.
    """
    return iter(RowSource(path, columns=columns, split=split, on_bad_row=on_bad_row))
