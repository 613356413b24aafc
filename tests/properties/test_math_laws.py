"""Laws of the math verifier: an answer is itself, and clothes change nothing."""

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rewardkit import MathVerifier
from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.errors import InvalidReferenceError
from rewardkit.testing.soup import MATH_REFERENCES, formula_soups
from rewardkit.testing.spellings import spellings
from rewardkit.verifiers.math import compile_reference

VERIFIER = MathVerifier(symbolic=False)
PRINTABLE = st.text(
    st.characters(max_codepoint=0x2FFF, exclude_categories=("C", "Zl", "Zp")), min_size=1
)


def boxed(answer: str) -> str:
    return f"So the answer is $\\boxed{{{answer}}}$."


@settings(max_examples=250)
@given(PRINTABLE | formula_soups() | st.sampled_from(MATH_REFERENCES))
@example("none")
@example("{")
@example("undefined")
@example("import os")
def test_what_compiles_as_a_reference_matches_itself(text):
    # Text that closes its box, or holds another, is not the answer that this completion gives.
    assume(extract_answer(boxed(text), AnswerPolicy()).text == text.strip())
    try:
        reference = compile_reference(text)
    except InvalidReferenceError:
        return
    assume(reference.text == text.strip())
    verdict = VERIFIER.verify(boxed(text), text)
    assert verdict.passed, verdict.detail


@pytest.mark.parametrize("text", ["The answer is 5", "the result is zero", "value = x"])
def test_a_reference_with_a_lead_in_matches_itself(text):
    assert VERIFIER.verify(boxed(text), text).passed


@settings(max_examples=100)
@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_reference_matches_its_own_digits(number):
    assert VERIFIER.verify(boxed(str(number)), number).passed


def sized(answer: str) -> str:
    """Returns the answer with \\left and \\right at its brackets, but for the degree of a root."""
    opened = re.sub(r"(?<!\\)[(\[](?!\d\])", r"\\left\g<0>", answer)
    return re.sub(r"(?<!\\)[)\]]", r"\\right\g<0>", opened)


CLOTHES = {
    "dollars": lambda a: f"${a}$",
    "two dollars": lambda a: f"$${a}$$",
    "parentheses of LaTeX": lambda a: f"\\({a}\\)",
    "brackets of LaTeX": lambda a: f"\\[{a}\\]",
    "spaces around": lambda a: f"  {a} ",
    "new lines around": lambda a: f"\n{a}\n",
    "thin spaces around": lambda a: f"\\,{a}\\;",
    "display style": lambda a: f"\\displaystyle {a}",
    "full stop": lambda a: f"{a}.",
    "bold": lambda a: f"**{a}**",
    "a second box": lambda a: f"\\boxed{{{a}}}",
    "three boxes": lambda a: f"\\boxed{{\\boxed{{{a}}}}}",
    "a frame": lambda a: f"\\fbox{{${a}$}}",
    "sized brackets": lambda a: sized(a),
    "wide commas": lambda a: re.sub(r",(?=\s)", ",\\\\ ", a),
    "display fractions": lambda a: a.replace("\\frac{", "\\dfrac{"),
    "two spaces for one": lambda a: re.sub(r"(?<!\d) | (?!\d)", "  ", a),
    "no-break spaces": lambda a: a.replace(" ", "\u00a0"),
    "full-width digits": lambda a: a.translate({ord("0") + d: 0xFF10 + d for d in range(10)}),
    "invisible characters": lambda a: f"\u200b{a}\u2060",
    "true minus signs": lambda a: a.replace("-", "−"),
}  # fmt: skip


@pytest.mark.parametrize("clothes", sorted(CLOTHES))
def test_clothes_change_nothing(clothes):
    @settings(max_examples=40)
    @given(spellings(), st.booleans())
    def check(case, right):
        answer = case.right if right else case.wrong
        dressed = CLOTHES[clothes](answer)
        verdict = VERIFIER.verify(boxed(dressed), case.reference)
        assert verdict.score == float(right), (case, dressed, verdict.detail)

    check()


PLACES = {
    "box": "We find {}.\n\n\\[\\boxed{{{}}}\\]",
    "line": "We find it.\n\nAnswer: ${1}$",
    "bold line": "We find it.\n\n**Final Answer:** ${1}$",
    "hashes": "We find it.\n#### {1}",
    "tag": "We find it. <answer>{1}</answer>",
    "phrase": "Therefore, the answer is ${1}$.",
    "after thinking": "<think>Is it \\boxed{{7}}? Answer: 8.</think>\nSo it is $\\boxed{{{1}}}$.",
}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_the_place_of_the_answer_changes_nothing(place):
    @settings(max_examples=30)
    @given(spellings(), st.booleans())
    def check(case, right):
        answer = case.right if right else case.wrong
        completion = PLACES[place].format("it", answer)
        verdict = VERIFIER.verify(completion, case.reference)
        assert verdict.score == float(right), (case, verdict.answer, verdict.detail)

    check()
