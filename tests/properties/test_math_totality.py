"""Whatever a model writes, there is a verdict."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewardkit import MathVerifier, Verdict
from rewardkit.errors import InvalidReferenceError
from rewardkit.testing.strategies import (
    any_texts,
    formula_soups,
    json_values,
    math_references,
    soups,
)
from rewardkit.verdict import Reason

VERIFIER = MathVerifier(mode="lenient", symbolic=False)
references = math_references()


def check_verdict(verdict: Verdict) -> None:
    assert isinstance(verdict, Verdict)
    assert verdict.score in (0.0, 1.0, None)
    assert (verdict.score == 1.0) == (verdict.reason is Reason.MATCH)
    assert verdict.detail
    # As text, since JSON spells a surrogate pair and its character alike.
    assert Verdict.from_json(verdict.to_json()).to_json() == verdict.to_json()
    json.dumps(verdict.to_dict()).encode("ascii")


@settings(max_examples=300)
@given(soups(), references)
def test_any_text_gets_a_verdict(text, reference):
    check_verdict(VERIFIER.verify(text, reference))


@settings(max_examples=500)
@given(formula_soups() | any_texts(), references, st.booleans())
def test_any_boxed_text_gets_a_verdict(text, reference, comma):
    verifier = MathVerifier(symbolic=False, decimal_comma=comma)
    check_verdict(verifier.verify(f"The answer is $\\boxed{{{text}}}$.", reference))


@settings(max_examples=200)
@given(
    formula_soups() | any_texts(), formula_soups() | st.sampled_from(["5", "x=2", "(1,2)", "six"])
)
def test_any_reference_is_read_or_refused(reference, answer):
    try:
        verdict = VERIFIER.verify(f"\\boxed{{{answer}}}", reference)
    except InvalidReferenceError:
        return
    check_verdict(verdict)


@settings(max_examples=200)
@given(json_values())
@example([{"role": "assistant", "content": [{"type": "text", "text": "\\boxed{5}"}]}])
@example([{"role": "assistant", "content": {"text": 5}}])
def test_a_completion_of_any_shape_gets_a_verdict(completion):
    check_verdict(VERIFIER.verify(completion, "5"))


@settings(max_examples=200)
@given(json_values())
def test_a_reference_of_any_shape_is_read_or_refused(reference):
    try:
        warnings = VERIFIER.check_reference(reference)
    except InvalidReferenceError:
        return
    assert all(isinstance(line, str) and line for line in warnings)


@settings(max_examples=150)
@given(soups(), references)
def test_the_verdict_depends_on_nothing_before_it(text, reference):
    first = VERIFIER.verify(text, reference)
    VERIFIER.verify("\\boxed{7}", reference)
    again = MathVerifier(mode="lenient", symbolic=False).verify(text, reference)
    assert (first.score, first.reason, first.answer, first.detail) == (
        again.score,
        again.reason,
        again.answer,
        again.detail,
    )
