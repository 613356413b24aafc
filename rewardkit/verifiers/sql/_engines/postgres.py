"""PostgreSQL behind a DSN: every database is a scratch schema in a transaction that is rolled back.

A transaction makes the schema and its rows, turns read-only, and only then meets the query. What
the query could lift with `SET` it cannot reach: it is sent as one cursor declaration through the
extended protocol, which takes one statement, and the functions that set things are on the guard's
list. A timer here cancels it where the server's own limit is of no use.
"""

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

import psycopg
from psycopg import errors

from rewardkit.verifiers.sql._engines.base import Data, Limits, QueryError, Result, Row, Store
from rewardkit.verifiers.sql._inserts import insert_statements
from rewardkit.verifiers.sql._schema import Column, ForeignKey, Schema, Table, kind_of

__all__ = ["PostgresEngine", "PostgresStore"]

_BATCH = 256
_SAMPLES = 50
_CONNECT_S = 5
_Found = TypeVar("_Found")
_numbers = itertools.count()
_KINDS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.QueryCanceled, "timeout"),
    (errors.ReadOnlySqlTransaction, "unsafe"),
    (errors.InsufficientPrivilege, "unsafe"),
    (errors.ActiveSqlTransaction, "unsafe"),
    (errors.OutOfMemory, "memory"),
    (errors.ProgramLimitExceeded, "memory"),
    (errors.UndefinedColumn, "unknown_name"),
    (errors.UndefinedTable, "unknown_name"),
    (errors.UndefinedFunction, "unknown_name"),
    (errors.AmbiguousColumn, "unknown_name"),
    (errors.SyntaxError, "syntax"),
    (errors.SyntaxErrorOrAccessRuleViolation, "syntax"),
)


class PostgresEngine:
    """Scratch schemas on a server, or the tables of a live database.

    Args:
        schema: DDL. Without it the tables that the DSN leads to are the given data, and none is
            generated.
        rows: INSERT statements.
        dsn: where the server is; a role of its own without further rights is best.

    Raises:
        QueryError: the server is not there, or the DDL or the rows do not run.
    """

    def __init__(self, *, schema: str, rows: str, dsn: str) -> None:
        self._link = _link(dsn)
        self.ddl, self._rows = schema, rows
        try:
            with self.scratch(f"{schema};\n{rows}" if schema else "", 30.0) as connection:
                self.schema = _read_schema(connection) if schema else Schema(())
                self._given_samples = {
                    table.name: connection.execute(
                        f"SELECT * FROM {_quote(table.name)} LIMIT {_SAMPLES}".encode()
                    ).fetchall()
                    for table in self.schema.tables
                }
        except (psycopg.Error, UnicodeError, ValueError) as error:
            raise QueryError("schema", f"the schema or its rows: {error}") from None

    def given(self) -> "PostgresStore":
        """Returns the data of the reference."""
        return PostgresStore(self, f"{self.ddl};\n{self._rows}" if self.ddl else "")

    def generated(self, data: Data, /) -> tuple["PostgresStore", Data]:
        """Returns a store with these rows. One that breaks a constraint makes all of it fail."""
        rows = insert_statements(_parents_first(data, self.schema))
        store = PostgresStore(self, f"{self.ddl};\n{rows}")
        store.run("SELECT 1", Limits(), trusted=True)
        return store, data

    def samples(self) -> Data:
        """Returns some given rows of each table."""
        return self._given_samples

    def close(self) -> None:
        """The connection stays for other references."""

    @contextmanager
    def scratch(self, script: str, seconds: float) -> Iterator[psycopg.Connection[Row]]:
        """Yields a connection whose transaction has run a script and may only read from then on."""
        connection = self._link.connect()
        try:
            connection.execute(
                f"SET LOCAL statement_timeout = {int(seconds * 1000)}; "
                f"SET LOCAL lock_timeout = 1000; SET LOCAL TimeZone = 'UTC'".encode()
            )
            if script:
                name = f"rewardkit_{os.getpid()}_{next(_numbers)}"
                connection.execute(
                    f"CREATE SCHEMA {name}; SET LOCAL search_path = {name};\n{script}".encode()
                )
            connection.execute(b"SET TRANSACTION READ ONLY")
            yield connection
        finally:
            if not connection.closed:
                connection.rollback()


