"""The published rules of other graders, against values worked out by hand from their text."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.verifiers.sql import SqlVerifier, compat

A = [(1, "a"), (2, "b")]


def test_bird_takes_results_as_sets():
    assert compat.bird_ex([*A, *A][::-1], A) == 1.0
    assert compat.bird_ex([("a", 1), ("b", 2)], A) == 0.0
    assert compat.bird_ex([(1.0, "a"), (2, "b")], A) == 1.0


@pytest.mark.parametrize(
    ("predicted", "reference", "f1"),
    [
        ([], [], 1.0),
        ([], A, 0.0),
        (A, A, 1.0),
        # Worked out from the published formula: hits 3/2, missing 1/2 -> P 1, R 3/4.
        ([(1, 1, 1)], [(1, 2)], 6 / 7),
        # Reversed: no value of a row is in the other.
        (A[::-1], A, 0.0),
        # One row of two: hits 1, missing 1 -> P 1, R 1/2.
        (A[:1], A, 2 / 3),
        # Repeats are dropped first.
        ([A[0], A[0], A[1]], A, 1.0),
        # A further column: hits 1 of it, extra 1/2 in each row -> P 2/3, R 1.
        ([(1, "a", 9), (2, "b", 9)], A, 0.8),
    ],
)
def test_soft_f1(predicted, reference, f1):
    assert compat.soft_f1(predicted, reference) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("ratio", "reward"),
    [(2.0, 1.25), (1.99, 1.0), (1.0, 1.0), (0.99, 0.75), (0.5, 0.75), (0.25, 0.5), (0.1, 0.25)],
)
def test_r_ves_has_five_tiers(ratio, reward):
    assert compat.r_ves(ratio) == reward
    assert compat.r_ves(ratio, matched=False) == 0.0


VALUES = st.sampled_from([0, 1, 2, None, "a"])


@given(
    st.integers(1, 3).flatmap(lambda w: st.lists(st.tuples(*[VALUES] * w), min_size=1, max_size=4)),
    st.randoms(),
)
def test_a_test_suite_takes_any_permutation_of_columns(rows, dice):
    width = len(rows[0])
    other = [tuple(dice.choice([row, rows[0]])) for row in rows]
    by_trying = any(
        sorted(map(repr, rows)) == sorted(repr(tuple(row[i] for i in p)) for row in other)
        for p in itertools.permutations(range(width))
    )
    assert compat.test_suite(other, rows, sql="") == by_trying


def test_a_test_suite_looks_for_order_by_in_the_text():
    assert compat.test_suite(A[::-1], A, sql="SELECT 1") == 1.0
    assert compat.test_suite(A[::-1], A, sql="SELECT * FROM (SELECT 1 ORDER  BY 1)") == 1.0
    assert compat.test_suite(A[::-1], A, sql="SELECT 1 FROM t Order By 1") == 0.0
    assert compat.test_suite([], [], sql="x") == 1.0


def test_nine_columns_alike_end():
    rows = [(1,) * 9, (0,) * 9]
    assert compat.test_suite([(1,) * 8 + (0,), (0,) * 8 + (1,)], rows, sql="") == 0.0


def test_spider2_sorts_each_column_by_itself():
    # Rows are paired anew, a further column is allowed, NULL is 0, texts are numbers.
    assert compat.spider2([(1, "b", 7), (2, "a", 7)], A) == 1.0
    assert compat.spider2([("1.004",), ("0",)], [(None,), (1,)]) == 1.0
    assert compat.spider2([("1.02",), ("0",)], [(None,), (1,)]) == 0.0
    assert compat.spider2([(1,)], [(1,), (1,)]) == 0.0


def test_sql_r1_sums_up():
    assert compat.sql_r1(well_formed=False, ran=True, matched=True) == -1
    assert compat.sql_r1(well_formed=True, ran=False, matched=False) == -1
    assert compat.sql_r1(well_formed=True, ran=True, matched=False) == 0
    best = compat.sql_r1(
        well_formed=True, ran=True, matched=True, completion_chars=4096, sql_share=1.0
    )
    assert best == 7.5


DDL = "CREATE TABLE t(a INTEGER, b TEXT)"
ROWS = "INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, 'y')"


@pytest.mark.parametrize(
    ("rule", "sql", "score"),
    [
        ("bird_ex", "SELECT DISTINCT a FROM t ORDER BY a DESC", 1.0),
        ("test_suite", "SELECT DISTINCT a FROM t", 0.0),
        ("spider2", "SELECT b, a FROM t", 1.0),
        ("soft_f1", "SELECT a FROM t WHERE a = 1", 2 / 3),
        ("arctic", "SELECT a FROM t WHERE a = 1", 0.1),
        ("arctic", "SELECT nope FROM t", 0.0),
        ("r_ves", "SELECT a FROM t", 0.8),
        ("sql_r1", "<think>x</think><answer>SELECT b FROM t</answer>", 1 / 8.5),
        ("bird_ex", "DELETE FROM t", 0.0),
    ],
)
def test_the_verifier_grades_by_a_rule_behind_its_own_guard(rule, sql, score):
    reference = {"schema": DDL, "rows": ROWS, "sql": "SELECT a FROM t"}
    with SqlVerifier(workers=1, compat=rule) as verifier:
        assert math.isclose(verifier.verify(sql, reference).score, score, abs_tol=1e-9)


def test_an_unknown_rule_is_named():
    with pytest.raises(ConfigError, match="compat is one of bird_ex"):
        SqlVerifier(compat="x")
