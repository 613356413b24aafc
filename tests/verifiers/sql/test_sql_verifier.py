"""SqlVerifier: what it promises to its callers."""

import asyncio
import json
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit import Verdict
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.sql import SqlVerifier
from rewardkit.verifiers.sql._reasons import REASONS

DDL = "CREATE TABLE emp(eid INTEGER PRIMARY KEY, name TEXT NOT NULL, dept TEXT, pay INTEGER)"
ROWS = "INSERT INTO emp VALUES (1,'Vera','ops',90),(2,'Wim','ops',70),(3,'Xia','lab',NULL)"


def reference(sql, **more):
    return {"schema": DDL, "rows": ROWS, "sql": sql, **more}


def why(verifier, completion, sql, **more):
    verdict = verifier.verify(completion, reference(sql, **more))
    return verdict.score, verdict.evidence["why"]


@pytest.mark.parametrize(
    ("completion", "sql", "expected"),
    [
        ("DELETE FROM emp", "SELECT name FROM emp", "unsafe"),
        ("SELECT load_extension('x')", "SELECT name FROM emp", "unsafe"),
        ("SELECT 1; SELECT 2", "SELECT name FROM emp", "several_statements"),
        ("SELECT name FORM emp", "SELECT name FROM emp", "syntax"),
        ("SELECT nome FROM emp", "SELECT name FROM emp", "unknown_name"),
        ("SELECT abs(-9223372036854775807 - 1) FROM emp", "SELECT name FROM emp", "runtime"),
        ("SELECT hex(zeroblob(900000000))", "SELECT name FROM emp", "memory"),
        ("SELECT name FROM emp UNION ALL " * 600 + "SELECT name FROM emp", "SELECT 1", "too_big"),
        ("SELECT name FROM emp WHERE pay > 80", "SELECT name FROM emp", "wrong_rows"),
        (
            "SELECT name FROM emp ORDER BY name DESC",
            "SELECT name FROM emp ORDER BY 1",
            "wrong_order",
        ),
        ("SELECT name, pay FROM emp", "SELECT name FROM emp", "wrong_columns"),
        ("SELECT COUNT(name) FROM emp WHERE dept = 'ops'", "SELECT 2", "coincidental"),
        (
            "SELECT name FROM emp WHERE pay > 1",
            "SELECT name FROM emp WHERE pay > 69",
            "coincidental",
        ),
        (
            "SELECT name FROM emp LIMIT 1",
            "SELECT name FROM emp WHERE eid = 1",
            "non_deterministic",
        ),
    ],
)
def test_a_wrong_query_has_its_reason(verifier, completion, sql, expected):
    score, found = why(verifier, completion, sql)
    assert found == expected
    assert score is not None
    assert score <= 0.3


def test_endless_queries_end(verifier):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
    assert why(verifier, endless.format("MAX(i)"), "SELECT COUNT(*) FROM emp") == (0.0, "timeout")
    assert why(verifier, endless.format("i"), "SELECT COUNT(*) FROM emp") == (0.0, "row_cap")


def test_a_query_that_hangs_inside_the_engine_is_killed():
    with SqlVerifier(workers=1, timeout_s=3.0) as verifier:
        good = reference("SELECT name FROM emp")
        assert verifier.verify("SELECT name FROM emp", good).passed
        verdict = verifier.verify("SELECT printf('%.*c', 2000000000, 'x') FROM emp", good)
        assert (verdict.score, verdict.reason.value) == (0.0, "timeout")
        assert verifier.verify("SELECT name FROM emp", good).passed


def test_a_reference_that_does_not_run_is_an_abstention_and_found_before_training(verifier):
    broken = reference("SELECT nope FROM emp")
    verdict = verifier.verify("SELECT name FROM emp", broken)
    assert (verdict.score, verdict.evidence["why"]) == (None, "reference_fails")
    with pytest.raises(InvalidReferenceError, match="no such column: nope"):
        verifier.check_reference(broken)


