"""High-precision values against mpmath and sympy, and what they cost at most."""

import threading

import mpmath
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewardkit.testing import expressions as trees
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import (
    Meter,
    TooLargeError,
    UndefinedValueError,
    UnsupportedError,
)
from rewardkit.verifiers.math._numeric import Evaluator
from rewardkit.verifiers.math._parser import parse
from tests.properties.sympy_values import sympy_value

REFERENCE = mpmath.mp.clone()
REFERENCE.dps = 60


def value(text: str, **symbols):
    return Evaluator(symbols).value(parse(clean(text), Reading()))


def same(ours, theirs, digits: int = 40) -> bool:
    ours, theirs = REFERENCE.mpmathify(str(ours)), REFERENCE.mpmathify(theirs)
    return abs(ours - theirs) <= REFERENCE.mpf(10) ** -digits * (1 + abs(theirs))


ARGUMENTS = st.fractions(-20, 20, max_denominator=50)


@settings(max_examples=60)
@given(ARGUMENTS)
def test_functions_are_those_of_mpmath(x):
    mp, at, text = REFERENCE, REFERENCE.mpf(x.numerator) / x.denominator, f"({x})"
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp"):
        assume(abs(mp.cos(at)) > 1e-6)
        assert same(value(f"\\{name}{text}"), getattr(mp, name)(at)), name
    assert same(value(f"\\arctan{text}"), mp.atan(at))
    assert same(value(f"|{x}|"), abs(at))
    assert same(value(f"\\lfloor {x} \\rfloor"), mp.floor(at))
    assert same(value(f"\\lceil {x} \\rceil"), mp.ceil(at))
    assert same(value(f"\\text{{erf}}{text}"), mp.erf(at))
    if x > 0:
        assert same(value(f"\\ln{text}"), mp.log(at))
        assert same(value(f"\\log_3{text}"), mp.log(at) / mp.log(3))
        assert same(value(f"\\lg{text}"), mp.log10(at))
        assert same(value(f"\\sqrt[7]{{{x}}}"), mp.root(at, 7))
        assert same(value(f"({x})!"), mp.factorial(at))
    if abs(x) <= 1:
        assert same(value(f"\\arcsin{text}"), mp.asin(at))
        assert same(value(f"\\cos^{{-1}}{text}"), mp.acos(at))


@settings(max_examples=60)
@given(trees.trees(symbols=False), st.randoms(use_true_random=False))
def test_closed_expressions_have_the_value_that_sympy_says(tree, random):
    expected = sympy.N(sympy_value(tree), 50)
    assume(expected.is_real and expected.is_finite and abs(expected) < 1e12)
    ours = Evaluator().value(parse(clean(trees.latex(tree, random)), Reading()))
    assert same(ours, str(expected), digits=30)


@pytest.mark.parametrize(
    ("text", "expected", "digits"),
    [
        ("\\sqrt{-4}", "2j", 40),
        ("\\sqrt[3]{-8}", "-2", 40),
        ("(-8)^{1/3}", "-2", 40),
        ("(-8)^{2/3}", "4", 40),
        ("i^2", "-1", 40),
        ("e^{i\\pi}", "-1", 40),
        ("\\text{cis}(\\pi/2)", "1j", 40),
        ("|3+4i|", "5", 40),
        ("\\overline{3+4i}", "(3-4j)", 40),
        ("90^\\circ", str(REFERENCE.pi / 2), 40),
        ("30^\\circ 30'", str(REFERENCE.pi * 61 / 360), 40),
        ("\\sum_{k=0}^{\\infty} \\frac{1}{2^k}", "2", 12),
        ("\\sum_{k=1}^{\\infty} \\frac{1}{k^2}", str(REFERENCE.pi**2 / 6), 12),
        ("\\sum_{k=1}^{10} k", "55", 40),
        ("\\prod_{k=1}^{5} k", "120", 40),
        ("\\int_0^1 x^2\\,dx", str(REFERENCE.mpf(1) / 3), 12),
        ("\\int_0^{\\infty} e^{-x}\\,dx", "1", 10),
        ("\\int_{-\\infty}^{\\infty} e^{-x^2} dx", str(REFERENCE.sqrt(REFERENCE.pi)), 10),
        ("\\lim_{x\\to 0} \\frac{\\sin x}{x}", "1", 12),
        ("\\lim_{n\\to \\infty} \\frac{2n+1}{n}", "2", 10),
        pytest.param("\\lim_{x\\to 0^+} x", "0", 10),
        pytest.param("\\lim_{x\\to 0^-} \\frac{|x|}{x}", "-1", 10),
        ("\\begin{vmatrix}1&2\\\\3&4\\end{vmatrix}", "-2", 40),
        ("\\det\\begin{pmatrix}2&0\\\\0&3\\end{pmatrix}", "6", 40),
        ("\\begin{cases} 1 & 2>1 \\\\ 0 & \\text{otherwise} \\end{cases}", "1", 40),
        ("10 \\bmod 4", "2", 40),
        ("\\gcd(84, 36)", "12", 40),
    ],
)
def test_values_of_notations(text, expected, digits):
    expected = complex(expected) if "j" in expected else expected
    ours = value(text)
    if isinstance(expected, complex):
        assert abs(complex(ours) - expected) < 1e-14
    else:
        assert same(ours.real, expected, digits)


