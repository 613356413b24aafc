"""Subsets of the line against sympy's sets."""

from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import UnsupportedError
from rewardkit.verifiers.math._numeric import context
from rewardkit.verifiers.math._parser import parse
from rewardkit.verifiers.math._sets import RealSet, real_set

X = sympy.Symbol("x", real=True)


def read(text: str) -> RealSet:
    return real_set(parse(clean(text), Reading(grouped=False)))


def number(value: Fraction):
    return context().mpf(value.numerator) / value.denominator


ENDS = st.integers(-6, 6).map(lambda n: Fraction(n, 2))
INTERVALS = st.tuples(ENDS, ENDS, st.sampled_from(["()", "[]", "(]", "[)"])).filter(
    lambda p: p[0] < p[1]
)
PROBES = [Fraction(n, 4) for n in range(-17, 18)]


def interval_text(low: Fraction, high: Fraction, brackets: str) -> str:
    return f"{brackets[0]}{low}, {high}{brackets[1]}"


def interval_set(low: Fraction, high: Fraction, brackets: str) -> sympy.Set:
    a, b = (sympy.Rational(v.numerator, v.denominator) for v in (low, high))
    return sympy.Interval(a, b, left_open=brackets[0] == "(", right_open=brackets[1] == ")")


@settings(max_examples=40)
@given(st.lists(INTERVALS, min_size=1, max_size=4), st.lists(INTERVALS, min_size=1, max_size=4))
def test_unions_are_the_same_exactly_when_sympy_says_so(left, right):
    ours = [read("\\cup".join(interval_text(*i) for i in side)) for side in (left, right)]
    theirs = [sympy.Union(*(interval_set(*i) for i in side)) for side in (left, right)]
    assert ours[0].same_as(ours[1]) == (theirs[0] == theirs[1])
    for probe in PROBES:
        expected = theirs[0].contains(sympy.Rational(probe.numerator, probe.denominator))
        assert (number(probe) in ours[0]) == bool(expected)


@settings(max_examples=30)
@given(st.lists(INTERVALS, min_size=2, max_size=3), st.sampled_from(["cap", "setminus"]))
def test_intersections_and_differences_are_those_of_sympy(parts, op):
    ours = read(f"\\{op} ".join(interval_text(*i) for i in parts))
    sets = [interval_set(*i) for i in parts]
    theirs = sets[0]
    for other in sets[1:]:
        theirs = theirs.intersect(other) if op == "cap" else theirs - other
    for probe in PROBES:
        expected = theirs.contains(sympy.Rational(probe.numerator, probe.denominator))
        assert (number(probe) in ours) == bool(expected)
    assert ours.empty == (theirs == sympy.S.EmptySet)


@settings(max_examples=15)
@given(
    st.tuples(st.integers(-4, 4).filter(bool), st.integers(-9, 9), st.integers(-9, 9)),
    st.sampled_from([("<", "<"), ("\\le", "<="), (">", ">"), ("\\ge", ">=")]),
)
def test_a_quadratic_inequality_has_the_solutions_that_sympy_finds(coefficients, op):
    a, b, c = coefficients
    ours = read(f"{a}x^2+({b})x+({c}) {op[0]} 0")
    relation = sympy.Rel(a * X**2 + b * X + c, 0, op[1])
    theirs = sympy.solve_univariate_inequality(relation, X, relational=False)
    for probe in PROBES:
        expected = theirs.contains(sympy.Rational(probe.numerator, probe.denominator))
        assert (number(probe) in ours) == bool(expected)
    ends = {str(sympy.N(e, 30)) for e in theirs.boundary} if theirs.boundary.is_FiniteSet else set()
    assert len(ours.reduced().points) == len(ends)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x > 3", "(3, \\infty)"),
        ("3 < x", "(3, \\infty)"),
        ("-x < 3", "x > -3"),
        ("|x-1| \\le 2", "[-1, 3]"),
        ("|x| > 2", "(-\\infty,-2)\\cup(2,\\infty)"),
        ("x^2 < 2", "(-\\sqrt{2}, \\sqrt{2})"),
        ("\\frac{x-1}{x+2} \\ge 0", "(-\\infty,-2)\\cup[1,\\infty)"),
        ("\\frac{1}{x} < 1", "x<0 \\text{ or } x>1"),
        ("x^3 > x", "(-1,0)\\cup(1,\\infty)"),
        ("\\sqrt{x} < 2", "[0, 4)"),
        ("2^x > 8", "(3, \\infty)"),
        ("\\ln x < 0", "(0, 1)"),
        ("x \\ne 2", "(-\\infty,2)\\cup(2,\\infty)"),
        ("x \\ne \\pm 2", "\\mathbb{R}\\setminus\\{-2,2\\}"),
        ("x > 1 \\text{ and } x < 4", "(1, 4)"),
        ("x < 1 \\text{ or } x > 4", "(-\\infty,1)\\cup(4,\\infty)"),
        ("1 < x < 2", "2 > x > 1"),
        ("\\{x : x^2 = 4\\}", "\\{-2, 2\\}"),
        ("\\{x \\in \\mathbb{R} \\mid x \\ge 0\\}", "[0, \\infty)"),
        ("x \\notin [1,2]", "(-\\infty,1)\\cup(2,\\infty)"),
        ("x^2 \\ge 0", "\\mathbb{R}"),
        ("x^2 < 0", "\\emptyset"),
        ("x^2-2x+1 > 0", "x \\ne 1"),
        ("(x-2)^2 \\le 0", "\\{2\\}"),
        ("x^2 + 1 > 0", "\\mathbb{R}"),
        ("(1,2)\\cup[2,3)", "(1,3)"),
        ("]1,2[", "(1,2)"),
        ("(-\\infty, \\infty)", "\\mathbb{R}"),
        ("\\frac{x^2-1}{x-1} > 0", "(-1,1)\\cup(1,\\infty)"),
    ],
)
def test_two_descriptions_of_one_set_are_the_same(text, same):
    assert read(text).same_as(read(same))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("(1,2)", "[1,2)"),
        ("(1,2)\\cup(2,3)", "(1,3)"),
        ("x > 3", "x \\ge 3"),
        ("(0, \\sqrt{2})", "(0, 1.41421356)"),
        ("|x| < 2", "x < 2"),
        ("x^2 > 4", "x > 2"),
        ("\\frac{x}{x} > 0", "\\mathbb{R}"),
    ],
)
def test_a_set_that_differs_in_one_point_is_another(text, other):
    assert not read(text).same_as(read(other))


@pytest.mark.parametrize("text", ["(a, b)", "x + y > 3", "5", "\\mathbb{Q}", "(1, i)"])
def test_what_is_no_set_of_reals_is_refused(text):
    with pytest.raises(UnsupportedError):
        read(text)
