"""Subtasks of a reference, what a wrong query has of them, and a verdict on each CTE."""

import pytest
import sqlglot

from rewardkit.process import Segmentation, StepScores, spans_to_tokens
from rewardkit.verifiers.sql import SqlVerifier
from rewardkit.verifiers.sql._spans import cte_spans
from rewardkit.verifiers.sql._standalone import standalone
from rewardkit.verifiers.sql._subtasks import decompose, subtask_similarity

DDL = "CREATE TABLE emp(eid INTEGER PRIMARY KEY, name TEXT NOT NULL, dept TEXT, pay INTEGER)"
ROWS = (
    "INSERT INTO emp VALUES (1,'Vera','ops',90),(2,'Wim','ops',70),(3,'Xia','lab',40),"
    "(4,'Yun','lab',60)"
)
TOP = "top AS (SELECT dept, MAX(pay) AS m FROM emp GROUP BY dept)"
REFERENCE = {
    "schema": DDL,
    "rows": ROWS,
    "sql": f"WITH {TOP} SELECT e.name FROM emp e JOIN top ON e.dept = top.dept WHERE e.pay = top.m",
}
OTHER = "best AS (SELECT MAX(pay) AS p, dept AS d FROM emp GROUP BY dept)"


def tree(sql):
    return sqlglot.parse_one(sql, read="sqlite")


@pytest.fixture(scope="module")
def stepped():
    with SqlVerifier(workers=1, steps=True, timeout_s=30.0) as made:
        yield made


def steps_of(verdict, text):
    return [(text[s.start : s.end].partition(" ")[0], s.score) for s in verdict.steps]


def test_a_query_is_taken_apart_into_selects_with_holes():
    parts = decompose(tree("SELECT t.a FROM t WHERE t.b = (SELECT MAX(u.b) FROM t AS u)"))
    assert [(p.kind, p.nodes) for p in parts] == [("main", 7), ("subquery", 4)]
    # EQ, two nodes for the column, one for the hole; the aggregate and its column; a table.
    assert parts[0].weights["where", "t.b = (query)"] == 4
    assert parts[1].weights["output", "MAX(t.b)"] == 3


def test_similarity_is_cover_and_distance_in_nodes():
    reference = tree("SELECT t.a FROM t WHERE t.b = (SELECT MAX(u.b) FROM t AS u)")
    near = tree("SELECT t.a FROM t WHERE t.b > (SELECT MAX(b) FROM t)")
    # Both have 11 nodes and share 3 of the main query and 4 of the subquery.
    assert subtask_similarity(near, reference) == pytest.approx(0.7 * 7 / 11 + 0.3 * (1 - 8 / 11))
    assert subtask_similarity(reference, reference) == 1.0
    assert subtask_similarity(tree("SELECT x FROM y"), reference) == 0.0


def test_a_subtask_with_the_same_rows_counts_whole():
    reference = tree("SELECT t.a FROM t WHERE t.b = (SELECT MAX(u.b) FROM t AS u)")
    other = tree("SELECT t.a FROM t WHERE t.b = (SELECT b FROM t ORDER BY b DESC LIMIT 1)")
    # 7 nodes of the main query and a table; 15 nodes in all.
    plain = 0.7 * 8 / 11 + 0.3 * (1 - (3 + 7) / 15)
    assert subtask_similarity(other, reference) == pytest.approx(plain)
    assert subtask_similarity(other, reference, attained={(1, 1)}) == pytest.approx(1.0)


def test_a_cte_and_a_subquery_that_say_the_same_are_the_same():
    first = tree("WITH m AS (SELECT MAX(pay) AS p FROM emp) SELECT name FROM emp, m WHERE pay = p")
    second = tree("SELECT name FROM emp, (SELECT MAX(pay) AS p FROM emp) AS m WHERE pay = p")
    assert subtask_similarity(first, second) == 1.0


@pytest.mark.parametrize(
    ("sql", "place", "alone"),
    [
        (f"WITH {TOP} SELECT m FROM top", 1, "SELECT dept, MAX(pay) AS m FROM emp GROUP BY dept"),
        (
            "WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT x FROM b",
            2,
            "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
            1,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
            2,
            None,
        ),
    ],
)
def test_a_subtask_runs_alone_with_the_ctes_before_it(sql, place, alone):
    query = standalone(decompose(tree(sql))[place])
    assert (None if query is None else query.sql(dialect="sqlite")) == alone


