"""CHECK constraints of one column: which generated values a table would refuse."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

__all__ = ["Checks", "admitted", "read_tests"]

Checks: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""Conditions in SQLite's words by table and column, both in lower case."""

_KINDS = (exp.CheckColumnConstraint, exp.Check)


def read_tests(ddl: str, dialect: str) -> Checks:
    """Returns the CHECK constraints that speak of one column only.

    >>> read_tests("CREATE TABLE t(a TEXT CHECK (a IN ('x', 'y')), b INT)", "sqlite")
    {('t', 'a'): ("a IN ('x', 'y')",)}
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    if "check" not in ddl.lower():
        return found
    try:
        trees = sqlglot.parse(ddl, read=dialect)
    except (SqlglotError, ValueError, RecursionError):
        return found
    for tree in trees:
        table = None if tree is None else tree.find(exp.Table)
        if tree is None or table is None or not isinstance(tree, exp.Create):
            continue
        for check in tree.find_all(*_KINDS):
            names = {column.name.lower() for column in check.find_all(exp.Column)}
            if len(names) == 1:
                place = (table.name.lower(), names.pop())
                found[place] = (*found.get(place, ()), check.this.sql(dialect="sqlite"))
    return found


def admitted(values: Iterable[Any], column: str, tests: Iterable[str]) -> list[Any]:
    """Returns the values that pass; all of them where none does, or a test cannot be run here."""
    every = list(values)
    quoted = column.replace('"', '""')
    tests = tuple(tests)
    if not tests:
        return every
    joined = " AND ".join(f"({test}) IS NOT 0" for test in tests)
    query = f'SELECT {joined} FROM (SELECT ? AS "{quoted}")'
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            passed = [v for v in every if connection.execute(query, (v,)).fetchone()[0]]
        except (sqlite3.Error, OverflowError):
            return every
    return passed or every
