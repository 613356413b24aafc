"""Writes rows as JSON lines or Parquet, by the name of the file."""

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rewardkit.datasets._values import plain_json
from rewardkit.errors import DataError

__all__ = ["check_writable_name", "encode_line", "write_rows"]

_JSON_LINES = (".jsonl", ".ndjson")
_ZIPPED = (".jsonl.gz", ".ndjson.gz")


def encode_line(row: Mapping[str, Any]) -> bytes:
    r"""Returns a row as one line of JSON in UTF-8, with its newline.

    Text stays readable; a row that holds lone surrogates is written with escapes instead, so that
    nothing is lost and the line is valid UTF-8.

    >>> encode_line({"completion": "½"})
    b'{"completion": "\xc2\xbd"}\n'
    """
    try:
        return json.dumps(row, ensure_ascii=False, default=plain_json).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row, default=plain_json).encode() + b"\n"


def check_writable_name(path: Path) -> None:
    """Checks that rows can be written under this name.

    Raises:
        DataError: the suffix is not one of .jsonl, .ndjson (each also .gz), .parquet.
    """
    if not path.name.lower().endswith((*_JSON_LINES, *_ZIPPED, ".parquet")):
        raise DataError(
            f"{path}: the name must end in .jsonl, .ndjson (each also .gz) or .parquet, "
            "so that the format is clear."
        )
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; name a file.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist; create it first.")


def write_rows(
    path: Path | str,
    rows: Iterable[Mapping[str, Any]] | Callable[[], Iterator[Mapping[str, Any]]],
    *,
    schema: Mapping[str, Any] | None = None,
) -> None:
    """Writes rows to a file; it appears under its name only when it is complete.

    Parquet needs the rows twice, to find the type of each column first: give a function that
    returns a fresh iterator where they do not fit in memory. A column that mixes types is written
    as JSON text, and lone surrogates, which Parquet cannot hold, become U+FFFD.

    Args:
        path: the suffix says the format: .jsonl, .ndjson (each also .gz), .parquet.
        rows: the rows, or a function that yields them anew at each call.
        schema: known Arrow types by column, for Parquet; the others are found.

    Raises:
        DataError: the name has another suffix, or the file cannot be written.
    """
    file = Path(path)
    check_writable_name(file)
    part = file.with_name(f"{file.name}.part")
    try:
        if file.suffix.lower() == ".parquet":
            from rewardkit.datasets._parquet_out import write_parquet

            again = rows if callable(rows) else list(rows).__iter__
            write_parquet(part, again, schema or {})
        else:
            _write_lines(
                part, rows() if callable(rows) else rows, zipped=file.suffix.lower() == ".gz"
            )
        os.replace(part, file)
    except OSError as error:
        raise DataError(f"{file}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _write_lines(part: Path, rows: Iterable[Mapping[str, Any]], *, zipped: bool) -> None:
    # mtime=0: the same rows give the same bytes.
    with part.open("wb") as raw:
        if not zipped:
            raw.writelines(encode_line(row) for row in rows)
            return
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream:
            stream.writelines(encode_line(row) for row in rows)