def test_two_empty_results_prove_nothing(verifier):
    never = "SELECT name FROM emp WHERE pay < 5 AND pay > 9"
    assert why(verifier, "SELECT name FROM emp WHERE 0", never) == (None, "reference_empty")
    assert verifier.verify(never, reference(never)).passed
    # Empty on the given rows only: generated data tells them apart.
    assert why(
        verifier, "SELECT name FROM emp WHERE 0", "SELECT name FROM emp WHERE pay > 500"
    ) == (
        pytest.approx(0.2, abs=0.1),
        "coincidental",
    )


def test_the_witness_is_the_smallest_database_and_tells_them_apart(verifier):
    right, wrong = "SELECT name FROM emp WHERE pay >= 50", "SELECT name FROM emp WHERE pay > 50"
    verdict = verifier.verify(wrong, reference(right))
    assert verdict.evidence["why"] == "coincidental"
    database = sqlite3.connect(":memory:")
    database.executescript(DDL)
    database.executescript(verdict.evidence["witness"])
    assert database.execute("SELECT COUNT(*), MIN(pay) FROM emp").fetchall() == [(1, 50)]
    gives = [[list(row) for row in database.execute(sql)] for sql in (right, wrong)]
    assert gives == [verdict.evidence["reference_gives"], verdict.evidence["prediction_gives"]]


def test_the_tiers(verifier):
    sql = "SELECT name FROM emp WHERE pay > 75"
    assert verifier.verify(f"{sql} -- so", reference(sql)).evidence["tier"] == "same query"
    other = verifier.verify("SELECT name FROM emp WHERE NOT pay <= 75", reference(sql))
    assert other.evidence["tier"] == "generated data"
    assert other.parts["confidence"] == 1.0
    with SqlVerifier(workers=1, databases=0) as plain:
        weak = plain.verify("SELECT name FROM emp WHERE eid = 1", reference(sql))
        assert (weak.score, weak.evidence["tier"]) == (1.0, "given rows")


def test_confidence_is_the_share_of_mutants_that_die(verifier):
    verdict = verifier.verify(
        "SELECT COUNT(pay) FROM emp", reference("SELECT SUM(pay IS NOT NULL) FROM emp")
    )
    assert verdict.evidence["why"] == "coincidental"  # the empty table
    strength = verdict.evidence["strength"]
    assert 0 <= strength["killed_by_given_rows"] <= strength["killed"] <= strength["mutants"]


def test_any_of_several_references_will_do(verifier):
    both = reference(["SELECT MAX(pay) FROM emp", "SELECT MIN(pay) FROM emp"])
    assert verifier.verify("SELECT MIN(pay) FROM emp", both).passed
    assert verifier.verify("SELECT MAX(emp.pay) FROM emp", both).passed
    mixed = "SELECT CASE WHEN COUNT(*) = 3 THEN MAX(pay) ELSE MIN(pay) END FROM emp"
    assert not verifier.verify(mixed, both).passed


def test_expected_rows_without_a_query(verifier):
    expected = {"schema": DDL, "rows": ROWS, "expected": [["Vera"], ["Wim"]]}
    assert verifier.verify("SELECT name FROM emp WHERE dept = 'ops'", expected).passed
    assert why_of(verifier.verify("SELECT name FROM emp", expected)) == "wrong_rows"
    copied = verifier.verify("VALUES ('Vera'), ('Wim')", expected)
    assert (copied.score, copied.reason.value) == (0.0, "cheated")


def why_of(verdict: Verdict) -> object:
    return verdict.evidence["why"]


