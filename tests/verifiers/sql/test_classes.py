"""Classes of mistakes as properties: what is said of one query holds for all of its kind."""

import datetime
import math
import sqlite3
from contextlib import closing
from fractions import Fraction
from itertools import pairwise

import pytest
import sqlglot
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.sql._bare import bare_variants
from rewardkit.verifiers.sql._checks import admitted, read_tests
from rewardkit.verifiers.sql._clues import Clues, read_clues
from rewardkit.verifiers.sql._derived import derive
from rewardkit.verifiers.sql._engines.base import Limits
from rewardkit.verifiers.sql._engines.duckdb import DuckdbEngine
from rewardkit.verifiers.sql._engines.sqlite import SqliteEngine
from rewardkit.verifiers.sql._generate import Generator
from rewardkit.verifiers.sql._guard import parse_query
from rewardkit.verifiers.sql._recipes import recipe
from rewardkit.verifiers.sql._schema import Column
from rewardkit.verifiers.sql._values import make_domain

NOTHING = st.lists(st.sampled_from([";", " ", "\n", "-- ; x\n", "/* ; */"]), max_size=6).map(
    "".join
)


def tree(sql):
    return sqlglot.parse_one(sql, read="sqlite")


def rows_of(sql, rows=(), ddl="CREATE TABLE t(k INTEGER, v INTEGER)"):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(ddl)
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        return connection.execute(sql).fetchall()


@given(before=NOTHING, after=NOTHING)
@settings(max_examples=60)
def test_empty_statements_around_a_query_change_nothing(before, after):
    query = parse_query(f"{before}SELECT ';', '--', v FROM t{after}", "sqlite", True)
    assert rows_of(query.sql, [(1, 7)]) == [(";", "--", 7)]


@given(before=NOTHING, after=NOTHING)
@settings(max_examples=30)
def test_what_empty_statements_say_to_a_grader_is_still_read(before, after):
    query = parse_query(f"{before}SELECT 1;{after}; -- reward\n;", "sqlite", True)
    assert any("reward" in comment for comment in query.comments)


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3)), max_size=8))
def test_a_bare_column_lies_between_its_variants(rows):
    sql = "SELECT k, v, COUNT(*) FROM t GROUP BY k"
    least, taken, most = (
        {row[0]: row[1] for row in rows_of(one, rows)}
        for one in (
            bare_variants(tree(sql), "sqlite")[0],
            sql,
            bare_variants(tree(sql), "sqlite")[1],
        )
    )
    assert all(least[k] <= taken[k] <= most[k] for k in taken)
    values = {k: {v for key, v in rows if key == k} for k, _ in rows}
    assert (least == most) == all(len(found) == 1 for found in values.values())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, v FROM t",
        "SELECT k FROM t GROUP BY k",
        "SELECT k + 1 AS n, COUNT(*) FROM t GROUP BY n",
        "SELECT upper(k), SUM(v) FROM t GROUP BY 1",
        "SELECT t.k, COUNT(*) FROM t GROUP BY k",
        "SELECT k, v, MAX(v) FROM t GROUP BY k",  # from the row of the greatest
        "SELECT k, (SELECT t.v || COUNT(*) FROM t AS u) FROM t",  # of the query around it
        "SELECT COUNT(*) FROM t",
        "SELECT k, SUM(v) OVER (ORDER BY v) FROM t",
    ],
)
def test_what_is_determined_has_no_variants(sql):
    assert bare_variants(tree(sql), "sqlite") == ()


SUMS = ("x + {a} >= {b}", "x - {a} >= {b}", "{b} - x <= {a}", "x / {a} >= {b}", "x * {a} >= {b}")


