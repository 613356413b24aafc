"""Parquet files, read a batch at a time; and the one place that loads pyarrow."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from rewardkit._install import install_command
from rewardkit.datasets.rows import Record
from rewardkit.errors import DataError, EngineMissingError

__all__ = ["Arrow", "ParquetFile", "load_pyarrow"]

Arrow: TypeAlias = Any
"""An object of pyarrow or datasets: they load late, and are not typed here."""

_BATCH_ROWS = 256


def load_pyarrow(module: str = "pyarrow") -> Arrow:
    """Returns pyarrow, or one of its modules.

    Raises:
        EngineMissingError: pyarrow is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise EngineMissingError("pyarrow", install_command("data")) from None


class ParquetFile:
    """A `.parquet` file. Row groups are read in batches of 256 rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pa = load_pyarrow()
        parquet = load_pyarrow("pyarrow.parquet")
        try:
            self._file = parquet.ParquetFile(path)
        except (self._pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: not a readable Parquet file: {error}") from None
        self._rows = self._file.metadata.num_rows
        self._read = 0

    def fraction(self) -> float:
        """Returns the share of the rows that has been read."""
        return min(self._read / self._rows, 1.0) if self._rows else 1.0

    def arrow_schema(self) -> Arrow:
        """Returns the file's Arrow schema."""
        return self._file.schema_arrow

    def records(self, on_bad_row: Callable[[DataError], None]) -> Iterator[Record]:
        """Yields one record a row; values have the Python types that pyarrow gives them."""
        self._read = 0
        try:
            for batch in self._file.iter_batches(batch_size=_BATCH_ROWS):
                for data in batch.to_pylist():
                    self._read += 1
                    place = f"{self._path.name}, row {self._read}"
                    yield Record(self._read - 1, place, data)
        except (self._pa.ArrowException, OSError) as error:
            raise DataError(f"{self._path}: damaged after row {self._read}: {error}") from None
