"""The rows that benchmarks grade."""

import pytest

from benchmarks._cases import (
    HARDEST_KINDS,
    HOSTILE_KINDS,
    case_files,
    gsm8k_file,
    load_cases,
    load_gsm8k,
    long_cases,
)
from rewardkit import MathVerifier


def test_the_fixtures_are_always_there_and_hold_every_kind_that_tables_name():
    cases = load_cases(case_files()["fixtures"])
    assert {*HARDEST_KINDS, *HOSTILE_KINDS} <= {case.kind for case in cases}
    assert len({case.id for case in cases}) == len(cases)


def test_a_repeated_completion_is_written_out_in_full():
    cases = load_cases(case_files()["fixtures"])
    assert max(len(case.completion) for case in cases) > 500_000


def test_a_long_case_has_the_length_it_says_and_its_answer_is_right():
    for length in (512, 4_096):
        cases = long_cases(length, 3)
        assert [len(case.completion) for case in cases] == [length] * 3
        assert len({case.completion for case in cases}) == 3
        for case in cases:
            assert MathVerifier().verify(case.completion, case.reference).passed


def test_shared_files_have_both_labels(shared_dir):
    second, gsm8k = case_files().get("second set"), gsm8k_file()
    if second is None or gsm8k is None:
        pytest.skip(f"no second set or no GSM8K solutions in {shared_dir}")
    assert {case.label for case in load_cases(second)} == {True, False}
    solutions = load_gsm8k(gsm8k)
    assert len(solutions) == 5_276
    assert {case.label for case in solutions} == {True, False}
    assert not [case.id for case in solutions if not case.reference]
