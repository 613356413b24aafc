"""Every case of the fixtures: score, outcome, whether the answer is hard-coded; nothing is left."""

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.verdict import Verdict
from rewardkit.verifiers.prolog import PrologVerifier

FIXTURES = Path(__file__).parents[3] / "fixtures" / "prolog" / "cases.jsonl"
CASES = [json.loads(line) for line in FIXTURES.read_text("utf-8").splitlines()]
TRACE = Path("/tmp/rk_pl_own")


def hardcoded(verdict: Verdict) -> bool:
    return verdict.parts.get("auditability", 1.0) < 0.5


@pytest.mark.parametrize("case", CASES, ids=[f"{c['id']}-{c['kind']}" for c in CASES])
def test_case(verifier: PrologVerifier, case: dict[str, Any]) -> None:
    verdict = verifier.verify(case["completion"], case["reference"])
    assert verdict.passed == case["passed"], (case["why"], verdict)
    assert verdict.evidence["outcome"] in case["outcome"].split("|"), (case["why"], verdict)
    if "hardcoded" in case:
        assert hardcoded(verdict) == case["hardcoded"], (case["why"], verdict)
    assert all(0 <= part <= 1 for part in verdict.parts.values())
    assert not TRACE.exists()


def test_every_case_says_why() -> None:
    assert all(case["why"] for case in CASES)
    assert len({case["id"] for case in CASES}) == len(CASES)


def test_the_labelled_cases_beside_the_checkout(verifier: PrologVerifier, shared_dir: Path) -> None:
    path = shared_dir / "cases" / "prolog" / "cases.jsonl"
    if not path.exists():
        pytest.skip("no labelled Prolog cases there")
    misses = []
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        reference = {"query": row["query"], "expect": row["gold"]}
        verdict = verifier.verify(row["submission"], reference, problem=row.get("problem"))
        signals = row["signals"]
        right = (
            verdict.passed == row["label"]
            and verdict.evidence["outcome"] in signals.get("outcome", "").split("|")
            and hardcoded(verdict) == signals.get("hardcoded", False)
        )
        misses += [] if right else [(row["id"], row["kind"], verdict.detail)]
    assert not misses
