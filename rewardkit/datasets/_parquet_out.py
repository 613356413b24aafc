"""Parquet out: finds the type of each column, then writes in batches."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rewardkit.datasets._parquet import Arrow, load_pyarrow
from rewardkit.datasets._values import plain_json, replace_surrogates

__all__ = ["write_parquet"]

_BATCH_ROWS = 1024
_ROW_GROUP_BYTES = 16 * 2**20
"""Small groups make a file that is slow to read, large ones are held in memory."""
_Rows = Iterable[Mapping[str, Any]]


class _UnfitColumnError(Exception):
    """A value that does not fit the type found for its column."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def write_parquet(
    path: Path, rows: Callable[[], Iterator[Mapping[str, Any]]], known: Mapping[str, Any]
) -> None:
    """Writes rows to a Parquet file in two passes, in memory that does not grow with their number.

    A column whose values fit no common type is written as JSON text.

    Args:
        path: the file to write.
        rows: yields the rows anew at each call.
        known: Arrow types by column; the others are found in the first pass.
    """
    pa = load_pyarrow()
    types = _find_types(pa, rows(), known)
    while True:
        try:
            _write_once(pa, path, rows(), types)
        except _UnfitColumnError as error:
            # Types that unify may still not hold every value: 2**60 does not fit a float.
            types[error.name] = None
        else:
            return


def _write_once(pa: Arrow, path: Path, rows: _Rows, types: Mapping[str, Any]) -> None:
    parquet = load_pyarrow("pyarrow.parquet")
    schema = pa.schema([(name, kind or pa.string()) for name, kind in types.items()])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        group: list[Any] = []
        for chunk in _chunks(rows):
            arrays = [_column(pa, name, kind, chunk) for name, kind in types.items()]
            group.append(pa.Table.from_arrays(arrays, schema=schema))
            if sum(table.nbytes for table in group) >= _ROW_GROUP_BYTES:
                writer.write_table(pa.concat_tables(group))
                group = []
        if group:
            writer.write_table(pa.concat_tables(group))


def _column(pa: Arrow, name: str, kind: Arrow, rows: list[Mapping[str, Any]]) -> Arrow:
    if kind is None:
        texts = [json.dumps(row[name], default=plain_json) if name in row else None for row in rows]
        return pa.array(texts, pa.string())
    try:
        return _array(pa, [row.get(name) for row in rows], kind)
    except _unfit_errors(pa):
        raise _UnfitColumnError(name) from None


def _array(pa: Arrow, values: list[Any], kind: Arrow = None) -> Arrow:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([replace_surrogates(value) for value in values], kind)


def _unfit_errors(pa: Arrow) -> tuple[type[Exception], ...]:
    return (pa.ArrowException, OverflowError, TypeError, ValueError)


def _chunks(rows: _Rows) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, _BATCH_ROWS)):
        yield chunk


def _find_types(pa: Arrow, rows: _Rows, known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an Arrow type for each column in the order of appearance, None for JSON text."""
    types: dict[str, Any] = {}
    for chunk in _chunks(rows):
        for name in dict.fromkeys(name for row in chunk for name in row):
            if name in known:
                types.setdefault(name, known[name])
            elif types.get(name, pa.null()) is not None:
                found = _infer_type(pa, [row.get(name) for row in chunk])
                types[name] = _unify_types(pa, types.get(name, pa.null()), found)
    return {name: kind if _is_storable(pa, kind) else None for name, kind in types.items()}


def _infer_type(pa: Arrow, values: list[Any]) -> Arrow:
    try:
        return _array(pa, values).type
    except _unfit_errors(pa):
        return None


def _unify_types(pa: Arrow, first: Arrow, second: Arrow) -> Arrow:
    if second is None or first.equals(second):
        return second
    try:
        pair = [pa.schema([("column", first)]), pa.schema([("column", second)])]
        return pa.unify_schemas(pair, promote_options="permissive").field("column").type
    except pa.ArrowException:
        return None


def _is_storable(pa: Arrow, kind: Arrow) -> bool:
    """Returns whether Parquet can store a type: not an object without any field."""
    if kind is None or (pa.types.is_struct(kind) and kind.num_fields == 0):
        return False
    return all(_is_storable(pa, kind.field(i).type) for i in range(kind.num_fields))
