"""JSON lines and JSON arrays, plain or gzipped, read as a stream."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from rewardkit.datasets.rows import Record
from rewardkit.errors import DataError

__all__ = ["JsonFile", "decode_object"]

# strict=False: control characters inside strings, NUL too, are read as they are.
_DECODER = json.JSONDecoder(strict=False)
_CHUNK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def decode_object(line: bytes, place: str) -> dict[str, object]:
    """Returns the JSON object that one line holds.

    Lone surrogates are kept, escaped or raw: model output holds them.

    Raises:
        DataError: the line is not one JSON object in UTF-8.
    """
    try:
        value = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: not UTF-8 text (byte {error.start} of the line)") from None
    except RecursionError:
        raise DataError(f"{place}: the JSON is nested too deep") from None
    except ValueError as error:  # JSONDecodeError, and integers beyond Python's digit limit
        raise DataError(f"{place}: not valid JSON: {error}") from None
    return _check_object(value, place)


def _check_object(value: object, place: str) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise DataError(f"{place}: a row must be a JSON object, not a {type(value).__name__}")


class JsonFile:
    """A `.jsonl`, `.ndjson` or `.json` file, also gzipped.

    A `.json` file may hold one array of objects, or one object a line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = max(path.stat().st_size, 1)
        self._read: Callable[[], int] = lambda: 0

    def fraction(self) -> float:
        """Returns the share of the file's bytes that has been read."""
        return min(self._read() / self._bytes, 1.0)

    def arrow_schema(self) -> None:
        """Returns None: JSON has no schema."""

    def records(self, on_bad_row: Callable[[DataError], None]) -> Iterator[Record]:
        """Yields one record a line, or one an element of the array."""
        try:
            with self._path.open("rb") as raw:
                self._read = lambda: self._bytes if raw.closed else raw.tell()
                zipped = self._path.suffix.lower() == ".gz"
                stream = gzip.GzipFile(fileobj=raw) if zipped else raw
                yield from self._stream_records(stream, on_bad_row)  # type: ignore[arg-type]
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise DataError(f"{self._path}: the gzip data is damaged or cut off: {error}") from None
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read: {error.strerror or error}") from None

    def _stream_records(
        self, stream: BinaryIO, on_bad_row: Callable[[DataError], None]
    ) -> Iterator[Record]:
        first = stream.readline()
        if first.startswith(_UTF16_BOMS):
            raise DataError(f"{self._path}: this is UTF-16 text; convert it to UTF-8 first.")
        first = first.removeprefix(_BOM)
        name = self._path.name.lower().removesuffix(".gz")
        blank_lines = 0
        while name.endswith(".json") and first.isspace():
            blank_lines += 1
            first = stream.readline()
        if name.endswith(".json") and first.lstrip().startswith(b"["):
            yield from self._array_records(first, stream, blank_lines, on_bad_row)
        else:
            yield from self._line_records(first, stream, blank_lines, on_bad_row)

    def _line_records(
        self,
        first: bytes,
        stream: BinaryIO,
        blank_lines: int,
        on_bad_row: Callable[[DataError], None],
    ) -> Iterator[Record]:
        position, line, number = 0, first, 1 + blank_lines
        while line:
            if not line.isspace():
                place = f"{self._path.name}:{number}"
                try:
                    data = decode_object(line, place)
                except DataError as error:
                    on_bad_row(error)
                else:
                    yield Record(position, place, data)
                position += 1
            line = stream.readline()
            number += 1

    def _array_records(
        self,
        first: bytes,
        stream: BinaryIO,
        blank_lines: int,
        on_bad_row: Callable[[DataError], None],
    ) -> Iterator[Record]:
        reader = _ArrayReader(self._path.name, first, stream, blank_lines)
        for position, (value, place) in enumerate(reader):
            try:
                data = _check_object(value, place)
            except DataError as error:
                on_bad_row(error)
            else:
                yield Record(position, place, data)


class _ArrayReader:
    """Reads the elements of one JSON array without holding the array.

    JSON cannot be picked up again after a broken element, so a syntax error ends the reading
    whatever is done about bad rows.
    """

    def __init__(self, name: str, first: bytes, stream: BinaryIO, blank_lines: int) -> None:
        self._name = name
        self._stream = stream
        self._decode = _Utf8Decoder(name)
        self._text = self._decode(first, final=False)
        self._line = 1 + blank_lines
        self._at = self._text.index("[") + 1
        self._ended = False

    def __iter__(self) -> Iterator[tuple[object, str]]:
        if self._peek() == "]":
            self._check_end()
            return
        while True:
            self._peek()
            self._drop_read()
            place = f"{self._name}:{self._line}"
            yield self._element(place), place
            mark = self._peek()
            self._at += 1
            if mark == "]":
                self._at -= 1
                self._check_end()
                return
            if mark != ",":
                raise DataError(f"{self._name}:{self._line}: expected ',' or ']' in the JSON array")

    def _check_end(self) -> None:
        self._at += 1
        if self._peek():
            self._drop_read()
            raise DataError(f"{self._name}:{self._line}: text after the end of the JSON array")

    def _more(self, size: int = _CHUNK_BYTES) -> bool:
        data = self._stream.read(size)
        self._ended = not data
        self._text += self._decode(data, final=self._ended)
        return not self._ended

    def _peek(self) -> str:
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _drop_read(self) -> None:
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :], 0

    def _element(self, place: str) -> object:
        size = _CHUNK_BYTES
        while True:
            try:
                value, self._at = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise DataError(f"{place}: the JSON is nested too deep") from None
            except ValueError as error:
                # Cut off or broken: only the end of the file tells. Twice as much each time, so
                # that a long element costs linear time.
                if not self._more(size):
                    raise DataError(f"{place}: not valid JSON: {error}") from None
                size *= 2
            else:
                return value


class _Utf8Decoder:
    """Decodes UTF-8 in pieces; lone surrogates are kept, other bytes are an error."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""

    def __call__(self, data: bytes, *, final: bool) -> str:
        data = self._rest + data
        cut = len(data) if final else _last_boundary(data)
        self._rest = data[cut:]
        try:
            return data[:cut].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DataError(f"{self._name}: not UTF-8 text: {error.reason}") from None


def _last_boundary(data: bytes) -> int:
    """Returns where the last character that may be cut off begins."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return len(data)
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) if back >= length else len(data) - back
    return len(data)
