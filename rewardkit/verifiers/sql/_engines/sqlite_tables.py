"""What a SQLite database says of its tables."""

import sqlite3

from rewardkit.verifiers.sql._engines.base import Data, Row
from rewardkit.verifiers.sql._schema import Column, ForeignKey, Schema, Table, kind_of

__all__ = ["decode", "quote", "read_ddl", "read_samples", "read_schema", "select_all"]

_SAMPLES = 50


def read_ddl(connection: sqlite3.Connection) -> str:
    """Returns the DDL of a database's tables and views."""
    made = connection.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        "AND type IN ('table', 'view') ORDER BY rowid"
    )
    return ";\n".join(str(row[0]) for row in made)


def read_schema(connection: sqlite3.Connection) -> Schema:
    """Returns the tables of a database."""
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY rowid"
    ).fetchall()
    return Schema(tuple(_read_table(connection, str(row[0])) for row in names))


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    # Generated columns are hidden here (2, 3) and cannot be inserted.
    told = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
    info = [row for row in told if row[6] == 0]
    primary = tuple(r[1] for r in sorted((r for r in info if r[5]), key=lambda r: r[5]))
    columns = tuple(
        Column(
            row[1],
            kind_of(row[2] or "TEXT"),
            nullable=not (row[3] or (primary == (row[1],) and "INT" in (row[2] or "").upper())),
        )
        for row in info
    )
    unique = [
        tuple(
            r[0] for r in connection.execute("SELECT name FROM pragma_index_info(?)", (index[1],))
        )
        for index in connection.execute("SELECT * FROM pragma_index_list(?)", (name,)).fetchall()
        if index[2] and not index[4]
    ]
    keys = dict.fromkeys(k for k in ((primary,) if primary else ()) + tuple(unique) if all(k))
    return Table(name, columns, tuple(keys), _read_foreign(connection, name))


def _read_foreign(connection: sqlite3.Connection, name: str) -> tuple[ForeignKey, ...]:
    found: dict[int, list[tuple[str, str, str | None]]] = {}
    for row in connection.execute("SELECT * FROM pragma_foreign_key_list(?)", (name,)).fetchall():
        found.setdefault(row[0], []).append((row[3], row[2], row[4]))
    keys = []
    for parts in found.values():
        parent = parts[0][1]
        targets = tuple(part[2] for part in parts if part[2] is not None)
        if not targets:
            primary = connection.execute(
                "SELECT name FROM pragma_table_info(?) WHERE pk ORDER BY pk", (parent,)
            )
            targets = tuple(str(row[0]) for row in primary)
        if len(targets) == len(parts):
            keys.append(ForeignKey(tuple(part[0] for part in parts), parent, targets))
    return tuple(keys)


def read_samples(connection: sqlite3.Connection, schema: Schema) -> Data:
    """Returns some rows of each table."""
    connection.text_factory = decode
    return {table.name: select_all(connection, table, _SAMPLES) for table in schema.tables}


def select_all(connection: sqlite3.Connection, table: Table, limit: int = -1) -> list[Row]:
    """Returns the rows of a table, the first `limit` of them if that is not negative."""
    names = ", ".join(quote(column.name) for column in table.columns)
    return connection.execute(
        f"SELECT {names} FROM {quote(table.name)} LIMIT ?", (limit,)
    ).fetchall()


def decode(data: bytes) -> str:
    """Returns text that may not be UTF-8."""
    return data.decode(errors="surrogateescape")


def quote(name: str) -> str:
    """Returns a name in quotes."""
    return '"' + name.replace('"', '""') + '"'