def test_symbols_take_the_values_that_are_given():
    assert same(value("x^2 + y", x=3, y=REFERENCE.mpf("0.5")), "9.5")


def test_a_sum_with_a_parameter_has_its_value_at_each_point():
    assert same(value("\\sum_{k=1}^{4} x^k", x=2), "30")


def test_an_infinite_sum_with_a_parameter_has_its_value_or_none():
    for point in range(6):
        node, closed = (
            parse(clean(t), Reading()) for t in ("\\sum_{k=0}^{\\infty} \\frac{x^k}{k!}", "e^x")
        )
        expected = Evaluator(point=point).value(closed)
        try:
            found = Evaluator(point=point).value(node)
        except UnsupportedError:
            continue
        assert same(found, str(expected), 10)


@pytest.mark.parametrize(
    "text",
    [
        "1/0",
        "\\frac{1}{\\sin 0}",
        "\\ln 0",
        "\\tan(\\pi/2)",
        "0^{-1}",
        "\\infty",
        "\\infty-\\infty",
        "0\\cdot\\infty",
        "\\sum_{k=1}^{\\infty} 1",
        "\\frac{1}{\\sin^2 1+\\cos^2 1-1}",
    ],
)
def test_what_has_no_value_is_undefined(text):
    with pytest.raises(UndefinedValueError):
        value(text)


@pytest.mark.parametrize("text", ["(1,2)", "x=2", "\\{1\\}", "\\int f(x)\\,dx", "5\\text{ cm}"])
def test_what_is_no_number_has_no_value(text):
    with pytest.raises(UnsupportedError):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "e^{10^{16}}",
        "9^{9^{9^{9}}}",
        "\\sin(10^{30})",
        "(10^{15})!",
        "\\binom{10^{15}}{3}",
        "\\sum_{k=1}^{10^9} \\sin k",
        "\\sum_{k=1}^{2000} \\sum_{j=1}^{2000} \\sin(jk)",
        "\\int_0^1 \\int_0^1 \\int_0^1 \\sin(xyz) dx dy dz",
    ],
)
def test_cost_is_bounded_by_counting(text):
    with pytest.raises(TooLargeError):
        value(text)


def test_every_node_is_paid_for():
    node = parse("1+2+3+4+5", Reading())
    meter = Meter(100)
    Evaluator(meter=meter).value(node)
    assert meter.left < 100
    with pytest.raises(TooLargeError):
        Evaluator(meter=Meter(2)).value(node)


def test_threads_do_not_share_a_precision():
    node, wrong = parse(clean("\\sqrt{2}"), Reading()), []

    def work(digits: int) -> None:
        for _ in range(200):
            root = Evaluator(digits=digits).value(node)
            if not same(root, REFERENCE.sqrt(2), digits - 2):
                wrong.append(digits)

    before = mpmath.mp.dps
    threads = [threading.Thread(target=work, args=(digits,)) for digits in (15, 30, 50, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert mpmath.mp.dps == before