@given(pattern=st.sampled_from(SUMS), a=st.integers(1, 60), b=st.integers(1, 60))
@settings(max_examples=80)
def test_data_lies_on_both_sides_of_where_a_condition_turns(pattern, a, b):
    condition = pattern.format(a=a, b=b)
    assume(a != b and ("*" not in pattern or (b % a == 0 and a in (1, 2, 5, 10))))
    clues = read_clues(tree(f"SELECT x FROM t WHERE {condition}"), frozenset({"x"}))
    values = make_domain(Column("x", "int"), [], clues).focus
    marks = ", ".join(f"({value})" for value in values)
    held = dict(
        rows_of(f"SELECT column1, {condition.replace('x', 'column1')} FROM (VALUES {marks})")
    )
    turn = {"+": b - a, "-": b + a, "/": a * b, "*": b // a}[pattern.split()[1]]
    turn = b - a if pattern.startswith("{b}") else turn
    assert held[turn] == 1
    assert held[turn - 1] == 0


@given(
    day=st.dates(datetime.date(1990, 1, 1), datetime.date(2060, 1, 1)), count=st.integers(1, 400)
)
def test_intervals_move_dates_both_ways(day, count):
    places = (
        f"d >= date('{day}', '-{count} days')",
        f"date(d, '+{count} day') <= '{day}'",
        f"julianday('{day}') - julianday(d) > {count}",
        f"d < DATE '{day}' + INTERVAL '{count}' DAY",
    )
    wanted = {(day + datetime.timedelta(days=sign * count)).isoformat() for sign in (1, -1)}
    assert all(wanted <= set(derive(tree(place), str(day))) for place in places)


def test_months_end_where_the_calendar_ends_them():
    place = tree("d > date('2024-03-31', '-1 month', '-2 years')")
    assert set(derive(place, "2024-03-31")) == {
        *("2024-02-29", "2024-04-30", "2022-03-31", "2026-03-31"),
    }


@pytest.mark.parametrize("value", ["9999-12-31", "0001-01-01", "2024-02-31", "2024-13-01", "text"])
def test_dates_beyond_the_calendar_are_left_out(value):
    place = tree(f"d > date('{value}', '+99999 months', '-99999 days', '-900000 years')")
    assert all(2 <= datetime.date.fromisoformat(d).year < 9998 for d in derive(place, value))


@given(digits=st.integers(0, 5), constant=st.integers(-50, 50))
def test_rounding_shows_in_real_columns(digits, constant):
    for clues in (Clues(), Clues(frozenset({("x", constant)}))):
        domain = make_domain(Column("x", "real"), [], clues)
        values = domain.focus or domain.plain
        assert any(round(v, digits) != v for v in values)
        # Sums in any order are exact, so that no honest rewriting differs by noise.
        assert Fraction(math.fsum(values)) == sum(map(Fraction, values))


@given(length=st.integers(1, 20))
def test_texts_are_longer_than_what_is_cut_off(length):
    clues = read_clues(tree(f"SELECT substr(x, 1, {length}) FROM t"), frozenset({"x"}))
    texts = make_domain(Column("x", "text"), [], clues).focus
    assert {length, length + 1} <= {len(text) for text in texts}


@pytest.mark.parametrize("call", ["trim(x)", "ltrim(x)", "rtrim(x)"])
def test_blanks_are_drawn_where_they_are_trimmed(call):
    clues = read_clues(tree(f"SELECT {call} FROM t"), frozenset({"x"}))
    texts = make_domain(Column("x", "text"), [], clues).focus
    assert {" a", "a ", " "} <= set(texts)


@given(words=st.sets(st.text("abcx", min_size=1, max_size=3), min_size=1, max_size=3))
@settings(max_examples=15)
def test_no_row_is_lost_to_a_check_that_names_its_values(words):
    among = ", ".join(f"'{word}'" for word in sorted(words))
    ddl = f"CREATE TABLE t(k INTEGER PRIMARY KEY, w TEXT NOT NULL CHECK (w IN ({among})));"
    engine = SqliteEngine(schema=ddl, rows="")
    clues = Clues(frozenset(("w", word) for word in words))
    maker = Generator(engine.schema, engine.samples(), clues, read_tests(ddl, "sqlite"))
    for number in range(1, 16):
        data = maker.make(number)
        assert {row[1] for row in data["t"]} <= words
        store, kept = engine.generated(data)
        store.close()
        assert len(kept["t"]) == len(data["t"])


def test_a_check_that_nothing_passes_or_nothing_reads_admits_everything():
    assert admitted([1, 2, 3], "n", ["n > 1"]) == [2, 3]
    assert admitted([1, None], "n", ["n > 0"]) == [1, None]
    assert admitted([1, 2], "n", ["n > 5"]) == [1, 2]
    assert admitted([1, 2], "n", ["no_such_function(n)"]) == [1, 2]
    assert read_tests("CREATE TABLE t(a INT, b INT, CHECK (a < b), CHECK", "sqlite") == {}


@given(asked=st.integers(1, 30))
@settings(max_examples=15)
def test_a_chain_starts_or_ends_at_the_row_that_is_asked_for(asked):
    ddl = "CREATE TABLE node(id INTEGER PRIMARY KEY, up INTEGER);"
    engine = SqliteEngine(schema=ddl, rows="")
    clues = read_clues(
        tree(f"SELECT 1 FROM node a JOIN node b ON a.up = b.id WHERE a.id = {asked}"),
        frozenset({"id", "up"}),
    )
    maker = Generator(engine.schema, engine.samples(), clues)
    names = [recipe(i).name for i in range(20)]
    for name, end in (("chains", 0), ("chains from below", -1)):
        rows = maker.make(names.index(name))["node"]
        assert rows[end][0] == asked
        links = [up == before[0] for before, (_, up) in pairwise(rows)]
        assert sum(links) >= len(rows) - 3 >= 4


@given(codes=st.sets(st.text("ABC", min_size=2, max_size=3), min_size=1, max_size=4))
@settings(max_examples=15)
def test_rows_refer_to_the_keys_that_a_condition_picks(codes):
    ddl = (
        "CREATE TABLE p(c TEXT PRIMARY KEY NOT NULL); CREATE TABLE r(c TEXT NOT NULL REFERENCES p)"
    )
    engine = SqliteEngine(schema=ddl, rows="")
    among = ", ".join(f"'{code}'" for code in sorted(codes))
    clues = read_clues(tree(f"SELECT 1 FROM r WHERE c IN ({among})"), frozenset({"c"}))
    satisfying = [recipe(i).name for i in range(20)].index("satisfying")
    data = Generator(engine.schema, engine.samples(), clues).make(satisfying)
    assert codes <= {row[0] for row in data["p"]}
    assert len(codes & {row[0] for row in data["r"]}) >= min(2, len(codes))


def test_few_values_still_make_rows_under_a_key_of_several_columns():
    ddl = "CREATE TABLE t(a INTEGER, b INTEGER, PRIMARY KEY (a, b));"
    engine = SqliteEngine(schema=ddl, rows="")
    maker = Generator(engine.schema, engine.samples(), Clues())
    ties = [recipe(i).name for i in range(20)].index("ties")
    assert len(maker.make(ties)["t"]) == recipe(ties).rows


@given(a=st.integers(-40, 40), b=st.integers(-9, 9).filter(bool), whole=st.booleans())
@settings(max_examples=6)
def test_integers_are_divided_as_in_the_dialect_of_the_query(a, b, whole):
    engine = DuckdbEngine(schema="CREATE TABLE t(x INTEGER)", rows="", whole_quotients=whole)
    found = engine.given().run(f"SELECT {a} / ({b}), {a} / {b}.0", Limits())
    engine.close()
    assert found.rows[0] == (math.trunc(Fraction(a, b)) if whole else a / b, pytest.approx(a / b))


BARE = {
    "schema": "CREATE TABLE t(k INTEGER PRIMARY KEY, g TEXT NOT NULL, v INTEGER NOT NULL)",
    "rows": "INSERT INTO t VALUES (1, 'a', 5), (2, 'a', 7), (3, 'b', 1)",
}


@pytest.mark.parametrize(
    ("sql", "prediction", "why"),
    [
        (
            "SELECT g, MIN(k) FROM t GROUP BY g",
            "SELECT g, k FROM t GROUP BY g",
            "non_deterministic",
        ),
        ("SELECT k, g, SUM(v) FROM t GROUP BY k, g", "SELECT k, g, SUM(v) FROM t GROUP BY k", None),
        # A reference that leaves the choice open itself asks for nothing else.
        ("SELECT g, k FROM t GROUP BY g", "SELECT x.g, x.k FROM t x GROUP BY x.g", None),
        ("SELECT g, k FROM t GROUP BY g", "SELECT g, k FROM t GROUP BY g", None),
    ],
)
def test_a_verdict_on_bare_columns_is_that_of_every_choice(verifier, sql, prediction, why):
    verdict = verifier.verify(prediction, {**BARE, "sql": sql})
    assert verdict.passed == (why is None)
    assert verdict.evidence.get("why") == why
    assert ("non_deterministic" in verdict.evidence.get("signals", ())) == (why is not None)


@given(low=st.decimals(0, 50, places=2), step=st.decimals("0.01", 1, places=2))
def test_a_real_column_has_a_value_between_near_constants(low, step):
    low, high = float(low), float(low + step)
    clues = Clues(by_column=frozenset({("v", low), ("v", high)}))
    focus = make_domain(Column("v", "real"), [], clues).focus
    assert any(low < value < high for value in focus[:3])


@pytest.mark.parametrize("sql", ["v % 2 = 0", "0 <> v % 3", "(v + 1) % 2 = 1", "(v % 5) = 0"])
def test_a_remainder_says_nothing_of_values_below_zero(sql):
    clues = read_clues(tree(f"SELECT v FROM t WHERE {sql}"), frozenset("v"))
    assert min(make_domain(Column("v", "int"), [], clues).focus) >= 0


def test_few_rows_may_refer_to_two():
    ddl = (
        "CREATE TABLE p(k INTEGER PRIMARY KEY); CREATE TABLE q(k INTEGER PRIMARY KEY);"
        "CREATE TABLE c(p INTEGER REFERENCES p(k), q INTEGER REFERENCES q(k), d TEXT)"
    )
    generator = Generator(SqliteEngine(schema=ddl, rows="").schema, {}, Clues())
    sizes = [{k: len(v) for k, v in generator.make(number).items()} for number in range(20)]
    few = [one for one in sizes if one["p"] == one["q"] == 2]
    assert len(few) >= 3
    assert all(2 < one["c"] <= 5 for one in few)
