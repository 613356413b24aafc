"""Where a dialect runs, and how text gets there."""

import importlib.util
from dataclasses import dataclass, replace
from functools import lru_cache

import sqlglot
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, UnsupportedError

from rewardkit.verifiers.sql._engines.base import Engine, QueryError
from rewardkit.verifiers.sql._guard import Query, parse_query
from rewardkit.verifiers.sql.reference import Task

__all__ = ["Route", "open_engine", "route", "translate_query"]

_TO_SQLITE = ("mysql", "oracle")
"""Dialects that stand nearer to SQLite than to DuckDB in what their examples use."""


@dataclass(frozen=True, slots=True)
class Route:
    """From the dialect that queries are written in to that of the engine."""

    source: str
    target: str

    @property
    def transpiled(self) -> bool:
        """True if the engine runs a translation."""
        return self.source != self.target

    @property
    def own_guard(self) -> bool:
        """True if the engine itself admits exactly one reading statement."""
        return not self.transpiled and self.target in ("sqlite", "duckdb")


def route(task: Task) -> Route:
    """Returns where a task runs: in its own engine, or translated in one that is here."""
    if task.dialect == "sqlite" or (task.database is not None and task.dialect != "duckdb"):
        return Route(task.dialect, "sqlite")
    if task.dialect == "postgres" and task.dsn is not None:
        return Route("postgres", "postgres")
    if task.dialect == "duckdb":
        return Route("duckdb", "duckdb")
    here = importlib.util.find_spec("duckdb") is not None
    return Route(task.dialect, "sqlite" if task.dialect in _TO_SQLITE or not here else "duckdb")


def translate_query(query: Query, way: Route) -> Query:
    """Returns a guarded query in the engine's dialect, guarded a second time.

    Raises:
        QueryError: it cannot be said there, or is not allowed there.
    """
    if not way.transpiled or query.tree is None:
        return query
    try:
        text = query.tree.sql(dialect=way.target)
    except (UnsupportedError, ValueError) as error:
        raise QueryError("syntax", str(error)) from None
    except RecursionError:
        raise QueryError("too_big", "nested too deep") from None
    return replace(parse_query(text, way.target, False), comments=query.comments)


@lru_cache(maxsize=64)
def translate_script(script: str, way: Route) -> str:
    """Returns DDL or INSERTs in the engine's dialect.

    Raises:
        QueryError: they cannot be read.
    """
    if not way.transpiled or not script.strip():
        return script
    try:
        return ";\n".join(sqlglot.transpile(script, read=way.source, write=way.target))
    except SqlglotError as error:
        raise QueryError("schema", f"the schema or its rows: {error}") from None


def open_engine(task: Task, way: Route) -> Engine:
    """Returns the engine of a task, with its schema and given rows.

    Raises:
        QueryError: they do not run.
    """
    schema, rows = translate_script(task.schema, way), translate_script(task.rows, way)
    if way.target == "sqlite":
        from rewardkit.verifiers.sql._engines.sqlite import SqliteEngine

        return SqliteEngine(schema=schema, rows=rows, database=task.database)
    if way.target == "duckdb":
        from rewardkit.verifiers.sql._engines.duckdb import DuckdbEngine

        whole = Dialect.get_or_raise(way.source).TYPED_DIVISION
        return DuckdbEngine(schema=schema, rows=rows, database=task.database, whole_quotients=whole)
    from rewardkit.verifiers.sql._engines.postgres import PostgresEngine

    return PostgresEngine(schema=schema, rows=rows, dsn=task.dsn or "")
