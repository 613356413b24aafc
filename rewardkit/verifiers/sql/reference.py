"""References: plain JSON read into a task."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers.sql._inserts import insert_statements

__all__ = ["DIALECTS", "Policy", "Task", "read_reference"]

DIALECTS = (
    *("sqlite", "duckdb", "postgres", "mysql", "bigquery", "snowflake", "tsql", "oracle"),
    *("redshift", "spark", "hive", "presto", "trino", "clickhouse", "databricks"),
)
_ALIASES = {"postgresql": "postgres", "sqlite3": "sqlite", "mssql": "tsql", "mariadb": "mysql"}
_KEYS = frozenset(
    "sql gold query schema ddl rows inserts database db_path dsn expected columns dialect "
    "order_matters column_order extra_columns duplicates ties tie_key tolerance opts id db_id "
    "question".split()
)
_CHOICES = {
    "column_order": ("positional", "any"),
    "extra_columns": ("reject", "allow"),
    "duplicates": ("count", "ignore"),
    "ties": ("permute", "exact"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How two results are compared."""

    order_matters: bool | None = None
    """None: if the reference has an ORDER BY at its top level."""
    column_order: str = "positional"
    """"positional", or "any": some permutation of the columns fits on every database."""
    extra_columns: str = "reject"
    """"reject", or "allow": the prediction may have columns besides those of the reference."""
    duplicates: str = "count"
    """"count" (bags), or "ignore" (sets)."""
    ties: str = "permute"
    """"permute": rows that the reference's ORDER BY leaves equal may change places; or "exact"."""
    tie_key: tuple[int, ...] | None = None
    """Positions of the columns by which the result is ordered; None: read from the ORDER BY."""
    tolerance: float = 1e-9
    """Two numbers are equal within this, absolute or relative; integers only if they are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A reference that was read. Hashable: what is prepared for it is kept under it."""

    sql: tuple[str, ...]
    """The acceptable queries; empty if only rows are expected."""
    dialect: str
    schema: str = ""
    rows: str = ""
    database: str | None = None
    stamp: tuple[int, int] | None = None
    """Time and size of the database file: what was prepared for another state of it is not used."""
    dsn: str | None = None
    expected: tuple[tuple[Any, ...], ...] | None = None
    policy: Policy = Policy()


def read_reference(
    reference: Json, *, dialect: str, dsn: str | None = None, tolerance: float = 1e-9
) -> Task:
    """Returns the task that a reference describes.

    Args:
        reference: an object with `sql` (text or list of texts) or `expected` (rows), and with
            `schema` and `rows`, or `database`, or `dsn`; see docs/verifiers/sql.md.
        dialect: where the reference names none.
        dsn: where the reference names none.
        tolerance: where the reference names none.

    Raises:
        InvalidReferenceError: a part is missing or of another shape; it is named.
    """
    if not isinstance(reference, Mapping):
        raise InvalidReferenceError(
            f"a SQL reference is an object with 'sql' and 'schema', not {type(reference).__name__}"
        )
    unknown = sorted(set(map(str, reference)) - _KEYS)
    if unknown:
        raise InvalidReferenceError(f"a SQL reference has no {unknown[0]!r}; it has {_shown()}")
    options = dict(reference)
    extra = options.pop("opts", None)
    if isinstance(extra, Mapping):
        options |= extra
    named = _text(options, "dialect") or dialect
    database, stamp = _database(_text(options, "database", "db_path"))
    task = Task(
        sql=_queries(options),
        dialect=_dialect(named),
        schema=_text(options, "schema", "ddl"),
        rows=_rows(options.get("rows", options.get("inserts"))),
        database=database,
        stamp=stamp,
        dsn=_text(options, "dsn") or dsn,
        expected=_expected(options.get("expected")),
        policy=_policy(options, tolerance),
    )
    if not task.sql and task.expected is None:
        raise InvalidReferenceError("a SQL reference has 'sql' or 'expected' rows")
    if not (task.schema.strip() or task.database or task.dsn):
        raise InvalidReferenceError(
            "a SQL reference has 'schema' (DDL), a 'database' file or a 'dsn'"
        )
    return task


def _shown() -> str:
    return "sql, schema, rows, database, dsn, expected, dialect, order_matters and policies"


def _text(options: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = options.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise InvalidReferenceError(f"{name!r} is text, not {type(value).__name__}")
        return value
    return ""


def _dialect(name: str) -> str:
    known = _ALIASES.get(name.lower(), name.lower())
    if known not in DIALECTS:
        raise InvalidReferenceError(f"'dialect' is one of {', '.join(DIALECTS)}, not {name!r}")
    return known


def _queries(options: Mapping[str, Any]) -> tuple[str, ...]:
    found = next((options[k] for k in ("sql", "gold", "query") if options.get(k) is not None), ())
    queries = (found,) if isinstance(found, str) else tuple(found)
    if not all(isinstance(query, str) and query.strip() for query in queries):
        raise InvalidReferenceError("'sql' is a query, or a list of queries, none of them empty")
    return queries


def _rows(rows: object) -> str:
    if rows is None or isinstance(rows, str):
        return rows or ""
    if isinstance(rows, Mapping):
        with contextlib.suppress(TypeError):
            return insert_statements({str(k): [tuple(r) for r in v] for k, v in rows.items()})
    raise InvalidReferenceError("'rows' is INSERT statements, or rows by table name")


def _expected(rows: object) -> tuple[tuple[Any, ...], ...] | None:
    if rows is None:
        return None
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        made = [
            tuple(row) for row in rows if isinstance(row, Sequence) and not isinstance(row, str)
        ]
        scalar = all(v is None or isinstance(v, str | int | float) for row in made for v in row)
        if len(made) == len(rows) and scalar:
            return tuple(made)
    raise InvalidReferenceError("'expected' is a list of rows, each a list of plain values")


def _database(path: str) -> tuple[str | None, tuple[int, int] | None]:
    if not path:
        return None, None
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise InvalidReferenceError(f"'database' cannot be read: {error}") from None
    return path, (found.st_mtime_ns, found.st_size)


def _policy(options: Mapping[str, Any], tolerance: float) -> Policy:
    values: dict[str, Any] = {"tolerance": options.get("tolerance", tolerance)}
    for name, choices in _CHOICES.items():
        if options.get(name) is None:
            continue
        if options[name] not in choices:
            raise InvalidReferenceError(f"{name!r} is one of {choices}, not {options[name]!r}")
        values[name] = options[name]
    order = options.get("order_matters")
    if order is not None and not isinstance(order, bool):
        raise InvalidReferenceError(f"'order_matters' is true, false or null, not {order!r}")
    key = options.get("tie_key")
    if key is not None:
        if not isinstance(key, list | tuple) or not all(type(i) is int and i >= 0 for i in key):
            raise InvalidReferenceError("'tie_key' is a list of column positions from 0")
        values["tie_key"] = tuple(key)
    if not isinstance(values["tolerance"], int | float) or not 0 <= values["tolerance"] < 1:
        raise InvalidReferenceError("'tolerance' is a number in [0, 1)")
    return Policy(order_matters=order, **values)