def test_a_database_file_is_read_and_never_touched(verifier, tmp_path):
    path = tmp_path / "data base?.sqlite"
    with sqlite3.connect(path) as made:
        made.executescript(f"{DDL};{ROWS}")
    made.close()
    before = path.read_bytes()
    file = {"database": str(path), "sql": "SELECT name FROM emp WHERE pay > 75"}
    assert verifier.verify("SELECT name FROM emp WHERE NOT pay <= 75", file).passed
    assert (
        verifier.verify("SELECT name FROM emp WHERE eid = 1", file).evidence["why"]
        == "coincidental"
    )
    for hostile in ("DELETE FROM emp", "VACUUM", "PRAGMA journal_mode = WAL", "REINDEX"):
        assert verifier.verify(hostile, file).score == 0.0
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_partial_credit_is_capped_and_can_be_turned_off(verifier):
    near = verifier.verify(
        "SELECT name FROM emp WHERE pay > 80", reference("SELECT name FROM emp WHERE pay > 60")
    )
    far = verifier.verify("SELECT pay FROM emp", reference("SELECT name FROM emp WHERE pay > 60"))
    assert 0 < far.score < near.score <= 0.3
    assert near.reason.value == "partial"
    assert set(near.parts) == {"linking", "clauses", "subtasks", "rows", "executable"}
    with SqlVerifier(workers=1, partial=0.0) as strict:
        verdict = strict.verify("SELECT pay FROM emp", reference("SELECT name FROM emp"))
        assert (verdict.score, verdict.reason.value) == (0.0, "mismatch")


def test_a_batch_is_what_one_by_one_gives(verifier):
    completions = ["SELECT name FROM emp", "DROP TABLE emp", None, "SELECT name FROM emp", "x"]
    references = [reference("SELECT name FROM emp")] * 4 + [reference("SELECT 1")]
    batch = verifier.verify_batch(completions, references)
    single = [verifier.verify(c, r) for c, r in zip(completions, references)]
    key = lambda v: (v.score, v.reason, v.detail, v.answer, json.dumps(v.evidence))  # noqa: E731
    assert [key(v) for v in batch] == [key(v) for v in single]


def test_chance_in_a_query_does_not_make_its_verdict_one_of_chance(verifier):
    coin = "SELECT name FROM emp WHERE random() % 2 = 0"
    seen = {verifier.verify(coin, reference("SELECT name FROM emp")).detail for _ in range(5)}
    assert len(seen) == 1


def test_it_travels_and_is_asked_from_asyncio(verifier):
    with pickle.loads(pickle.dumps(SqlVerifier(workers=1, partial=0.1))) as copy:
        assert copy.settings.partial == 0.1
        good = copy.averify("SELECT name FROM emp", reference("SELECT name FROM emp"))
        assert asyncio.run(good).passed


def test_efficiency_compares_steps():
    with SqlVerifier(workers=1, efficiency=True, timeout_s=60.0) as verifier:
        rows = {"emp": [[i, "n", "d", i] for i in range(2000)]}
        data = {"schema": DDL, "rows": rows, "sql": "SELECT COUNT(*) FROM emp WHERE pay > 5"}
        twice = "EXISTS (SELECT 1 FROM emp b WHERE b.pay = a.pay)"
        slow = f"SELECT COUNT(*) FROM emp a WHERE pay > 5 AND {twice}"
        verdict = verifier.verify(slow, data)
        assert verdict.passed
        assert verdict.parts["efficiency"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("SELECT 1", "an object with 'sql'"),
        ({"sql": "SELECT 1"}, "'schema'"),
        ({"schema": DDL}, "'sql' or 'expected'"),
        ({"schema": DDL, "sql": " "}, "none of them empty"),
        ({"schema": DDL, "sql": "SELECT 1", "sqll": 1}, "no 'sqll'"),
        ({"schema": DDL, "sql": "SELECT 1", "dialect": "foo"}, "'dialect'"),
        ({"schema": DDL, "sql": "SELECT 1", "order_matters": 1}, "'order_matters'"),
        ({"schema": DDL, "sql": "SELECT 1", "column_order": "x"}, "'column_order'"),
        ({"schema": DDL, "sql": "SELECT 1", "tie_key": [-1]}, "'tie_key'"),
        ({"schema": DDL, "sql": "SELECT 1", "rows": 3}, "'rows'"),
        ({"schema": DDL, "expected": ["a"]}, "'expected'"),
        ({"database": "/no/such/file", "sql": "SELECT 1"}, "'database' cannot be read"),
    ],
)
def test_a_reference_of_another_shape_is_the_callers_mistake(verifier, bad, message):
    with pytest.raises(InvalidReferenceError, match=message):
        verifier.verify("SELECT 1", bad)


