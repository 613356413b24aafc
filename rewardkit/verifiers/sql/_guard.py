"""Exactly one query without side effects, by the parser; the engine looks a second time."""

import logging
import re
from dataclasses import dataclass, field
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewardkit.verifiers.sql._engines.base import QueryError

__all__ = ["Query", "list_nodes", "parse_query", "parse_trusted"]

_MAX_DEPTH = 60
"""Brackets and CASEs within one another: parsers take time or stack that grows fast with these."""
_MAX_NODES = 20_000
_QUERY = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_WRITES = tuple(
    kind
    for name in (
        "Insert Update Delete Merge Create Drop Alter TruncateTable Command Copy Set Use Attach "
        "Detach Pragma Transaction Commit Rollback Into Lock Describe Kill Export Analyze Comment "
        "LoadData Cache Uncache Refresh Show Grant Revoke Put Get Summarize"
    ).split()
    if isinstance(kind := getattr(exp, name, None), type)
)
_STARTS = re.compile(r"(?:select|with|values|from|table)\b", re.I)
_BLANK = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))+", re.S)
_DENIED = {
    "postgres": re.compile(
        r"(?:pg_(?!typeof$)\w*|set_config|current_setting|dblink\w*|lo_\w+|query_to_\w+|\w*to_xml\w*"
        r"|nextval|setval|currval|lastval|txid_\w+|inet_\w+|version|binary_upgrade\w*|file_fdw\w*"
        r"|ts_stat|plpy\w*|notify)",
        re.I,
    ),
    "duckdb": re.compile(
        r"(?:read_\w+|glob|sniff_csv|parquet_\w+|sleep_ms|getenv|checkpoint|force_checkpoint|duckdb_\w+"
        r"|pragma_\w+|query|query_table|which_secret|load_aws\w*|sqlite_\w+|postgres_\w+|mysql_\w+"
        r"|iceberg_\w+|delta_\w+|st_read\w*|write_log|enable_\w+|disable_\w+|set_\w*config\w*)",
        re.I,
    ),
}
_CATALOGUES = re.compile(r"(?:sqlite_\w+|pragma_\w+|dbstat|duckdb_\w+|pg_\w+)", re.I)
_FILES = re.compile(
    r"^(?:/|\.|~)|://|^file:|\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|gz|zst|db|duckdb|xlsx|log)$",
    re.I,
)
_SCHEMAS = ("information_schema", "pg_catalog")


@dataclass(frozen=True)
class Query:
    """One query that was parsed."""

    sql: str
    tree: exp.Expr | None
    """None where the engine alone can read it."""
    comments: tuple[str, ...] = field(default=())
    nodes: tuple[exp.Expr, ...] = field(default=(), repr=False, compare=False)
    """All nodes of the tree, each before those below it: it is walked once for all who look."""


@lru_cache(maxsize=512)
def parse_query(sql: str, dialect: str, own_guard: bool) -> Query:
    """Returns the one query in a prediction.

    Args:
        sql: the text, trusted in nothing.
        dialect: in sqlglot's words.
        own_guard: the engine itself refuses all but one reading statement, so what only sqlglot
            cannot parse is left to it.

    Raises:
        QueryError: several_statements, unsafe, syntax or too_big.
    """
    _check_text(sql)
    logging.getLogger("sqlglot").disabled = True  # it logs whole statements that it cannot parse
    try:
        trees = [t for t in sqlglot.parse(sql, read=dialect) if t is not None]
    except (SqlglotError, ValueError) as error:
        if own_guard and _STARTS.match(_skip_blank(sql)):
            return Query(sql, None)
        if not _STARTS.match(_skip_blank(sql)):
            raise QueryError("syntax", "not a query") from None
        raise QueryError("syntax", str(error)) from None
    except RecursionError:
        raise QueryError("too_big", "nested too deep") from None
    try:
        return _check_trees(sql, trees, dialect)
    except RecursionError:
        raise QueryError("too_big", "nested too deep") from None


