"""Equalities in prose: what is checked, what is left alone, and the first wrong step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.process import EqualityVerifier, by_sentence, check_equalities
from rewardkit.process._chains import find_chains
from rewardkit.verdict import Reason
from rewardkit.verifiers.math.expressions import Expression


def checked(*steps, **options):
    return [link.same for link in check_equalities(steps, **options) if link.same is not None]


RIGHT = [
    "2 + 3 = 5 = 10/2",
    "So $2 \\cdot 3 = 6$.",
    r"Then \(\frac{1}{2} + \frac{1}{3} = \frac{5}{6}\).",
    "we get 3(2 + 1) = 9, and 9 - 4 = 5.",
    "48/2 = 24 clips",
    "She earns $12 * 0.5 = $6.",
    "10/3 = 3.33",
    "10/3 ≈ 3.3",
    "2000 / 75 = 26.666666666666668",
    "80 / 26.666666666666668 = 3",
    "1,000 * 3 = 3,000",
    "(x + 1)^2 = x^2 + 2x + 1",
    "3 x 4 = 12",
    "2³ = 8",
    "5! = 120",
    "the sum is ((1 + 2) + 3) = 6",
    "(since 3 + 4 = 7)",
    "2) 3 + 4 = 7",
    "<<48/2=24>>24",
    "sqrt(16) + 1 = 5",
    "0.5 * 20% = 0.1",
]
WRONG = [
    "2 + 3 = 6",
    "2 + 3 = 5 = 11/2",
    r"\frac{1}{2} + \frac{1}{3} = \frac{2}{5}",
    "48/2 = 23 clips",
    "(-6 + 3) * 2 = -18 + 6 = -12",
    "5! = 100",
    "10/3 = 3.34",
    "2000 / 75 = 26.666666666667668",
]
LEFT_ALONE = [
    "x^2 + 2x = 3",  # an equation to be solved
    "f(x) = x^2",
    "20% of 50 = 10",
    "3 apples + 5 = 8",
    "2 hours = 120 minutes",
    "half of the total = 8 apples + 2 oranges",
    "5 * 1000 = 5 thousand",
    "if a >= 3 and b <= 2 then a != b",
    "total = 7",
    "x := 3 + 4",
    "n == 5 + 6",
    "3 + 4 => 8",
    "the remaining 50 = 10 + 30",
    "no equality here. 3 + 4",
    "1 = ",
    "= 3",
    "= = =",
    "from 1:00 to 5:00 - 1:00 = 4 hours",
    "it ends at 3 + 2 = 5:30",
    "$350 000 + $17 500 = $367 500",
    "first. + 42 = 409",
]


@pytest.mark.parametrize("step", RIGHT)
def test_what_holds_is_seen_to_hold(step):
    assert checked(step)
    assert all(checked(step))


@pytest.mark.parametrize("step", WRONG)
def test_what_does_not_hold_is_seen(step):
    assert False in checked(step)


@pytest.mark.parametrize("step", LEFT_ALONE)
def test_what_is_no_claim_about_numbers_is_left_alone(step):
    assert checked(step) == []


def test_symbols_keep_the_value_that_the_completion_gives_them():
    assert checked("A = 2 * 3 = 6 and B = A + 1 = 7.", "A * B = 42") == [True, True, True]
    assert checked("A = 2 * 3 = 7", "A + 1 = 8") == [False, True]  # carried on, not made again
    assert checked("where A = (2 + 3)", "Let's calculate A = (2 + 4) = 6") == [False, True]
    assert checked("5 + 6 = x", "2x = 22") == [True]


def test_a_symbol_may_be_set_anew_where_the_step_says_so():
    assert checked("x = 3 + 1 = 4", "or x = 2 + 3 = 5") == [True, True]
    assert checked("x = 3 + 1 = 4", "x = 2 + 3 = 5") == [True, False, True]
    assert checked("x = 3 + 1 = 4", "x = 2 + 3 = 5", consistent_symbols=False) == [True, True]


def test_a_symbol_that_is_set_by_itself_is_not_known():
    assert checked("x = x + 1", "x = 4 + 1 = 5") == [True]


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("2x + 3 = 7 ⇒ 2x = 4 ⇒ x = 2", [True, True]),
        (r"$2x + 3 = 7 \implies 2x = 10$", [False]),
        ("3(y - 1) = 6 => y = 3", [True]),
        ("x = 2 ⇒ x^2 = 4", [True]),  # by the value of x: the equations are not the same
        ("x^2 = 4 ⇒ x = 2", []),
        ("x = 2 ⇒ y = 2", []),
        ("2x = 4 ⇒ 0 = 0", [True]),
        ("1/x = 2 ⇒ x = 1/2", []),
    ],
)
def test_linear_equations_that_arrows_join_have_the_same_solution(step, found):
    assert checked(step) == found


def test_parts_of_a_task_may_use_a_symbol_anew():
    assert checked("x = 10/2 = 5", "(b) x = 9/3 = 3") == [True, True]


def test_the_first_wrong_step_is_located_and_shown():
    text = "Plan: add.\n2 + 3 = 5\n5 * 4 = 21 = 20 + 1\n21 + 1 = 23"
    verdict = EqualityVerifier().verify(text, None)
    assert [step.score for step in verdict.steps] == [None, 1.0, 0.0, 0.0]
    assert "".join(text[s.start : s.end] for s in verdict.steps) == text
    assert verdict.score == 0.0
    assert verdict.reason is Reason.MISMATCH
    assert verdict.evidence["first_error"] == 2
    assert verdict.detail == "equalities: 5 * 4 is not 21"


def test_no_equality_is_an_abstention_and_all_right_is_a_match():
    assert EqualityVerifier().verify("Nothing to see.", None).score is None
    assert EqualityVerifier().verify("", None).score is None
    assert EqualityVerifier().verify("1 + 1 = 2", None).passed
    chat = [{"role": "user", "content": "1+1=3"}, {"role": "assistant", "content": "1+1=2"}]
    assert EqualityVerifier().verify(chat, None).passed


def test_steps_may_be_cut_otherwise():
    verdict = EqualityVerifier(segment=by_sentence).verify("1 + 1 = 2. So 2 + 2 = 5.", None)
    assert verdict.evidence["first_error"] == 1
    with pytest.raises(ConfigError, match="segment"):
        EqualityVerifier(segment="lines")


@given(st.text(st.sampled_from("0123+-*/=().,{}[]\\ $xAab%!^<>≈²\n'"), max_size=120))
def test_hostile_text_neither_raises_nor_loses_its_place(text):
    verdict = EqualityVerifier().verify(text, None)
    assert "".join(text[s.start : s.end] for s in verdict.steps) == text
    for chain in find_chains(text):
        for member in chain.members:
            assert text[member.start : member.end] == member.text


@pytest.mark.parametrize(
    "text",
    ["9**9**9**9 = 1", "1=" * 50_000, "(" * 5_000 + "=1", "1+" * 3_000 + "1 = 2", "=\n" * 10_000,
     "\\frac" * 5_000 + "=2", "1" * 7_000 + "=2", "a=b=" * 1_500],
)  # fmt: skip
def test_the_cost_of_hostile_text_is_bounded(text):
    assert EqualityVerifier().verify(text, None).score in (None, 0.0, 1.0)


def test_a_huge_completion_is_an_abstention():
    verdict = EqualityVerifier().verify("1 = 2\n" * 2_000_000, None)
    assert (verdict.score, verdict.reason) == (None, Reason.SIZE_LIMIT)


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-50, 50), st.integers(-2, 2))
def test_sums_and_products_are_judged_as_python_does(a, b, c, off):
    value = a + b * c + off
    assert checked(f"Now ({a}) + ({b}) * ({c}) = {value}.") == [off == 0]


def test_expressions_read_substitute_and_compare():
    one, two = Expression.read("A + 1"), Expression.read("3")
    assert one.symbols == {"A"}
    assert Expression.read("A").symbol == "A"
    assert one.substitute({"A": Expression.read("2")}).same_as(two)
    assert one.substitute({}) is one
    assert Expression.read("x = 3").is_relation
    assert Expression.read("(((") is None
    assert Expression.read("1" * 2_000) is None
    assert not Expression.read("10/3").rounds_to(Expression.read("3.34"))
    assert not Expression.read("7/2").rounds_to(Expression.read("4"))
