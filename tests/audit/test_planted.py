"""The audit finds planted faults by their root cause, and is silent on good rewards.

`benchmarks/audit_mutants.py` runs all of them; here is one of each sort.
"""

import pytest

from benchmarks.audit_mutants import audit_planted, read_planted
from tests._needs import needs

needs("hypothesis")

MUTANTS = {row.reward.partition(":")[2]: row for row in read_planted("mutants.jsonl")}
GOOD = {row.reward.partition(":")[2]: row for row in read_planted("good.jsonl")}


@pytest.mark.parametrize(
    "name",
    [
        "word_match",
        "first_box",
        "none_is_none",
        "all_options",
        "drops_rows",
        "cached",
        "status_decides",
    ],
)
def test_a_planted_fault_is_found_by_its_root_cause_and_named_once(name):
    slugs, _, _ = audit_planted(MUTANTS[name])
    assert MUTANTS[name].judge(slugs) == (True, True), slugs


@pytest.mark.parametrize("name", ["graded_number", "chat_only", "letter", "tag_share"])
def test_a_good_reward_gets_no_finding(name):
    slugs, _, _ = audit_planted(GOOD[name])
    assert slugs == []


def test_there_are_enough_planted_faults_and_good_rewards():
    assert len(MUTANTS) >= 40
    assert len(GOOD) >= 15