@pytest.mark.parametrize(
    "options",
    [{"dialect": "x"}, {"databases": -1}, {"partial": 1.0}, {"timeout_s": 0}, {"max_steps": 1}],
)
def test_options_outside_their_values_are_named(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        SqlVerifier(**options)


def test_warnings_before_training(verifier):
    assert verifier.check_reference(reference("SELECT name FROM emp WHERE pay > 75")) == []
    [warning] = verifier.check_reference(reference("SELECT name FROM emp WHERE pay > 500"))
    assert "no rows on the given data" in warning
    never = verifier.check_reference(reference("SELECT name FROM emp WHERE pay < 1 AND pay > 2"))
    assert "every verdict abstains" in never[0]


def test_every_reason_in_evidence_has_one_in_the_closed_list():
    source = Path(SqlVerifier.__init__.__code__.co_filename).parent
    assert len(REASONS) >= 15
    raised = set()
    for path in source.rglob("*.py"):
        for line in path.read_text().splitlines():
            if 'QueryError("' in line:
                raised.add(line.partition('QueryError("')[2].partition('"')[0])
    assert raised - {"schema"} <= set(REASONS)


def test_the_command_line_scores_a_file(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"completion": text, "reference": reference("SELECT name FROM emp")}
        for text in ("SELECT name FROM emp", "SELECT pay FROM emp")
    ]
    source.write_text("\n".join(map(json.dumps, rows)))
    code = "import sys; from rewardkit.cli import main; sys.argv[0] = 'rewardkit'; main()"
    arguments = ["score", str(source), "--out", str(out), "--verifier", "sql"]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["score"] == 1.0 for row in scored] == [True, False]


HOSTILE = [
    None, [], [{}], "", "\0", "\ud800", "SELECT '\udfff'",
    "(" * 100_000 + "SELECT 1" + ")" * 100_000,
    "SELECT " + "NOT " * 4_000 + "1", "SELECT " + "CASE " * 3_000, "```\n" * 5_000,
    "<answer>" * 5_000, "x" * 3_000_000, "SELECT [", "SELECT ?", "SELECT \"", "SELECT 1 /*",
    "ATTACH '/tmp/rewardkit_hostile.db' AS x", "VACUUM INTO '/tmp/rewardkit_hostile.db'",
    "SELECT writefile('/tmp/rewardkit_hostile.db', 'x')", "PRAGMA writable_schema = 1",
    "SELECT * FROM pragma_database_list()", "SELECT randomblob(99999999)", "BEGIN", "COMMIT",
    "SELECT name LIKE '" + "%a" * 2_000 + "' FROM emp", "SELECT printf('%1000000000d', 1)",
    "SELECT * FROM " + ", ".join(f"emp x{i}" for i in range(20)),
]  # fmt: skip


def test_hostile_completions_get_a_verdict_and_leave_nothing(verifier):
    good = reference("SELECT name FROM emp")
    verdicts = verifier.verify_batch(HOSTILE, [good] * len(HOSTILE))
    assert not any(v.passed or v.abstained for v in verdicts)
    assert max(v.score for v in verdicts) <= 0.3
    assert all(len(v.to_json()) < 20_000 for v in verdicts)
    assert not Path("/tmp/rewardkit_hostile.db").exists()
    assert verifier.verify("SELECT name FROM emp", good).passed
