"""Labels that people gave, in a file that only grows: what was given is never lost.

Each label is one line of JSON and is on the disk before `append` returns. A kill leaves at most a
torn last line, which the next opening cuts off.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rewardkit.datasets._json import decode_object
from rewardkit.errors import ConfigError, DataError

__all__ = ["Judgement", "Label", "LabelJournal", "read_labels"]


class Judgement(StrEnum):
    """What a person says of a completion."""

    RIGHT = "right"
    WRONG = "wrong"
    UNSURE = "unsure"
    """It cannot be told: counted, and left out of every rate."""


@dataclass(frozen=True, slots=True)
class Label:
    """One judgement of one row by one person."""

    row_id: str
    judgement: Judgement
    annotator: str
    at: str = ""
    """When it was given, in ISO 8601; empty where that is not known."""

    def to_line(self) -> bytes:
        """Returns the label as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def read_labels(path: Path | str) -> Iterator[Label]:
    """Yields the labels of a journal in the order in which they were given.

    A torn last line, as a kill leaves it, is passed over.

    Raises:
        DataError: the file cannot be read, or a line is damaged.
    """
    file = Path(path)
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None
    for number, line in enumerate(lines, 1):
        yield _label(decode_object(line, f"{file.name}:{number}"), f"{file.name}:{number}")


def _label(data: dict[str, Any], place: str) -> Label:
    try:
        label = Label(
            data["row_id"], Judgement(data["judgement"]), data["annotator"], data.get("at", "")
        )
    except (KeyError, ValueError) as error:
        raise DataError(f"{place}: not a label: {error!r}") from None
    if not all(isinstance(text, str) for text in (label.row_id, label.annotator, label.at)):
        raise DataError(f"{place}: not a label: row_id, annotator and at are texts")
    return label


class LabelJournal:
    """An open journal; one process writes it at a time.

    Args:
        path: of the journal; made if it is not there.

    Raises:
        ConfigError: another process is writing it.
        DataError: it cannot be written, or a line of it is damaged.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from None
        try:
            _lock(self._file.fileno(), self.path)
            whole = self.path.read_bytes()
            self._file.truncate(whole.rfind(b"\n") + 1)
            self.labels = list(read_labels(self.path))
        except BaseException:
            self._file.close()
            raise

    def append(self, label: Label) -> None:
        """Writes a label; it is on the disk when this returns.

        Raises:
            DataError: it cannot be written.
        """
        line = label.to_line()
        try:
            if self._file.write(line) != len(line):
                raise OSError("the disk is full")
            os.fsync(self._file.fileno())
        except OSError as error:
            raise DataError(f"{self.path}: the label is not saved: {error}.") from None
        self.labels.append(label)

    def close(self) -> None:
        """Closes the file and lets other processes write it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(descriptor: int, path: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(f"{path}: another labelling page is writing it; close that.") from None
