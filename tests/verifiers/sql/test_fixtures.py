"""Every case of the fixtures, and what the optional labelled cases must reach."""

import glob
from collections import Counter
from pathlib import Path

import pytest

from rewardkit.verdict import Verdict
from rewardkit.verifiers.sql import SqlVerifier
from tests.verifiers.sql.cases import Case, read_cases

CASES = read_cases()


@pytest.fixture(scope="module")
def verdicts(verifier: SqlVerifier) -> dict[str, Verdict]:
    found = verifier.verify_batch([c.completion for c in CASES], [c.reference for c in CASES])
    return {case.id: verdict for case, verdict in zip(CASES, found)}


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_fixtures_are_judged_as_labelled(case: Case, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[case.id]
    assert verdict.passed == case.label, (case.why, verdict)
    assert not verdict.abstained
    assert case.label or verdict.score <= 0.3


def test_every_case_says_why_and_has_its_own_id() -> None:
    assert all(case.why for case in CASES)
    assert max(Counter(case.id for case in CASES).values()) == 1


@pytest.mark.parametrize("kind", ["guard", "bomb"])
def test_what_is_refused_gets_no_credit(kind: str, verdicts: dict[str, Verdict]) -> None:
    assert {verdicts[case.id].score for case in CASES if case.kind == kind} == {0.0}


def test_constants_get_no_credit(verdicts: dict[str, Verdict]) -> None:
    constant = [v for v in verdicts.values() if "constants_only" in v.evidence.get("signals", ())]
    assert len(constant) >= 4
    assert {verdict.score for verdict in constant} == {0.0}


def test_no_case_leaves_a_file(verdicts: dict[str, Verdict]) -> None:
    assert verdicts
    assert glob.glob("/tmp/rewardkit_fixture*") == []


def test_the_labelled_cases_are_all_right(shared_dir: Path, verifier: SqlVerifier) -> None:
    path = shared_dir / "cases" / "sql" / "cases.jsonl"
    if not path.is_file():
        pytest.skip(f"no labelled cases in {shared_dir}")
    cases = read_cases(path)
    found = verifier.verify_batch([c.completion for c in cases], [c.reference for c in cases])
    wrong = [case.id for case, verdict in zip(cases, found) if verdict.passed != case.label]
    assert wrong == []
