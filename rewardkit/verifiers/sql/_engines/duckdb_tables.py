"""What DuckDB says of the tables of a schema."""

from collections.abc import Sequence

import duckdb

from rewardkit.verifiers.sql._engines.base import Row
from rewardkit.verifiers.sql._schema import Column, ForeignKey, Schema, Table, kind_of

__all__ = ["quote", "read_schema"]


def read_schema(connection: duckdb.DuckDBPyConnection, home: str) -> Schema:
    """Returns the tables of a schema."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE schema_name = ? AND NOT internal ORDER BY table_oid, column_index",
        [home],
    ).fetchall()
    constraints = connection.execute(
        "SELECT table_name, constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() WHERE schema_name = ? "
        "ORDER BY table_oid, constraint_index",
        [home],
    ).fetchall()
    columns: dict[str, list[Column]] = {}
    for table, name, type_, nullable in rows:
        columns.setdefault(table, []).append(Column(name, kind_of(type_), nullable=bool(nullable)))
    return Schema(tuple(_table(name, tuple(found), constraints) for name, found in columns.items()))


def _table(name: str, columns: tuple[Column, ...], constraints: Sequence[Row]) -> Table:
    keys: list[tuple[str, ...]] = []
    foreign: list[ForeignKey] = []
    for table, kind, names, parent, parent_names in constraints:
        if table != name:
            continue
        if kind == "PRIMARY KEY":
            keys.insert(0, tuple(names))
        elif kind == "UNIQUE":
            keys.append(tuple(names))
        elif kind == "FOREIGN KEY":
            foreign.append(ForeignKey(tuple(names), parent, tuple(parent_names)))
    return Table(name, columns, tuple(keys), tuple(foreign))


def quote(name: str) -> str:
    """Returns a name in quotes."""
    return '"' + name.replace('"', '""') + '"'
