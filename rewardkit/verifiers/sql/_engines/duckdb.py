"""DuckDB in the worker's process: one thread, no files, no network, configuration locked."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb

from rewardkit.verifiers.sql._engines.base import Data, Limits, QueryError, Result, Row, Store
from rewardkit.verifiers.sql._engines.duckdb_tables import quote, read_schema
from rewardkit.verifiers.sql._schema import Table

__all__ = ["DuckdbEngine", "DuckdbStore"]

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "memory_limit": "256MB",
    "max_temp_directory_size": "0KB",
    "threads": "1",
}
_SETUP = (
    "SET TimeZone = 'UTC'; SET enable_progress_bar = false; SET integer_division = {}; "
    "SET lock_configuration = true"
)
_BATCH = 256
_PROFILE = "EXPLAIN (ANALYZE, FORMAT JSON)"
_COUNTS = ("intermediate_rows", "rows_scanned", "operator_cardinality", "operator_rows_scanned")
"""What a profile counts; the last two are DuckDB 1's names of the first two."""
_SAMPLES = 50
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (duckdb.InterruptException, "timeout"),
    (duckdb.OutOfMemoryException, "memory"),
    (duckdb.FatalException, "engine_crash"),
    (duckdb.InternalException, "engine_crash"),
    (duckdb.PermissionException, "unsafe"),
    (duckdb.ParserException, "syntax"),
    (duckdb.SyntaxException, "syntax"),
    (duckdb.CatalogException, "unknown_name"),
    (duckdb.BinderException, "unknown_name"),
    (duckdb.TransactionException, "unsafe"),
)


class DuckdbEngine:
    """DuckDB databases of one schema: each is a schema of its own in one connection.

    Args:
        schema: DDL, or "" where `database` is given.
        rows: INSERT statements of the given data.
        database: path of a database file, opened for reading only.
        whole_quotients: `/` of two integers is an integer, as where the queries come from.

    Raises:
        QueryError: the DDL or the rows do not run.
    """

    def __init__(
        self, *, schema: str, rows: str, database: str | None = None, whole_quotients: bool = False
    ) -> None:
        self.ddl = schema
        self._count = 0
        try:
            self.connection = duckdb.connect(
                database or ":memory:", read_only=database is not None, config=_CONFIG
            )
            self.connection.execute(_SETUP.format(str(whole_quotients).lower()))
            self._home = self._one("SELECT current_schema()")
            if database is None:
                self._home = self._open_schema()
                self.connection.execute(f"{schema};\n{rows}")
            self.schema = read_schema(self.connection, self._home)
            self._given_samples = {
                table.name: self.connection.execute(
                    f"SELECT * FROM {quote(table.name)} LIMIT {_SAMPLES}"
                ).fetchall()
                for table in self.schema.tables
            }
        except (duckdb.Error, UnicodeError, ValueError) as error:
            raise QueryError("schema", f"the schema or its rows: {error}") from None
        self._writable = database is None and bool(schema)

    def given(self) -> "DuckdbStore":
        """Returns the data of the reference."""
        return DuckdbStore(self, self._home)

    def backwards(self, name: str) -> "DuckdbStore":
        """Returns a copy of a store's schema whose rows were inserted in the other order."""
        if not self._writable:
            raise QueryError("schema", "a database file has no DDL to make another one from")
        other = self._open_schema()
        self.connection.execute(self.ddl)
        waiting = list(self.schema.tables)
        while waiting:  # parents first, as constraints are checked at once
            names = {table.name for table in waiting}
            ready = [
                t for t in waiting if not any(k.parent in names - {t.name} for k in t.foreign)
            ] or waiting
            for table in ready:
                order = "" if any(k.parent == table.name for k in table.foreign) else "DESC"
                self.connection.execute(
                    f"INSERT INTO {quote(table.name)} "
                    f"SELECT * FROM {quote(name)}.{quote(table.name)} ORDER BY rowid {order}"
                )
                waiting.remove(table)
        return DuckdbStore(self, other, scratch=True)

    def generated(self, data: Data, /) -> tuple["DuckdbStore", Data]:
        """Returns a store with those rows that the constraints allow, and these rows."""
        if not self._writable:
            raise QueryError("schema", "a database file has no DDL to make another one from")
        try:
            name = self._open_schema()
            self.connection.execute(self.ddl)
            kept = {t.name: self._insert(t, data.get(t.name, ())) for t in self.schema.tables}
        except duckdb.Error as error:
            raise QueryError("schema", f"generated rows: {error}") from None
        return DuckdbStore(self, name, scratch=True), kept

    def samples(self) -> Data:
        """Returns some given rows of each table."""
        return self._given_samples

    def close(self) -> None:
        """Closes the connection of all stores."""
        self.connection.close()

    def _open_schema(self) -> str:
        self._count += 1
        name = f"rewardkit_{self._count}"
        self.connection.execute(f"CREATE SCHEMA {name}; USE {name}")
        return name

    def _insert(self, table: Table, rows: Sequence[Row]) -> list[Row]:
        if not rows:
            return []
        names = ", ".join(quote(column.name) for column in table.columns)
        marks = f"({', '.join('?' * len(table.columns))})"
        into = f"INSERT INTO {quote(table.name)} ({names}) VALUES "
        try:
            every = ", ".join([marks] * len(rows))
            self.connection.execute(into + every, [value for row in rows for value in row])
            return list(rows)
        except duckdb.Error:  # a row breaks a constraint: one at a time tells which
            kept = []
            for row in rows:
                try:
                    self.connection.execute(into + marks, list(row))
                except duckdb.Error:
                    continue
                kept.append(row)
            return kept

    def _one(self, sql: str) -> Any:  # noqa: ANN401
        row = self.connection.execute(sql).fetchone()
        return row[0] if row else None


