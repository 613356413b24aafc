"""Exact values are Python's own fractions; fingerprints tell functions apart."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewardkit.testing import expressions as trees
from rewardkit.testing._spelled_formulas import expanded
from rewardkit.verifiers.math._exact import exact_value, fingerprint
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import TooLargeError, UndefinedValueError, UnsupportedError
from rewardkit.verifiers.math._parser import parse

RANDOM = st.randoms(use_true_random=False)


def read(text: str):
    return parse(clean(text), Reading())


def exact(text: str):
    return exact_value(read(text))


@settings(max_examples=250)
@given(trees.rational_trees(), RANDOM, st.booleans())
def test_arithmetic_is_that_of_fractions(tree, random, latex):
    text = (trees.latex if latex else trees.plain)(tree, random)
    try:
        expected = trees.fraction_value(tree)
    except ZeroDivisionError:
        with pytest.raises(UndefinedValueError):
            exact(text)
        return
    assume(expected.numerator.bit_length() + expected.denominator.bit_length() < 10_000)
    assert exact(text) == expected


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 40))
def test_whole_number_functions_are_those_of_the_math_module(n, k, m):
    assert exact(f"{n}!") == math.factorial(n)
    assert exact(f"\\binom{{{n}}}{{{k}}}") == math.comb(n, k)
    assert exact(f"P({n}, {k})") == math.perm(n, k)
    assert exact(f"\\gcd({n}, {k})") == math.gcd(n, k)
    assert exact(f"\\text{{lcm}}({n}, {m})") == math.lcm(n, m)
    assert exact(f"{n} \\bmod {m}") == n % m
    assert exact(f"\\lfloor \\frac{{{n}}}{{{m}}} \\rfloor") == n // m
    assert exact(f"\\sum_{{j=1}}^{{{k}}} j^2") == sum(j * j for j in range(1, k + 1))
    assert exact(f"\\prod_{{j=1}}^{{{k}}} (j+{m})") == math.prod(j + m for j in range(1, k + 1))
    assert exact(f"\\max({n}, {k}, {m})") == max(n, k, m)


@given(st.integers(2, 10**6), st.integers(0, 10**18), st.integers(2, 10**6))
def test_a_remainder_of_a_power_needs_no_power(base, exponent, modulus):
    assume(math.log2(base) * exponent < 60_000)
    assert exact(f"{base}^{{{exponent}}} \\bmod {modulus}") == pow(base, exponent, modulus)


@pytest.mark.parametrize("text", ["1/0", "\\frac{1}{2-2}", "0^0", "0^{-1}", "(-3)!", "5 \\bmod 0"])
def test_what_has_no_value_is_undefined(text):
    with pytest.raises(UndefinedValueError):
        exact(text)


@pytest.mark.parametrize("text", ["x", "\\pi", "\\sqrt{2}", "\\sin 1", "(1,2)", "x=2", "2^{1/2}"])
def test_what_is_not_rational_is_left_to_others(text):
    with pytest.raises(UnsupportedError):
        exact(text)


@pytest.mark.parametrize(
    "text",
    [
        "9^{9^9}",
        "9^{9^{9^9}}",
        "10^{-10^9}",
        "100000!",
        "((5!)!)!",
        "\\binom{10^9}{10^8}",
        "P(10^9, 10^8)",
        "\\sum_{k=1}^{10^9} k",
        "\\prod_{k=1}^{2000} 10^{1000}",
        "\\sum_{k=1}^{2000} \\sum_{j=1}^{2000} 1",
        "2^{2^{16}} \\cdot 2^{2^{16}} \\cdot 2^{2^{16}}",
    ],
)
def test_size_is_looked_at_before_anything_is_computed(text):
    with pytest.raises(TooLargeError):
        exact(text)


COEFFICIENTS = st.dictionaries(st.integers(0, 12), st.integers(-999, 999), min_size=1, max_size=6)


@given(COEFFICIENTS, COEFFICIENTS, RANDOM)
def test_fingerprints_are_equal_exactly_for_equal_polynomials(left, right, random):
    first, second = (fingerprint(read(expanded(p, random))) for p in (left, right))
    same = {p: c for p, c in left.items() if c} == {p: c for p, c in right.items() if c}
    assert (first == second) == same


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 50))
def test_fingerprints_see_through_algebra(a, b, c):
    def mark(text: str) -> tuple[int, int]:
        return fingerprint(read(text))

    assert mark(f"(x+({a}))(x+({b}))") == mark(f"x^2+({a + b})x+({a * b})")
    assert mark(f"\\frac{{x+({a})}}{{{c}}}") == mark(f"\\frac{{x}}{{{c}}}+\\frac{{{a}}}{{{c}}}")
    assert mark(f"\\frac{{(x+{c})^2-(x-{c})^2}}{{{4 * c}}}") == mark("x")
    assert mark(f"(x+{c})^{{10^{{9}}}}(x+{c})") == mark(f"(x+{c})^{{10^{{9}}+1}}")


def test_values_are_fractions_or_integers():
    assert exact("6/3") == 2
    assert isinstance(exact("6/3"), int)
    assert exact("6/4") == Fraction(3, 2)
