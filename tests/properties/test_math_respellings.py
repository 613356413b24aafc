"""One value has many spellings, and all of them match; another value has none that does."""

import pytest
from hypothesis import given, settings

from rewardkit import MathVerifier
from rewardkit.testing.spellings import SPELLINGS

VERIFIER = MathVerifier(symbolic=False)
"""Without the last tier: these pairs are what the tiers in the caller's process must decide."""

kinds = pytest.mark.parametrize("kind", sorted(SPELLINGS))


def graded(answer: str, reference: str):
    return VERIFIER.verify(f"So the answer is $\\boxed{{{answer}}}$.", reference)


@kinds
def test_spellings_of_the_value_match_and_of_another_value_do_not(kind):
    @settings(max_examples=30)
    @given(SPELLINGS[kind])
    def check(case):
        right = graded(case.right, case.reference)
        assert right.passed, (case, right.detail)
        wrong = graded(case.wrong, case.reference)
        assert wrong.score == 0.0, (case, wrong.detail)

    check()


@kinds
def test_reference_and_answer_may_change_places(kind):
    @settings(max_examples=15)
    @given(SPELLINGS[kind])
    def check(case):
        for other in (case.right, case.wrong):
            forth, back = graded(other, case.reference), graded(case.reference, other)
            assert forth.score == back.score, (case, forth.detail, back.detail)

    check()