@pytest.mark.parametrize(
    ("sql", "pieces"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("WITH a(x) AS (SELECT ')' FROM t) SELECT x FROM a", ["a(x) AS (SELECT ')' FROM t)",
                                                               "SELECT x FROM a"]),
        (";WITH RECURSIVE a AS MATERIALIZED (SELECT (1)), b AS (SELECT 2) SELECT * FROM a, b;",
         ["a AS MATERIALIZED (SELECT (1))", "b AS (SELECT 2)", "SELECT * FROM a, b"]),
    ],
)  # fmt: skip
def test_spans_of_ctes(sql, pieces):
    assert [sql[start:end] for start, end in cte_spans(sql, "sqlite")] == pieces


def test_text_that_is_no_query_has_no_spans():
    assert cte_spans("WITH a AS (SELECT 1", "sqlite") is None
    assert cte_spans("", "sqlite") is None


def test_a_right_step_in_a_wrong_query_scores_one(stepped):
    text = f"So:\n```sql\nWITH {OTHER} SELECT e.name FROM emp e, best WHERE e.dept = best.d\n```"
    verdict = stepped.verify(text, REFERENCE)
    assert steps_of(verdict, text) == [("best", 1.0), ("SELECT", 0.0)]
    assert "reference's cte query top" in verdict.steps[0].detail
    assert 0 < verdict.score <= 0.3


def test_a_wrong_step_stays_under_the_cap(stepped):
    text = (
        f"WITH {OTHER.replace('MAX', 'MIN')} SELECT e.name FROM emp e, best "
        "WHERE e.dept = best.d AND e.pay = best.p"
    )
    verdict = stepped.verify(text, REFERENCE)
    [(name, score), main] = steps_of(verdict, text)
    assert (name, main) == ("best", ("SELECT", 0.0))
    assert 0 <= score <= 0.3


def test_padding_earns_nothing(stepped):
    text = (
        f"WITH {OTHER}, again AS (SELECT * FROM best), c AS (SELECT 'x' AS y), "
        "dead AS (SELECT dept, MAX(pay) FROM emp GROUP BY dept) "
        "SELECT e.name FROM emp e, again, c WHERE e.dept = again.d"
    )
    verdict = stepped.verify(text, REFERENCE)
    assert steps_of(verdict, text) == [
        ("best", 1.0), ("again", None), ("c", None), ("dead", None), ("SELECT", 0.0),
    ]  # fmt: skip


def test_all_steps_of_a_right_query_are_right(stepped):
    text = f"WITH {OTHER} SELECT e.name FROM emp e, best WHERE e.dept = best.d AND e.pay = best.p"
    verdict = stepped.verify(text, REFERENCE)
    assert verdict.passed
    assert steps_of(verdict, text) == [("best", 1.0), ("SELECT", 1.0)]


def test_steps_reach_tokens(stepped):
    text = f"WITH {OTHER} SELECT e.name FROM emp e, best WHERE e.dept = best.d"
    steps = stepped.verify(text, REFERENCE).steps
    assert StepScores.from_steps(steps).first_error() == 1
    starts = list(range(0, len(text), 4))
    owners = spans_to_tokens(steps, starts, len(text)).owners()
    assert owners[starts.index(steps[1].start // 4 * 4) + 1] == 1
    cut = Segmentation.from_cuts(text, [step.start for step in steps])
    assert [piece.partition(" ")[0] for piece in cut] == ["WITH", "best", "SELECT"]


@pytest.mark.parametrize(
    "hostile",
    [
        "DELETE FROM emp",
        f"WITH {OTHER} SELECT 'x' FROM best",
        f"WITH {OTHER} SELECT * FROM sqlite_master, best",
        f"WITH {OTHER} SELECT 1; SELECT 2",
        f"WITH {OTHER}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n, best",
    ],
)
def test_what_is_refused_is_paid_for_no_part(stepped, hostile):
    verdict = stepped.verify(hostile, REFERENCE)
    assert (verdict.score, verdict.steps) == (0.0, ())


def test_a_step_that_never_ends_does_not_take_the_verdict(stepped):
    slow = "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    text = (
        f"WITH RECURSIVE {slow}, {OTHER} SELECT e.name FROM emp e, best, (SELECT i FROM n LIMIT 1)"
    )
    verdict = stepped.verify(text, REFERENCE)
    assert verdict.evidence["why"] == "wrong_rows"
    assert dict(steps_of(verdict, text))["best"] == 1.0


def test_without_the_option_there_are_no_steps(verifier):
    assert verifier.verify(f"WITH {OTHER} SELECT d FROM best", REFERENCE).steps == ()


def test_more_subtasks_are_more_credit(verifier):
    without = verifier.verify("SELECT name FROM emp WHERE pay > 5", REFERENCE)
    half = verifier.verify(f"WITH {OTHER} SELECT e.name FROM emp e, best", REFERENCE)
    assert without.parts["subtasks"] < half.parts["subtasks"] < 1
    assert without.score < half.score <= 0.3