class DuckdbStore:
    """One schema of a DuckDB connection; queries run in transactions that may only read."""

    def __init__(self, engine: DuckdbEngine, name: str, *, scratch: bool = False) -> None:
        self._engine = engine
        self._connection = engine.connection
        self._name = name
        self._scratch = scratch

    def run(
        self, sql: str, limits: Limits, /, *, trusted: bool = False, cleared: bool = False
    ) -> Result:
        """Returns the rows of one query; see `Store`."""
        try:
            if not cleared:
                _check_single(sql)
            self._connection.execute(f"USE {quote(self._name)}")
            self._connection.execute("BEGIN TRANSACTION READ ONLY")
            try:
                with _clock(self._connection, limits.seconds):
                    return self._fetch(sql, limits)
            finally:
                self._connection.execute("ROLLBACK")
        except (duckdb.Error, UnicodeError) as error:
            raise _explain(error) from None
        except (OverflowError, ValueError) as error:  # a date that Python cannot hold
            raise QueryError("runtime", str(error)) from None
        except MemoryError:
            raise QueryError("memory", "the query needs too much memory") from None

    def _fetch(self, sql: str, limits: Limits) -> Result:
        cursor = self._connection.execute(sql)
        rows: list[Row] = []
        chars = 0
        while batch := cursor.fetchmany(_BATCH):
            rows += batch
            chars += sum(len(v) for row in batch for v in row if isinstance(v, str | bytes))
            if len(rows) > limits.rows or chars > limits.cells_chars:
                raise QueryError("row_cap", f"more than {limits.rows:,} rows or too much text")
        return Result(tuple(column[0] for column in cursor.description or ()), rows)

    def cost(self, sql: str, limits: Limits, /, *, trusted: bool = False) -> float:
        """Returns the rows that the operators of the plan read and gave when it ran."""
        self.run(sql, limits, trusted=trusted)  # the guard, the clock and the limits
        told = self.run(f"{_PROFILE} {sql}", limits, cleared=True).rows
        return float(_count_rows(json.loads(told[0][1])))

    def reversed(self) -> Store | None:
        """Returns a copy whose rows were inserted in the other order."""
        try:
            return self._engine.backwards(self._name)
        except (duckdb.Error, QueryError):
            return None

    def close(self) -> None:
        """Drops a generated schema; one that a crash has closed needs none of it."""
        if not self._scratch:
            return
        with suppress(duckdb.Error):
            self._connection.execute(f"DROP SCHEMA {quote(self._name)} CASCADE")


def _count_rows(plan: object) -> int:
    if isinstance(plan, list):
        return sum(map(_count_rows, plan))
    if not isinstance(plan, dict):
        return 0
    own = sum(int(plan.get(name) or 0) for name in _COUNTS)
    return own + sum(_count_rows(part) for part in plan.values())


@contextmanager
def _clock(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _check_single(sql: str) -> None:
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError("several_statements", f"{len(statements)} statements")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError("unsafe", f"{statements[0].type.name} is not a query")


def _explain(error: Exception) -> QueryError:
    kind = next((kind for type_, kind in _KINDS if isinstance(error, type_)), "runtime")
    if isinstance(error, UnicodeError):
        kind = "syntax"
    text = str(error)
    if "read-only" in text.lower():
        kind = "unsafe"
    return QueryError(kind, text)
