"""The grammar: what is written is what is read, against sympy's value of the same expression."""

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewardkit.testing import expressions as trees
from rewardkit.testing.soup import formula_soups
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import MAX_DEPTH, NotMathError, TooLargeError
from rewardkit.verifiers.math._numeric import Evaluator
from rewardkit.verifiers.math._parser import parse
from tests.properties.sympy_values import sympy_value

RANDOM = st.randoms(use_true_random=False)


def read(text: str):
    return parse(clean(text), Reading())


def value(text: str) -> complex:
    return Evaluator(trees.POINT).value(read(text))


def oracle(tree: trees.Tree) -> sympy.Float:
    """Returns sympy's value to 40 digits; trees without one of moderate size are no examples."""
    expression = sympy.N(sympy_value(tree), 40)
    assume(expression.is_real and expression.is_finite and abs(expression) < 1e12)
    return expression


def close(ours, theirs: sympy.Float) -> bool:
    return abs(sympy.Float(str(ours.real), 45) - theirs) <= 1e-25 * (1 + abs(theirs))


@settings(max_examples=150)
@given(trees.trees(), RANDOM)
def test_an_expression_in_latex_has_its_value(tree, random):
    expected, text = oracle(tree), trees.latex(tree, random)
    assert close(value(text), expected), text


@settings(max_examples=150)
@given(trees.trees(), RANDOM)
def test_an_expression_in_plain_text_has_its_value(tree, random):
    expected, text = oracle(tree), trees.plain(tree, random)
    assert close(value(text), expected), text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1/2x", "\\frac{1}{2} \\cdot x"),
        ("2x^2y", "2 \\cdot (x^{2}) \\cdot y"),
        ("xy", "x \\cdot y"),
        ("x^2y", "(x^{2}) y"),
        ("x^10", "x^{10}"),
        ("-x^2", "-(x^{2})"),
        ("x(x+1)", "x \\cdot (x+1)"),
        ("(x+1)(x-1)", "(x+1) \\cdot (x-1)"),
        ("\\sin x", "\\sin(x)"),
        ("\\sin 2x", "\\sin(2x)"),
        ("\\sin^2 x", "(\\sin(x))^{2}"),
        ("\\sin^{-1} x", "\\arcsin(x)"),
        ("sin(x)cos(x)", "\\sin(x) \\cdot \\cos(x)"),
        ("\\log_2 8x", "\\log_{2}(8x)"),
        ("\\sqrt2", "\\sqrt{2}"),
        ("\\sqrt 2x", "\\sqrt{2} \\cdot x"),
        ("sqrt(x+1)", "\\sqrt{x+1}"),
        ("x^{1/2}", "x^{\\frac{1}{2}}"),
        ("e^{2x}", "\\exp(2x)"),
        ("2\\pi r", "2 \\cdot \\pi \\cdot r"),
        ("2pi", "2 \\cdot \\pi"),
        ("|x|y", "|x| \\cdot y"),
        ("x \\div y", "x/y"),
        ("a - - b", "a + b"),
        ("\\frac xy", "\\frac{x}{y}"),
        ("\\frac{x}y", "\\frac{x}{y}"),
        ("x^2!", "x^{2!}"),
        ("3\\frac{x}{2}", "3 \\cdot \\frac{x}{2}"),
        ("\\left\\{1,2\\right\\}", "\\{1, 2\\}"),
        ("]1,2[", "(1,2)"),
        ("x \\geqslant 3", "x >= 3"),
        ("x \\ne 3", "x != 3"),
        ("\\langle 1,2 \\rangle", "\\left\\langle 1, 2 \\right\\rangle"),
        ("α+β", "\\alpha + \\beta"),
        ("√2", "\\sqrt{2}"),
        ("x∈[1,2)", "x \\in [1,2)"),
        pytest.param("\\frac x2", "\\frac{x}{2}"),
        pytest.param("\\binom n2", "\\binom{n}{2}"),
    ],
)
def test_two_notations_are_one_tree(text, same):
    left, right = read(text), read(same)
    try:
        difference = Evaluator().value(left) - Evaluator().value(right)
    except Exception:  # structures have no value; they are equal as trees
        assert left == right
    else:
        assert abs(difference) < 1e-30


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "(1",
        "1)",
        "\\frac{1}",
        "x^",
        "\\sqrt",
        "1 2 3",
        "\\{1, 2",
        "|x",
        "qwxzv",
        "\\foo",
        "5 5",
        "\\int x",
        "a =",
    ],
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(NotMathError):
        read(text)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"),
        ("\\frac{1}{", "}"),
        ("\\sqrt{", "}"),
        ("x^{", "}"),
        ("\\sin(", ")"),
        ("|(", ")|"),
        ("\\{", "\\}"),
    ],
)
def test_depth_is_bounded(opening, closing):
    for depth in (MAX_DEPTH + 5, 1000):
        with pytest.raises((TooLargeError, RecursionError)):
            read(opening * depth + "1" + closing * depth)
    read(opening * 5 + "1" + closing * 5)


@settings(max_examples=300)
@given(formula_soups())
def test_any_text_is_a_tree_or_is_refused(text):
    try:
        node = read(text)
    except (NotMathError, TooLargeError, RecursionError):
        return
    assert hash(node) == hash(read(text))
