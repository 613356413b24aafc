"""Rows as INSERT statements."""

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rewardkit.verifiers.sql._engines.base import Row

__all__ = ["insert_statements"]


def insert_statements(data: Mapping[str, Sequence[Row]]) -> str:
    r"""Returns INSERT statements for the rows of each table that has any.

    >>> insert_statements({"t": [(1, "a'b", None)], "u": []})
    'INSERT INTO "t" VALUES (1, \'a\'\'b\', NULL);'
    """
    return "\n".join(
        'INSERT INTO "{}" VALUES {};'.format(
            name.replace('"', '""'),
            ", ".join(f"({', '.join(map(_literal, row))})" for row in rows),
        )
        for name, rows in data.items()
        if rows
    )


def _literal(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float | Decimal):
        return repr(value) if not isinstance(value, Decimal) else str(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime.date | datetime.datetime):
        value = value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise TypeError(f"{type(value).__name__} is not a plain value")