def parse_trusted(sql: str, dialect: str) -> exp.Expr | None:
    """Returns the tree of a reference, or None if sqlglot cannot parse it."""
    logging.getLogger("sqlglot").disabled = True
    try:
        return sqlglot.parse_one(sql, read=dialect)
    except (SqlglotError, ValueError, RecursionError):
        return None


def _check_trees(sql: str, trees: list[exp.Expr], dialect: str) -> Query:
    comments = [c for t in trees if isinstance(t, exp.Semicolon) for c in t.comments or ()]
    trees = [tree for tree in trees if not isinstance(tree, exp.Semicolon)]
    if not trees:
        raise QueryError("syntax", "no statement")
    if len(trees) > 1:
        raise QueryError("several_statements", f"{len(trees)} statements where one is asked for")
    tree = trees[0]
    if not isinstance(tree, _QUERY):
        if isinstance(tree, (*_WRITES, exp.DDL, exp.DML)):
            raise QueryError("unsafe", f"{tree.key.upper()} is not a query")
        raise QueryError("syntax", "not a query")
    denied = _DENIED.get(dialect)
    nodes = list_nodes(tree)
    if len(nodes) > _MAX_NODES:
        raise QueryError("too_big", "a query of too many parts")
    for node in nodes:
        if node.comments:
            comments += node.comments
        _check_node(node, denied)
    return Query(_without_empty_statements(sql, dialect), tree, tuple(comments), tuple(nodes))


def list_nodes(tree: exp.Expr) -> list[exp.Expr]:
    """Returns all nodes of a tree, each before those below it; several times as fast as `walk`."""
    found = [tree]
    for node in found:  # it grows while it is read
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif value.__class__ is list:
                found += [one for one in value if isinstance(one, exp.Expr)]
    return found


def _without_empty_statements(sql: str, dialect: str) -> str:
    """Returns the text of the one statement: drivers count what stands between two semicolons."""
    if ";" not in sql:
        return sql
    tokens = sqlglot.tokenize(sql, read=dialect)
    marks = [t.start for t in tokens if t.token_type is sqlglot.TokenType.SEMICOLON]
    first = next(t.start for t in tokens if t.token_type is not sqlglot.TokenType.SEMICOLON)
    start = max((mark + 1 for mark in marks if mark < first), default=0)
    end = min((mark for mark in marks if mark > first), default=len(sql))
    return sql[start:end]


def _check_node(node: exp.Expr, denied: re.Pattern[str] | None) -> None:
    if isinstance(node, exp.Identifier | exp.Column | exp.Literal):
        return
    if isinstance(node, _WRITES):
        raise QueryError("unsafe", f"{node.key.upper()} inside the query")
    if denied is not None and isinstance(node, exp.Func):
        name = str(node.this) if isinstance(node, exp.Anonymous) else node.sql_name()
        if denied.fullmatch(name):
            raise QueryError("unsafe", f"the function {name.lower()[:60]} is not allowed")
    if isinstance(node, exp.Table):
        catalogue = _CATALOGUES.fullmatch(node.name) or node.db.lower() in _SCHEMAS
        if catalogue:
            raise QueryError("unsafe", f"reads the catalogue: {node.name[:60]}")
        if isinstance(node.this, exp.Identifier) and _FILES.search(node.name):
            raise QueryError("unsafe", "reads a file")


def _check_text(sql: str) -> None:
    if "\0" in sql or (not sql.isascii() and any("\ud800" <= sign <= "\udfff" for sign in sql)):
        raise QueryError("syntax", "a NUL character or half of a character")
    depth = deepest = 0
    for sign in re.findall(r"[()]|\bcase\b|\bend\b", sql, re.I):
        depth += 1 if sign in "(" or sign.lower() == "case" else -1
        deepest = max(deepest, depth)
    if deepest > _MAX_DEPTH:
        raise QueryError("too_big", f"nested deeper than {_MAX_DEPTH}")


def _skip_blank(sql: str) -> str:
    blank = _BLANK.match(sql)
    return sql[blank.end() :] if blank else sql