class _Link:
    """The one connection of a process to a server; made again when it is lost."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Row] | None = None

    def connect(self) -> psycopg.Connection[Row]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._dsn, connect_timeout=_CONNECT_S)
        return self._connection


@lru_cache(maxsize=4)
def _link(dsn: str) -> _Link:
    return _Link(dsn)


class PostgresStore:
    """One database, made anew in a transaction for each query."""

    def __init__(self, engine: PostgresEngine, script: str) -> None:
        self._engine = engine
        self._script = script

    def run(
        self, sql: str, limits: Limits, /, *, trusted: bool = False, cleared: bool = False
    ) -> Result:
        """Returns the rows of one query; see `Store`."""
        return self._inside(limits, lambda connection: _fetch(connection, sql, limits))

    def cost(self, sql: str, limits: Limits, /, *, trusted: bool = False) -> float:
        """Returns the planner's estimate of the total cost; the tables have no statistics."""
        return self._inside(limits, lambda connection: _plan_cost(connection, sql))

    def _inside(self, limits: Limits, work: Callable[[psycopg.Connection[Row]], _Found]) -> _Found:
        try:
            with self._engine.scratch(self._script, limits.seconds) as connection:
                timer = threading.Timer(limits.seconds + 0.5, connection.cancel)
                timer.daemon = True
                timer.start()
                try:
                    return work(connection)
                finally:
                    timer.cancel()
        except psycopg.Error as error:
            raise _explain(error) from None
        except (UnicodeError, ValueError, OverflowError) as error:
            raise QueryError("syntax", str(error)) from None
        except MemoryError:
            raise QueryError("memory", "the query needs too much memory") from None

    def reversed(self) -> Store | None:
        """Returns None: PostgreSQL has no switch for it."""
        return None

    def close(self) -> None:
        """Nothing stays behind a query."""


def _fetch(connection: psycopg.Connection[Row], sql: str, limits: Limits) -> Result:
    cursor = connection.cursor()
    # Binary asks for the extended protocol, which refuses a second statement behind the first.
    cursor.execute(f"DECLARE rewardkit NO SCROLL CURSOR FOR {sql}".encode(), binary=True)
    rows: list[Row] = []
    chars = 0
    names: tuple[str, ...] = ()
    while True:
        cursor.execute(f"FETCH {_BATCH} FROM rewardkit".encode(), binary=False)
        names = tuple(column.name for column in cursor.description or ())
        batch = cursor.fetchall()
        rows += batch
        chars += sum(len(v) for row in batch for v in row if isinstance(v, str | bytes))
        if len(rows) > limits.rows or chars > limits.cells_chars:
            raise QueryError("row_cap", f"more than {limits.rows:,} rows or too much text")
        if len(batch) < _BATCH:
            return Result(names, rows)


def _plan_cost(connection: psycopg.Connection[Row], sql: str) -> float:
    cursor = connection.cursor()
    cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}".encode(), binary=True)
    [row] = cursor.fetchall()
    plan = json.loads(row[0]) if isinstance(row[0], str | bytes) else row[0]
    return float(plan[0]["Plan"]["Total Cost"])


def _explain(error: psycopg.Error) -> QueryError:
    kind = next((kind for type_, kind in _KINDS if isinstance(error, type_)), "runtime")
    if isinstance(error, psycopg.OperationalError) and kind == "runtime":
        kind = "engine"
    return QueryError(kind, str(error))


_COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY c.oid, a.attnum
"""
_CONSTRAINTS = """
SELECT c.relname, k.contype::text, p.relname,
 ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS u(n, i)
       JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.i),
 ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY AS u(n, i)
       JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
LEFT JOIN pg_class p ON p.oid = k.confrelid
WHERE c.relnamespace = current_schema()::regnamespace AND k.contype IN ('p', 'u', 'f')
ORDER BY k.contype = 'u', k.oid
"""


def _read_schema(connection: psycopg.Connection[Row]) -> Schema:
    columns: dict[str, list[Column]] = {}
    for table, name, type_, nullable in connection.execute(_COLUMNS.encode()).fetchall():
        size = type_.partition("(")[2].partition(")")[0] if "char" in type_ else ""
        column = Column(name, kind_of(type_), nullable=nullable, size=int(size) if size else None)
        columns.setdefault(table, []).append(column)
    keys: dict[str, list[tuple[str, ...]]] = {}
    foreign: dict[str, list[ForeignKey]] = {}
    for table, kind, parent, mine, theirs in connection.execute(_CONSTRAINTS.encode()).fetchall():
        if kind == "f":
            foreign.setdefault(table, []).append(ForeignKey(tuple(mine), parent, tuple(theirs)))
        else:
            keys.setdefault(table, []).append(tuple(mine))
    return Schema(
        tuple(
            Table(name, tuple(found), tuple(keys.get(name, ())), tuple(foreign.get(name, ())))
            for name, found in columns.items()
        )
    )


def _parents_first(data: Data, schema: Schema) -> Data:
    """Returns the tables in an order in which each stands behind those that it refers to."""
    done: dict[str, Sequence[Row]] = {}
    waiting = list(schema.tables)
    while waiting:
        ready = [
            table
            for table in waiting
            if all(k.parent in done or k.parent == table.name for k in table.foreign)
        ] or waiting[:1]
        for table in ready:
            done[table.name] = data.get(table.name, ())
            waiting.remove(table)
    return done


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
