"""Spellings that only the reference can tell: indices, arbitrary constants, the imaginary unit."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewardkit import MathVerifier
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._nodes import Node
from rewardkit.verifiers.math._parser import parse
from rewardkit.verifiers.math._spellings import other_spellings, reindexed, with_standard_indices

VERIFIER = MathVerifier(symbolic=False)
LETTERS = st.sampled_from("ijklmp")


def read(text: str) -> Node:
    return parse(clean(text), Reading())


def passes(reference: str, answer: str) -> bool:
    return VERIFIER.verify(f"So $\\boxed{{{answer}}}$.", reference).passed


BODIES = ("a_{}", "a_{{{}-1}} x^{}", "\\frac{{{}}}{{b_{}+1}}", "c_{{2{}}}")


def total(body: str, index: str) -> str:
    return f"\\sum_{{{index}=1}}^{{n}} " + body.replace("{}", index).format()


@given(st.sampled_from(BODIES), LETTERS, LETTERS)
def test_the_index_of_a_sum_may_have_any_name(body, one, other):
    left, right = (read(total(body, index)) for index in (one, other))
    assert with_standard_indices(left) == with_standard_indices(right)


@given(LETTERS, LETTERS)
def test_nested_indices_do_not_mix(one, other):
    assume(one != other)
    double = "\\sum_{{{0}=1}}^{{n}} \\sum_{{{1}=1}}^{{8}} d_{{{0}{1}}} {0}"
    straight, crossed = double.format(one, other), double.format(other, one)
    assert with_standard_indices(read(straight)) == with_standard_indices(read(crossed))
    swapped = straight.replace(f"d_{{{one}{other}}}", f"d_{{{other}{one}}}")
    assert with_standard_indices(read(straight)) != with_standard_indices(read(swapped))


def test_an_index_is_renamed_within_names_and_not_within_words():
    assert reindexed(read("a_{k-1} + k + a_{kind}"), "k", "n") == read("a_{n-1} + n + a_{kind}")


@pytest.mark.parametrize(
    ("reference", "answer", "same"),
    [
        ("y=Ce^{x}", "y=Ae^{x}", True),
        ("y=Ce^{x}", "y=Ae^{2x}", False),
        ("C_1 e^x + C_2 e^{-x}", "A e^{-x} + B e^{x}", True),
        ("C_1 e^x + C_2 e^{-x}", "C_2 e^{x} + C_1 e^{-x}", True),
        ("C_1 e^x + C_2 e^{-x}", "A e^{x} + A e^{-x}", False),
        ("C_1 e^x + C_2 e^{-x}", "A e^{x}", False),
        ("C_1 + C_2 x", "A + Bx", True),
        ("C_1 + C_2 x", "Ax", False),
        ("Q=CV", "Q=KV", False),
        ("F=\\frac95 C+32", "F=\\frac95 K+32", False),
        ("f(x)=kx", "f(x)=cx \\text{ for any constant } c", True),
        ("f(x)=kx", "f(x)=cx", False),
        ("f(x)=kx+b", "f(x)=cx \\text{ for any constant } c", False),
    ],
)
def test_arbitrary_constants_may_have_other_names(reference, answer, same):
    assert passes(reference, answer) is same


@settings(max_examples=40, deadline=None)
@given(st.integers(-9, 9), st.integers(1, 9), st.sampled_from("ijI"), st.booleans())
def test_the_imaginary_unit_is_also_j_where_the_reference_is_complex(
    real, imaginary, unit, flipped
):
    sign = "-" if flipped else "+"
    assert passes(f"{real}+{imaginary}i", f"{real}{sign}{imaginary}{unit}") is not flipped


def test_a_reference_with_an_unknown_of_that_name_keeps_it():
    assert list(other_spellings(read("2j + i"), read("2j + 1"))) == []
    assert not passes("3j", "3i + 1")
