"""A session on a database: what it shows, and what it lets nobody do."""

import pytest

from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.sql.session import SqlSession, sql_workers

RIVERS = {
    "schema": "CREATE TABLE river(name TEXT, km INTEGER); CREATE TABLE lake(name TEXT)",
    "rows": "INSERT INTO river VALUES ('Daugava', 1020), ('Gauja', 452), ('Abava', NULL)",
    "sql": "SELECT 'the secret reference'",
}


@pytest.fixture(scope="module")
def pool():
    with sql_workers() as shared:
        yield shared


@pytest.fixture
def rivers(pool):
    return SqlSession(RIVERS, pool=pool, max_rows=2)


def test_rows_are_shown_as_text_and_no_more_than_asked_for(rivers):
    turn = rivers.query("SELECT name, km FROM river ORDER BY name")
    assert (turn.ok, turn.columns, turn.more) == (True, ("name", "km"), True)
    assert turn.rows == (("Abava", "NULL"), ("Daugava", "1020"))
    assert turn.text == "name | km\nAbava | NULL\nDaugava | 1020\n…"
    assert rivers.query("SELECT * FROM lake").text == "name\n(no rows)"


def test_without_a_query_the_tables_are_listed(rivers):
    assert rivers.query().rows == (("river(name text, km int)",), ("lake(name text)",))
    assert rivers.query("  ").rows == rivers.query().rows


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [
        ("DELETE FROM river", "unsafe"),
        ("INSERT INTO lake VALUES ('x')", "unsafe"),
        ("SELECT 1; SELECT 2", "several_statements"),
        ("SELECT * FROM sqlite_master", "unsafe"),
        ("ATTACH 'x.db' AS x", "unsafe"),
        ("SELECT depth FROM river", "unknown_name"),
        ("SELEC", "syntax"),
        ("SELECT '\ud800' FROM (", "syntax"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
         "timeout"),
    ],
)  # fmt: skip
def test_what_is_not_one_reading_query_is_said_and_not_done(rivers, sql, outcome):
    turn = rivers.query(sql)
    assert (turn.ok, turn.outcome, turn.rows) == (False, outcome, ())
    assert turn.text.startswith(f"{outcome}: ")
    assert rivers.query("SELECT COUNT(*) FROM river").rows == (("3",),)


@pytest.mark.parametrize("text", [None, 7, ["SELECT 1"], "\0", "(" * 10_000])
def test_anything_at_all_has_an_answer(rivers, text):
    assert rivers.query(text).text


def test_the_reference_query_is_not_where_queries_run(rivers):
    assert rivers._task.sql == ()
    assert rivers._task.expected is None


def test_turns_are_counted(pool):
    session = SqlSession(RIVERS, pool=pool, max_turns=1)
    assert session.query("SELECT 1").ok
    assert session.query("SELECT 1").outcome == "turns"


def test_another_dialect_is_translated(pool):
    session = SqlSession({**RIVERS, "dialect": "mysql"}, pool=pool)
    assert session.query("SELECT CONCAT(name, '!') AS n FROM river WHERE km > 1000").rows == (
        ("Daugava!",),
    )


def test_a_schema_that_does_not_run_is_said(pool):
    session = SqlSession({**RIVERS, "schema": "CREATE TABEL x"}, pool=pool)
    assert session.query("SELECT 1").outcome == "schema"


def test_the_callers_mistakes_are_named():
    with pytest.raises(InvalidReferenceError, match="schema"):
        SqlSession({"sql": "SELECT 1"})
    with pytest.raises(ConfigError, match="at least 1"):
        SqlSession(RIVERS, max_rows=0)
