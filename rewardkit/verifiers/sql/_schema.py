"""Tables as the engine describes them: what generated data must respect."""

import re
from dataclasses import dataclass

__all__ = ["Column", "ForeignKey", "Kind", "Schema", "Table", "kind_of"]

Kind = str
"""One of int, real, text, date, timestamp, bool, blob."""

_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"BOOL", "bool"),
    (r"TIMESTAMP|DATETIME", "timestamp"),
    (r"DATE", "date"),
    (r"INT|SERIAL|YEAR", "int"),
    (r"CHAR|CLOB|TEXT|STRING|UUID|ENUM|JSON", "text"),
    (r"BLOB|BYTEA|BINARY", "blob"),
    (r"REAL|FLOA|DOUB|DEC|NUM|MONEY", "real"),
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    kind: Kind
    nullable: bool = True
    size: int | None = None
    """Most characters of a text, where the type says so."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns whose values must be in the columns of a parent."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table with its constraints. CHECK is left to the engine, which refuses such rows."""

    name: str
    columns: tuple[Column, ...]
    keys: tuple[tuple[str, ...], ...] = ()
    """The primary key first, then each UNIQUE."""
    foreign: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database, in the order in which they were made."""

    tables: tuple[Table, ...]

    def find(self, name: str) -> Table | None:
        """Returns the table of this name, whatever its case."""
        wanted = name.lower()
        return next((table for table in self.tables if table.name.lower() == wanted), None)

    def column_names(self) -> frozenset[str]:
        """Returns the names of all columns, in lower case."""
        return frozenset(c.name.lower() for table in self.tables for c in table.columns)


def kind_of(declared: str) -> Kind:
    """Returns what values a declared type holds.

    >>> kind_of("VARCHAR(40)"), kind_of("double precision"), kind_of("DATE")
    ('text', 'real', 'date')
    """
    name = declared.upper()
    return next((kind for pattern, kind in _KINDS if re.search(pattern, name)), "text")
