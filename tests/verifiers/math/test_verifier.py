"""What MathVerifier promises: its options, its verdicts, its references."""

import itertools
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewardkit import MathVerifier, Verifier
from rewardkit.answer import AnswerPolicy
from rewardkit.errors import ConfigError, InvalidReferenceError, RewardkitError
from rewardkit.verdict import Reason
from rewardkit.verifiers.math import MathReference, compile_reference
from rewardkit.verifiers.math._numeric import COUNTING, sample_points
from tests.runtime.processes import environment

VERIFIER = MathVerifier(symbolic=False)


def boxed(answer: str) -> str:
    return f"The answer is $\\boxed{{{answer}}}$."


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"mode": "loose"}, "mode"),
        ({"mode": None}, "mode"),
        ({"significant_figures": 0}, "significant_figures"),
        ({"significant_figures": -1}, "significant_figures"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": -1.0}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"workers": 0}, "workers"),
    ],
)
def test_an_option_outside_its_values_is_named(options, name):
    with pytest.raises(ConfigError, match=name):
        MathVerifier(**options)


def test_options_are_keywords():
    with pytest.raises(TypeError):
        MathVerifier("lenient")  # type: ignore[misc]


def test_it_is_a_verifier_and_cheap_to_make():
    assert isinstance(VERIFIER, Verifier)
    assert VERIFIER.name == "math"
    code = """if True:
        import sys, rewardkit
        rewardkit.MathVerifier().verify('\\\\boxed{5}', '5')
        print({'sympy', 'math_verify', 'pint'} & set(sys.modules))
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (boxed("5"), Reason.MATCH),
        (boxed("6"), Reason.MISMATCH),
        ("Let me think.", Reason.NO_ANSWER),
        ("", Reason.NO_ANSWER),
        (None, Reason.NO_ANSWER),
        (boxed(""), Reason.NO_ANSWER),
        (boxed("?"), Reason.NO_ANSWER),
        (boxed("\\text{your answer}"), Reason.NO_ANSWER),
        ("<think>5", Reason.TRUNCATED),
        ("It is \\boxed{5", Reason.TRUNCATED),
        ("\\boxed{5}, \\boxed{6}", Reason.AMBIGUOUS),
        (boxed("5 +"), Reason.UNPARSABLE),
        (boxed("2+3"), Reason.UNEVALUATED),
        (boxed("9" * 50_000), Reason.SIZE_LIMIT),
        (boxed("9^{9^{9^9}}"), Reason.SIZE_LIMIT),
        (boxed("__import__('os')"), Reason.FORBIDDEN),
    ],
)
def test_every_outcome_has_its_reason(completion, reason):
    verdict = VERIFIER.verify(completion, "5")
    assert verdict.reason is reason, verdict
    assert verdict.score == float(reason is Reason.MATCH)


def test_a_verdict_says_what_was_graded_and_which_tier_decided():
    completion = "Half of it: \\boxed{\\frac{1}{2}}."
    verdict = VERIFIER.verify(completion, "0.5")
    assert verdict.answer == "\\frac{1}{2}"
    start, end = verdict.evidence["span"]
    assert completion[start:end] == verdict.answer
    assert verdict.evidence["marker"] == "box"
    assert verdict.detail.startswith(f"{verdict.evidence['tier']}: ")
    assert verdict.seconds > 0


@pytest.mark.parametrize(
    ("answer", "reference", "tier"),
    [
        ("42", "42", "canonical"),
        ("\\frac{1}{2}", "0.5", "exact"),
        ("(x+1)^2", "x^2+2x+1", "algebra"),
        ("\\sin^2 x + \\cos^2 x", "1", "numeric"),
        ("x>3", "(3,\\infty)", "sets"),
        ("\\text{the red apple}", "red apple", "words"),
    ],
)
def test_the_cheapest_tier_that_can_decides(answer, reference, tier):
    verdict = VERIFIER.verify(boxed(answer), reference)
    assert verdict.passed, verdict
    assert verdict.evidence["tier"] == tier


def test_strict_asks_for_a_commitment_and_lenient_does_not():
    text = "We add them, so there are 12 apples."
    assert MathVerifier(mode="strict", symbolic=False).verify(text, "12").reason is Reason.NO_ANSWER
    assert MathVerifier(mode="lenient", symbolic=False).verify(text, "12").passed


def test_a_policy_overrides_the_mode():
    only = MathVerifier(mode="lenient", policy=AnswerPolicy(box_only=True), symbolic=False)
    assert only.verify("Answer: 12", "12").reason is Reason.NO_ANSWER
    assert only.verify("\\boxed{12}", "12").passed


def test_significant_figures_are_an_option():
    three = MathVerifier(significant_figures=3, symbolic=False)
    for answer in ("3.14", "3.142", "\\frac{22}{7}"):
        assert three.verify(boxed(answer), "\\pi").passed
        assert not VERIFIER.verify(boxed(answer), "\\pi").passed
    assert not three.verify(boxed("3.1"), "\\pi").passed
    assert not three.verify(boxed("3.2"), "\\pi").passed


def test_significant_figures_are_counted_in_units_of_the_figure():
    three = MathVerifier(significant_figures=3, symbolic=False)
    assert not three.verify(boxed("3.15"), "\\pi").passed
    assert not three.verify(boxed("9.76"), "9.8").passed


def test_a_decimal_comma_is_an_option():
    comma = MathVerifier(decimal_comma=True, symbolic=False)
    assert comma.verify(boxed("1.234"), "1234").passed
    assert comma.verify(boxed("1.234,5"), "1234.5").passed
    assert VERIFIER.verify(boxed("1.234"), "1.234").passed


@pytest.mark.parametrize(
    "reference",
    ["", "  ", "$$", "$ $", ".", "\\boxed{}", None, float("nan"), float("inf"), float("-inf"), [],
     ["5"], {}, {"answer": "5"}, b"5", (1, 2), object(), "nan", "NaN", "null", "N/A", "n/a",
     "unknown", "?"],
)  # fmt: skip
def test_what_is_no_reference_is_an_error_that_says_so(reference):
    for call in (
        VERIFIER.check_reference,
        compile_reference,
        lambda r: VERIFIER.verify(boxed("5"), r),
    ):
        with pytest.raises(InvalidReferenceError, match="reference") as caught:
            call(reference)
        assert isinstance(caught.value, RewardkitError)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (5, "5"),
        (-5, "-5"),
        (0.5, "\\frac{1}{2}"),
        (1e-7, "10^{-7}"),
        (1e22, "10^{22}"),
        (10**400, "10^{400}"),
        (True, "\\text{True}"),
        (False, "\\text{false}"),
        ("#### 42", "42"),
        ("We add 40 and 2.\n#### 42", "42"),
        ("Adding the two gives us $x = 42$, so it is \\boxed{42}.", "42"),
        ("$42$", "42"),
        ("\\boxed{42}", "42"),
    ],
)
def test_numbers_and_worked_solutions_are_references(reference, answer):
    assert VERIFIER.verify(boxed(answer), reference).passed
    assert not VERIFIER.verify(boxed("43"), reference).passed


def test_a_plain_reference_has_no_warnings():
    for reference in (
        "42",
        "\\frac{1}{2}",
        "(1, 2)",
        "x^2+1",
        "yes",
        "(B)",
        "red apple",
        "March 5, 2021",
        "5\\text{ cm}",
    ):
        assert VERIFIER.check_reference(reference) == [], reference


@pytest.mark.parametrize(
    ("reference", "warning"),
    [
        ("1,234", "two readings"),
        ("\\foo{5}", "only an identical answer"),
        ("\\frac{1}{", "only an identical answer"),
    ],
)
def test_a_reference_that_can_be_misread_is_warned_of(reference, warning):
    found = VERIFIER.check_reference(reference)
    assert len(found) == 1
    assert warning in found[0]


def test_a_reference_that_is_not_understood_accepts_itself_and_abstains_otherwise():
    assert VERIFIER.verify(boxed("\\foo{5}"), "\\foo{5}").passed
    assert VERIFIER.verify(boxed("5"), "\\foo{5}").score is None


@pytest.mark.parametrize(
    ("reference", "kind", "arity"),
    [
        ("42", "math", 1),
        ("(1, 2, 3)", "math", 3),
        ("1, 2", "math", 2),
        ("\\{1, 2\\}", "math", 2),
        ("\\pm 2", "math", 2),
        ("(a) 5, (b) 7", "math", 2),
        ("(B)", "options", 1),
        ("A, C", "options", 2),
        ("3:45 PM", "clock", 1),
        ("March 5, 2021", "date", 1),
        ("yes", "truth", 1),
        ("a red apple", "text", 1),
        ("\\foo", "opaque", 1),
    ],
)
def test_the_reference_says_what_is_asked_for(reference, kind, arity):
    compiled = compile_reference(reference)
    assert isinstance(compiled, MathReference)
    assert (compiled.kind, compiled.arity) == (kind, arity)


@pytest.mark.parametrize(
    ("reference", "answer", "accepted"),
    [
        ("(2,3)", "(2, 3)", True),
        ("2<x<3", "(2,3)", True),
        ("2,3", "3, 2", True),
        ("(2,3)", "(3,2)", False),
        ("3.5", "3,5", True),
        ("3, 5", "3.5", False),
        ("1234", "1,234", True),
        ("1, 234", "1,234", True),
        ("100000", "1e5", True),
        ("C", "(C)", True),
        ("\\{1,2,3\\}", "1", False),
        ("\\{1,2,3\\}", "1, 2, 3, 4", False),
        ("1,2", "1", False),
        ("1", "1, 2", False),
    ],
)
def test_the_reference_guides_how_ambiguous_text_is_read(reference, answer, accepted):
    assert VERIFIER.verify(boxed(answer), reference).passed is accepted


ONCE_REFUSED = [
    ("6", "six"),
    ("10", "ten"),
    ("6000", "six thousand"),
    ("21", "twenty-one"),
    ("\\frac{3}{2}", "1  1/2"),
    ("\\frac{1}{3}", "0.333..."),
    ("50 dB", "50\\text{ dB}"),
    ("5", "5\\,\\mathrm{m}"),
    ("5\\,\\mathrm{m}", "500\\text{ cm}"),
    ("20\\,\\mathrm{m/s}", "20\\text{ m/s}"),
    ("1/2<x<100/3", "x\\in(1/2,100/3)"),
    ("\\frac{x}{2}", "\\frac x2"),
    ("x\\equiv 1\\pmod 3", "x\\equiv 1, 4\\pmod 6"),
    ("\\mathbb{R}", "x^2\\ge 0"),
]
"""Right answers that were misread once."""


@pytest.mark.parametrize(("reference", "answer"), ONCE_REFUSED)
def test_right_answers_are_read_right(reference, answer):
    verdict = VERIFIER.verify(boxed(answer), reference)
    assert verdict.passed, verdict


def test_an_infinite_sum_with_a_parameter_is_not_shown_wrong():
    answer = "\\sum_{k=0}^{\\infty}\\frac{x^k}{k!}"
    assert VERIFIER.verify(boxed(answer), "e^x").score != 0.0


SPACES = st.text(" \t\n~", min_size=1, max_size=4) | st.sampled_from(
    [
        "\\,",
        "\\;\\;",
        "\\quad",
        "\\qquad",
        "\\enspace",
        "\\thickspace",
        "\\ ",
        "\\hspace{1em}",
        "\\phantom{x}",
    ]
)


@given(
    st.text("123456789", min_size=1, max_size=2),
    SPACES,
    st.text("123456789", min_size=1, max_size=2),
)
def test_white_space_makes_no_number_of_two(left, gap, right):
    assert not VERIFIER.verify(boxed(left + gap + right), left + right).passed


@given(st.integers(0, 99), SPACES, st.integers(0, 99))
@example(0, "\\quad", 0)
@example(0, "\\enspace", 0)
@example(0, "\\negthinspace", 0)
@example(1, "\\hspace{1em}", 1)
def test_white_space_makes_no_decimal_of_two_numbers(left, gap, right):
    for answer in (f"{left}.{gap}{right}", f"{left}{gap}.{right}"):
        assert not VERIFIER.verify(boxed(answer), f"{left}.{right}").passed


CLOSED_FORMS = [
    ("\\sum_{k=1}^{n} k", "\\frac{n(n+1)}{2}", "\\frac{n(n-1)}{2}"),
    ("\\sum_{1\\le k\\le n} k^2", "\\frac{n(n+1)(2n+1)}{6}", "\\frac{n(n+1)(2n-1)}{6}"),
    ("\\sum_{k=0}^{n} x^k", "\\frac{1-x^{n+1}}{1-x}", "\\frac{1-x^{n+1}}{1-x}+\\sin(\\pi x)"),
    ("\\sum_{k=0}^{n} \\binom{n}{k}", "2^n", "2^n+10^{-30}"),
    ("\\prod_{i=1}^{m} i", "m!", "(m-1)!"),
    ("\\sum_{j=0}^{t-1} (j+1)", "\\frac{t^2+t}{2}", "\\frac{t^2-t}{2}"),
    ("\\sum_{k\\ge 1} \\frac{1}{k^2}", "\\frac{\\pi^2}{6}", "\\frac{\\pi^2}{7}"),
]
"""Sums and products, what they are, and what they are not."""


@pytest.mark.parametrize(("series", "closed", "other"), CLOSED_FORMS)
def test_a_sum_is_its_closed_form_on_either_side(series, closed, other):
    assert VERIFIER.verify(boxed(closed), series).passed
    if "\\pi^2" not in closed:  # Against a constant, a sum is the task, not its value.
        assert VERIFIER.verify(boxed(series), closed).passed
        assert not VERIFIER.verify(boxed(series), other).passed
    assert VERIFIER.verify(boxed(other), series).score == 0.0


def test_the_signs_of_two_symbols_are_independent():
    pairs = list(itertools.combinations("abcdkmnpqrstuvwxyz", 2))
    tied = 0
    for one, other in pairs:
        signs = zip(sample_points(one)[3:12], sample_points(other)[3:12], strict=True)
        tied += len({a * b > 0 for a, b in signs}) == 1
    assert tied <= 3  # by chance, 153 pairs of nine signs have 0.6


def test_a_sum_cannot_be_met_at_the_sample_points_only():
    points = sample_points("n")
    aimed = "".join(f"(n-{points[at]})" for at in COUNTING)
    answer = f"\\frac{{n(n+1)}}{{2}}+{aimed}"
    assert VERIFIER.verify(boxed(answer), "\\sum_{k=1}^{n} k").score == 0.0
