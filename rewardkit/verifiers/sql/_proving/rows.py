"""Rows of tables from a model of z3: a database on which two queries may differ."""

from collections.abc import Mapping, Sequence
from typing import Any

import z3

from rewardkit.verifiers.sql._engines.base import Data, Row
from rewardkit.verifiers.sql._proving.blocks import Occurrence, Unsupported
from rewardkit.verifiers.sql._proving.values import Formula, variable
from rewardkit.verifiers.sql._schema import Column, ForeignKey, Schema, Table

__all__ = ["read_rows"]

_FILL: Mapping[str, Any] = {
    "int": 1, "real": 1.0, "text": "a", "date": "2024-01-01", "timestamp": "2024-01-01 00:00:00",
    "bool": 1, "blob": b"a",
}  # fmt: skip


def read_rows(
    model: Formula,
    occurrences: Sequence[Occurrence],
    texts: Mapping[str, Formula],
    schema: Schema,
) -> Data:
    """Returns one row for each table of a pairing, with the parents that they ask for.

    Args:
        model: of z3.
        occurrences: the tables.
        texts: constants of text literals.
        schema: of all tables.
    """
    places = sorted((_fraction(model, place), text) for text, place in texts.items())
    found: dict[str, list[Row]] = {table.name: [] for table in schema.tables}
    for one in occurrences:
        row = tuple(_value(model, one, column, places) for column in one.table.columns)
        if row not in found[one.table.name]:
            found[one.table.name].append(row)
    for _ in schema.tables:
        for table in schema.tables:
            for key in table.foreign:
                _add_parents(table, key, found, schema)
    return found


def _value(
    model: Formula,
    one: Occurrence,
    column: Column,
    places: Sequence[tuple[float, str]],
) -> Any:  # noqa: ANN401
    try:
        term = variable(one.number, one, column)
    except Unsupported:
        return _FILL[column.kind]
    if z3.is_true(model.eval(term.null, model_completion=True)):
        return None
    number = _fraction(model, term.value)
    if term.kind == "text":
        return _text(number, places) if places else _FILL[column.kind]
    return int(number) if term.kind == "int" else number


def _fraction(model: Formula, value: Formula) -> float:
    found = model.eval(value, model_completion=True)
    if z3.is_int_value(found):
        return float(found.as_long())
    return float(found.as_fraction()) if z3.is_rational_value(found) else 0.0


def _text(place: float, places: Sequence[tuple[float, str]]) -> str:
    """Returns a text at a place among the literals: one of them, or one right behind or before."""
    for known, text in places:
        if place == known:
            return text
    below = [text for known, text in places if known < place]
    if not below:
        return ""
    # What is behind a text and before the next one begins with it; the place tells equals apart.
    return f"{below[-1]}{chr(33 + hash(place) % 5)}"


def _add_parents(
    table: Table, key: ForeignKey, found: dict[str, list[Row]], schema: Schema
) -> None:
    parent = schema.find(key.parent)
    if parent is None:
        return
    names = [column.name.lower() for column in table.columns]
    theirs = [column.name.lower() for column in parent.columns]
    try:
        mine = [names.index(name.lower()) for name in key.columns]
        other = [theirs.index(name.lower()) for name in key.parent_columns]
    except ValueError:
        return
    there = {tuple(row[i] for i in other) for row in found[parent.name]}
    for row in found[table.name]:
        wanted = tuple(row[i] for i in mine)
        if None in wanted or wanted in there:
            continue
        made = [_FILL[column.kind] for column in parent.columns]
        for i, value in zip(other, wanted, strict=True):
            made[i] = value
        there.add(wanted)
        found[parent.name].append(tuple(made))
