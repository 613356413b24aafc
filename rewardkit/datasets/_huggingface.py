"""Hugging Face datasets on disk, read a batch at a time."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rewardkit._install import install_command
from rewardkit.datasets._parquet import Arrow
from rewardkit.datasets.rows import Record
from rewardkit.errors import DataError, EngineMissingError

__all__ = ["HuggingFaceFile"]

_BATCH_ROWS = 256


class HuggingFaceFile:
    """A folder that `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote."""

    def __init__(self, path: Path, *, split: str | None) -> None:
        self._path = path
        # Looked at before the library is loaded: a wrong folder needs no engine to be refused.
        if not any((path / name).exists() for name in ("dataset_dict.json", "state.json")):
            raise DataError(
                f"{path}: a folder that Dataset.save_to_disk did not write. Name a data file in it."
            )
        try:
            library: Any = importlib.import_module("datasets")
        except ImportError:
            raise EngineMissingError("datasets", install_command("data")) from None
        try:
            loaded = library.load_from_disk(str(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: not a readable Hugging Face dataset: {error}") from None
        self._data = _choose_split(loaded, split, path)
        self._read = 0

    def fraction(self) -> float:
        """Returns the share of the rows that has been read."""
        return min(self._read / len(self._data), 1.0) if len(self._data) else 1.0

    def arrow_schema(self) -> Arrow:
        """Returns the Arrow schema of the dataset's features."""
        return self._data.features.arrow_schema

    def records(self, on_bad_row: Callable[[DataError], None]) -> Iterator[Record]:
        """Yields one record a row; images and audio stay undecoded."""
        self._read = 0
        for table in self._data.with_format("arrow").iter(batch_size=_BATCH_ROWS):
            for data in table.to_pylist():
                self._read += 1
                yield Record(self._read - 1, f"{self._path.name}, row {self._read}", data)


def _choose_split(loaded: Arrow, split: str | None, path: Path) -> Arrow:
    if not isinstance(loaded, dict):
        if split is not None and str(loaded.split) != split:
            raise DataError(f"{path}: this is the split {loaded.split}; leave --split away.")
        return loaded
    names = ", ".join(sorted(loaded))
    if split is None and len(loaded) == 1:
        return next(iter(loaded.values()))
    if split is None:
        raise DataError(f"{path}: there are several splits: {names}. Choose one with --split.")
    if split not in loaded:
        raise DataError(f"{path}: no split {split!r}; there are: {names}.")
    return loaded[split]
