"""A grader in a process of its own."""

import os

from benchmarks import _graders
from benchmarks._cases import Case, case_files, load_cases
from benchmarks._contexts import CONTEXTS, run_in
from benchmarks._graders import builder
from benchmarks._measure import descendants, judge, resident_kib, time_passes
from tests.benchmarks.graders import obedient

OURS = "rewardkit, lenient"
RIGHT = Case("a", "k", "0.5", r"So \boxed{\frac12}.", True)
WRONG = Case("b", "k", "0.5", r"So \boxed{2}.", False)


def test_verdicts_are_compared_with_labels():
    mislabelled = Case("c", "k", "0.5", r"So \boxed{2}.", True)
    found = judge(builder(OURS), [RIGHT, WRONG, mislabelled], limit_s=30)
    assert [j.right for j in found] == [True, True, False]
    assert [j.grade.tier for j in found][:1] == ["exact"]
    assert not any(j.killed or j.error or j.ran_code for j in found)


def test_a_grader_that_does_not_answer_is_killed_and_the_next_row_is_graded():
    hang = Case("h", "k", "7", "hang", False)
    died = Case("d", "k", "7", "die", False)
    broken = Case("r", "k", "7", "raise", False)
    found = judge(obedient, [hang, died, broken, RIGHT], limit_s=3)
    assert [j.killed for j in found] == [True, True, False, False]
    assert [j.error for j in found] == ["", "died", "ValueError", ""]
    assert [j.grade.passed for j in found] == [None, None, None, True]
    assert found[0].wall_s >= 3


def test_each_pass_times_each_row_and_names_its_tier():
    passes = time_passes(builder(OURS), [RIGHT, WRONG], passes=2)
    assert [[t.case_id for t in one] for one in passes] == [["a", "b"], ["a", "b"]]
    assert all(t.cpu_ms > 0 and t.tier == "exact" for one in passes for t in one)


def test_every_peer_that_is_installed_passes_a_plain_right_answer_and_not_a_wrong_one():
    names = _graders.available()
    assert OURS in names
    for name in names:
        found = judge(builder(name), [RIGHT, WRONG], limit_s=30)
        assert [j.grade.passed for j in found] == [True, False], name


def test_all_contexts_but_ray_agree_on_a_few_rows():
    cases = load_cases(case_files()["fixtures"])[::97]
    main = run_in("main thread", cases)
    assert {score for score, _, _ in main} >= {0.0, 1.0}
    for context in CONTEXTS:
        if not context.startswith("Ray"):
            assert run_in(context, cases) == main, context


def test_memory_and_children_of_this_process_are_seen():
    assert resident_kib([os.getpid()]) > 10_000
    assert os.getpid() not in descendants(os.getpid())
    assert os.getpid() in descendants(os.getppid())
