"""Generated data respects its schema, is the same everywhere, and tells queries apart."""

import sqlite3

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.sql._clues import Clues, read_clues
from rewardkit.verifiers.sql._engines.sqlite import SqliteEngine
from rewardkit.verifiers.sql._generate import Generator
from rewardkit.verifiers.sql._recipes import recipe
from rewardkit.verifiers.sql._schema import Column
from rewardkit.verifiers.sql._values import make_domain

DDL = """
CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind VARCHAR(3), up INTEGER
  REFERENCES a(id));
CREATE TABLE b(x INTEGER NOT NULL, y TEXT NOT NULL, n INTEGER CHECK (n > 0), PRIMARY KEY (x, y));
CREATE TABLE c(k INTEGER PRIMARY KEY, a_id INTEGER NOT NULL REFERENCES a(id), x INTEGER, y TEXT,
  made DATE, ok BOOLEAN, raw BLOB, FOREIGN KEY (x, y) REFERENCES b(x, y));
"""


def clues_of(sql: str, columns: set[str]) -> Clues:
    return read_clues(sqlglot.parse_one(sql, read="sqlite"), frozenset(columns))


@given(number=st.integers(0, 60), bound=st.integers(-3, 50), text=st.text(max_size=4))
@settings(max_examples=12)
def test_rows_keep_every_constraint(number, bound, text):
    engine = SqliteEngine(schema=DDL, rows="")
    clues = Clues(frozenset({("n", bound), ("name", text), ("made", "2024-02-29"), ("k", bound)}))
    made = Generator(engine.schema, engine.samples(), clues).make(number)
    store, kept = engine.generated(made)
    strict = sqlite3.connect(":memory:")
    strict.executescript(f"PRAGMA foreign_keys = ON; {DDL}")
    with strict:
        strict.execute("PRAGMA defer_foreign_keys = ON")
        for table in engine.schema.tables:
            marks = ", ".join("?" * len(table.columns))
            strict.executemany(f"INSERT INTO {table.name} VALUES ({marks})", kept[table.name])
    store.close()


def test_the_same_number_gives_the_same_data():
    engine = SqliteEngine(schema=DDL, rows="")
    clues = Clues(frozenset({("name", "x"), ("n", 4)}))
    one, other = (Generator(engine.schema, engine.samples(), clues) for _ in range(2))
    assert [one.make(i) for i in range(25)] == [other.make(i) for i in range(25)]
    assert one.make(11) != one.make(12)


def test_the_first_databases_are_the_telling_ones():
    engine = SqliteEngine(schema=DDL, rows="")
    make = Generator(engine.schema, engine.samples(), Clues()).make
    names = [recipe(i).name for i in range(10)]
    assert not any(make(names.index("empty")).values())
    assert len(make(names.index("one row"))["a"]) == 1
    nulls = make(names.index("all NULL"))
    assert {row[2] for row in nulls["a"]} == {None}


def test_constants_and_their_neighbours_are_drawn():
    domain = make_domain(Column("n", "int"), [], Clues(frozenset({("n", 40)})))
    assert {39, 40, 41} <= set(domain.focus)
    domain = make_domain(Column("day", "text"), ["2024-01-05"], Clues(frozenset({("day", "2024")})))
    assert {"2023-12-31", "2024-01-01", "2024-12-31", "2025-01-01"} <= set(domain.focus)


@pytest.mark.parametrize(
    ("sql", "column", "constants"),
    [
        ("SELECT 1 FROM t WHERE a > 3 AND b = 'x'", "a", [3]),
        ("SELECT 1 FROM t WHERE a > -3", "a", [-3]),
        ("SELECT 1 FROM t WHERE a IN (1, 2)", "a", [1, 2]),
        ("SELECT 1 FROM t WHERE b LIKE 'f%'", "b", ["f", "f y", "fx"]),
        ('SELECT 1 FROM t WHERE b = "x"', "b", ["x"]),
        ("SELECT COALESCE(a, 0) FROM t", "a", [0]),
        ("SELECT 1 FROM (SELECT SUM(a) AS s FROM t) WHERE s > 9", "a", [9]),
    ],
)
def test_a_constant_belongs_to_the_column_that_it_meets(sql, column, constants):
    assert clues_of(sql, {"a", "b"}).of_column(column) == constants


def test_columns_that_are_compared_are_linked_through_names_of_ctes():
    sql = (
        "WITH RECURSIVE t(p) AS (SELECT id FROM a UNION SELECT id FROM a JOIN t ON up = p) TABLE t"
    )
    sql = sql.replace("TABLE t", "SELECT p FROM t")
    assert clues_of(sql, {"id", "up"}).links == {("id", "up")}


def test_counts_are_read_from_having_and_limits():
    sql = "SELECT a FROM t GROUP BY a HAVING COUNT(*) > 7 LIMIT 3"
    assert clues_of(sql, {"a"}).counts == {3, 7}
