"""Provers advise: they raise confidence or give rows to try, and never make a wrong query right."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.verifiers.sql import SqlVerifier
from rewardkit.verifiers.sql._engines.base import Limits
from rewardkit.verifiers.sql._engines.sqlite import SqliteEngine
from rewardkit.verifiers.sql._judge import grade
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql.prover import Claim, Proof, ProofStatus, Prover, Z3Prover
from rewardkit.verifiers.sql.reference import read_reference
from tests._needs import needs
from tests.verifiers.sql.cases import read_cases

needs("z3")

DDL = (
    "CREATE TABLE d(did INTEGER PRIMARY KEY, city TEXT);"
    "CREATE TABLE e(eid INTEGER PRIMARY KEY, name TEXT NOT NULL, did INTEGER REFERENCES d(did), "
    "pay INTEGER, rate REAL, day DATE)"
)
ROWS = (
    "INSERT INTO d VALUES (1, 'Oslo'); INSERT INTO e VALUES (1, 'Vera', 1, 90, 0.5, '2024-01-02')"
)


def ask(query, reference, *, ordered=False, ddl=DDL):
    engine = SqliteEngine(schema=ddl, rows="")
    trees = (sqlglot.parse_one(sql, read="sqlite") for sql in (query, reference))
    return Z3Prover().prove(Claim(*trees, engine.schema, ddl, "sqlite", ordered))


EQUIVALENT = [
    ("SELECT name FROM e WHERE NOT pay <= 50", "SELECT name FROM e WHERE pay > 50"),
    ("SELECT name FROM e WHERE pay >= 51", "SELECT name FROM e WHERE pay > 50"),
    ("SELECT name FROM e WHERE pay BETWEEN 1 AND 9",
     "SELECT name FROM e WHERE pay > 0 AND pay < 10"),
    ("SELECT name FROM e WHERE pay IN (1, 2)", "SELECT name FROM e WHERE pay = 2 OR pay = 1"),
    ("SELECT e.name FROM d JOIN e ON d.did = e.did WHERE d.city = 'x'",
     "SELECT a.name FROM e AS a, d AS b WHERE b.city = 'x' AND a.did = b.did"),
    ("SELECT name FROM e JOIN d USING (did)", "SELECT e.name FROM e, d WHERE e.did = d.did"),
    ("SELECT COALESCE(pay, 0) FROM e", "SELECT CASE WHEN pay IS NULL THEN 0 ELSE pay END FROM e"),
    ("SELECT dept.city FROM (SELECT * FROM d) AS dept", "SELECT city FROM d"),
    ("WITH x AS (SELECT name, pay FROM e WHERE pay > 1) SELECT name FROM x WHERE pay < 5",
     "SELECT name FROM e WHERE pay > 1 AND pay < 5"),
    ("SELECT did, COUNT(name) FROM e GROUP BY did HAVING SUM(pay) > 9",
     "SELECT did, COUNT(*) FROM e GROUP BY 1 HAVING NOT SUM(pay) <= 9"),
    ("SELECT MAX(pay) - MIN(pay) FROM e WHERE did IS NOT NULL",
     "SELECT MAX(x.pay) - MIN(x.pay) FROM e AS x WHERE NOT x.did IS NULL"),
    ("SELECT DISTINCT city FROM d WHERE city < 'b' AND city < 'c'",
     "SELECT DISTINCT city FROM d WHERE city < 'b'"),
    ("SELECT b.name FROM e AS a JOIN e AS b ON a.eid = b.eid",
     "SELECT a.name FROM e AS a JOIN e AS b ON b.eid = a.eid"),
    ("SELECT LOWER(name) FROM e WHERE LOWER(name) LIKE 'a%'",
     "SELECT LOWER(x.name) FROM e x WHERE LOWER(x.name) LIKE 'a%'"),
    ("SELECT * FROM d", "SELECT did, city FROM d"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "reference"), EQUIVALENT)
def test_it_proves(query, reference):
    proof = ask(query, reference)
    assert proof.status is ProofStatus.EQUIVALENT, proof


DIFFERENT = [
    ("SELECT name FROM e WHERE pay >= 50", "SELECT name FROM e WHERE pay > 50"),
    ("SELECT name FROM e WHERE rate >= 51", "SELECT name FROM e WHERE rate > 50"),
    ("SELECT name FROM e WHERE NOT (pay > 5 AND did > 1)",
     "SELECT name FROM e WHERE pay <= 5 AND did <= 1"),
    ("SELECT name FROM e WHERE pay <> 5", "SELECT name FROM e WHERE pay IS NOT 5"),
    ("SELECT did, COUNT(pay) FROM e GROUP BY did", "SELECT did, COUNT(*) FROM e GROUP BY did"),
    ("SELECT COUNT(*) FROM e", "SELECT COUNT(*) FROM e GROUP BY did"),
    ("SELECT SUM(pay) FROM e", "SELECT SUM(DISTINCT pay) FROM e"),
    ("SELECT DISTINCT city FROM d", "SELECT city FROM d"),
    ("SELECT a.name FROM e a JOIN e b ON a.did = b.did",
     "SELECT a.name FROM e a JOIN e b ON a.eid = b.eid"),
    ("SELECT name FROM e LEFT JOIN d ON e.did = d.did",
     "SELECT name FROM e JOIN d ON e.did = d.did"),
    ("SELECT name FROM e WHERE did IN (SELECT did FROM d)", "SELECT name FROM e"),
    ("SELECT name FROM e LIMIT 1", "SELECT name FROM e"),
    ("(SELECT name FROM e) LIMIT 1", "SELECT name FROM e"),
    ("SELECT name FROM (SELECT name FROM e LIMIT 1) AS x", "SELECT name FROM e"),
    ("SELECT name FROM (SELECT DISTINCT name FROM e) AS x", "SELECT name FROM e"),
    ("SELECT COUNT(*) FILTER (WHERE pay > 1) FROM e", "SELECT COUNT(*) FROM e"),
    ("SELECT name FROM e UNION ALL SELECT name FROM e", "SELECT name FROM e"),
    ("WITH d AS (SELECT * FROM e WHERE pay > 1) SELECT name FROM d", "SELECT name FROM e"),
    ("SELECT name FROM e WHERE random() > 0", "SELECT name FROM e WHERE random() > 0"),
    ("SELECT name FROM e WHERE name = 5", "SELECT name FROM e WHERE name = '5'"),
    ("SELECT pay / 2 FROM e", "SELECT pay * 1.0 / 2 FROM e"),
    ("SELECT name, COUNT(*) FROM e", "SELECT MAX(name), COUNT(*) FROM e"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "reference"), DIFFERENT)
def test_it_proves_nothing_that_is_not_so(query, reference):
    assert ask(query, reference).status is not ProofStatus.EQUIVALENT


ATOMS = st.builds(
    "{} {} {}".format,
    st.sampled_from(["a", "b", "a + 1", "COALESCE(b, 0)"]),
    st.sampled_from(["<", "<=", "=", "<>", ">", "IS NOT"]),
    st.sampled_from(["0", "1", "2", "a", "b", "NULL"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds("NOT ({})".format, inner)
        | st.builds("({} AND {})".format, inner, inner)
        | st.builds("({} OR {})".format, inner, inner)
    ),
    max_leaves=3,
)


@given(left=CONDITIONS, right=CONDITIONS)
@settings(max_examples=40, deadline=None)
def test_what_is_proved_holds_on_every_row(left, right):
    ddl = "CREATE TABLE t(i INTEGER PRIMARY KEY, a INTEGER NOT NULL, b INTEGER)"
    queries = [f"SELECT i FROM t WHERE {condition}" for condition in (left, right)]
    proof = ask(*queries, ddl=ddl)
    values = [*range(-2, 4), None]
    pairs = [(a, b) for a in values for b in values if a is not None]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(ddl)
        database.executemany("INSERT INTO t(a, b) VALUES (?, ?)", pairs)
        first, second = (database.execute(sql).fetchall() for sql in queries)
    if proof.status is ProofStatus.EQUIVALENT:
        assert first == second
    else:  # the conditions are in the fragment, and small numbers show every difference
        assert proof.status is ProofStatus.DIFFERENT
        assert first != second


def test_rows_of_a_model_tell_queries_apart():
    query = "SELECT name FROM e, d WHERE e.did = d.did AND pay * 7 >= 7777 AND city > 'm'"
    reference = query.replace(">= 7777", "> 7777")
    proof = ask(query, reference)
    assert proof.status is ProofStatus.DIFFERENT
    store, kept = SqliteEngine(schema=DDL, rows="").generated(proof.data)
    assert {len(rows) for rows in kept.values()} == {1}
    assert store.run(query, Limits()).rows != store.run(reference, Limits()).rows


def test_the_order_counts_where_it_is_asked_for():
    falling = "SELECT name FROM e ORDER BY pay DESC"
    assert ask(falling, "SELECT x.name FROM e AS x ORDER BY x.pay DESC", ordered=True).status == (
        "equivalent"
    )
    rising = "SELECT name FROM e ORDER BY pay"
    assert ask(rising, falling, ordered=True).status != "equivalent"
    assert ask(rising, falling).status == "equivalent"


def test_a_collation_is_beyond_it():
    ddl = "CREATE TABLE t(a TEXT COLLATE NOCASE)"
    assert ask("SELECT a FROM t", "SELECT a FROM t", ddl=ddl).status is ProofStatus.UNKNOWN


def test_no_wrong_query_of_the_fixtures_is_proved():
    prover, asked = Z3Prover(), 0
    for case in read_cases():
        if case.label or case.reference["dialect"] != "sqlite":
            continue
        engine = SqliteEngine(schema=case.reference["schema"], rows="")
        try:
            trees = [
                sqlglot.parse_one(sql, read="sqlite")
                for sql in (case.completion, case.reference["sql"])
            ]
        except sqlglot.errors.SqlglotError:
            continue
        claim = Claim(*trees, engine.schema, case.reference["schema"], "sqlite", True)
        assert prover.prove(claim).status is not ProofStatus.EQUIVALENT, case.id
        asked += 1
    assert asked > 30


@dataclass(frozen=True)
class Says:
    """A prover that says what it is told to."""

    status: str
    rows: tuple = ()
    name: str = "says"

    def prove(self, claim: Claim, /) -> Proof:
        if self.status == "dies":
            os._exit(3)
        if self.status == "raises":
            raise RuntimeError("no idea")
        data = {"e": list(self.rows)} if self.rows else None
        return Proof(ProofStatus(self.status), data)


REFERENCE = {"schema": DDL, "rows": ROWS, "sql": "SELECT name FROM e WHERE pay > 50"}
RIGHT, WRONG = "SELECT name FROM e WHERE NOT pay <= 50", "SELECT name FROM e WHERE pay >= 50"


def verdict_with(prover, query, reference=REFERENCE, **options):
    task = read_reference(reference, dialect="sqlite")
    return grade(task, query, Settings(prover=prover, timeout_s=20.0, **options))


def test_a_claim_of_equality_never_beats_data():
    assert isinstance(Says("equivalent"), Prover)
    wrong = verdict_with(Says("equivalent"), WRONG)
    assert (wrong.passed, wrong.evidence["why"]) == (False, "coincidental")


def test_a_claim_of_difference_counts_only_as_far_as_its_rows_do():
    rows = ((1, "a", None, 60, 1.0, None),)
    right = verdict_with(Says("different", rows), RIGHT)
    assert right.passed
    assert right.evidence["prover"]["rows"] == "agree"
    # With no database of our own, the prover's rows are the only ones to show it.
    edge = ((1, "a", None, 50, 1.0, None),)
    wrong = verdict_with(Says("different", edge), WRONG, databases=0)
    assert (wrong.passed, wrong.evidence["database"]) == (False, "from says")


@pytest.mark.parametrize("status", ["raises", "unknown"])
def test_a_prover_that_fails_changes_nothing(status):
    assert verdict_with(Says(status), RIGHT).passed


def test_a_prover_that_dies_takes_no_verdict_with_it():
    with SqlVerifier(workers=1, prover=Says("dies"), timeout_s=20.0) as verifier:
        assert verifier.verify(RIGHT, REFERENCE).passed


def test_a_proof_raises_the_confidence():
    proved = verdict_with(Z3Prover(), RIGHT, databases=0)
    assert proved.parts["confidence"] == 1.0
    assert proved.evidence["prover"]["status"] == "equivalent"
    caught = verdict_with(Z3Prover(), WRONG, {**REFERENCE, "rows": ""}, databases=0)
    assert (caught.evidence["why"], caught.evidence["database"]) == ("coincidental", "from z3")


def test_what_is_no_prover_is_refused():
    with pytest.raises(ConfigError, match="prover is"):
        SqlVerifier(prover="cosette")
