"""What stands behind a value: the range of its parameters, a condition, an explanation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._nodes import Const, Listing, Node, Quantifier, Rel, Sym
from rewardkit.verifiers.math._parser import parse
from rewardkit.verifiers.math.expressions import Expression

RANGES = (
    "{}, {} \\in \\mathbb{{Z}}",
    "{} \\text{{ for any integer }} {}",
    "{} \\text{{ for all integers }} {}",
    "{} \\text{{ for }} {} \\in \\mathbb{{Z}}",
    "{}, \\text{{ where }} {} \\text{{ is an integer}}",
    "{}, \\text{{ where ${}$ is any integer}}",
    "{} \\quad ({} \\in \\mathbb{{Z}})",
    "{} \\text{{ (}} {} \\text{{ is an integer)}}",
    "{}, where {} is an integer",
    "{},\\ {} = 0, \\pm 1, \\pm 2, \\ldots",
)
"""Ways to say that a parameter runs through the integers."""


def read(text: str) -> Node:
    return parse(clean(text), Reading())


@pytest.mark.parametrize("way", RANGES)
def test_the_range_of_a_parameter_is_read(way):
    node = read(way.format("x = 3k + 1", "k"))
    assert isinstance(node, Quantifier)
    assert node.conditions == (Rel((Sym("k"), Const("Z")), ("in",)),)
    assert node.body == read("x = 3k + 1")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(RANGES),
    st.sampled_from(RANGES),
    st.integers(2, 12),
    st.integers(-20, 20),
    st.integers(-20, 20),
)
def test_families_are_the_same_in_all_these_ways(one, other, step, first, second):
    left, right = (
        Expression.read(way.format(f"x = {step}{name} + {offset}".replace("+ -", "- "), name))
        for way, name, offset in ((one, "k", first), (other, "n", second))
    )
    assert left is not None
    assert right is not None
    assert left.same_as(right) == ((first - second) % step == 0)


@pytest.mark.parametrize("way", RANGES[:6])
def test_one_range_belongs_to_all_branches(way):
    node = read(way.format("x = 1 + 6k \\text{ or } x = 5 + 6k", "k"))
    assert isinstance(node, Quantifier)
    assert isinstance(node.body, Listing)
    assert len(node.body.items) == 2


def test_positive_integers_are_the_natural_numbers():
    node = read("f(n) = 2n, \\text{ for all positive integers } n")
    assert isinstance(node, Quantifier)
    assert node.conditions == (Rel((Sym("n"), Const("N")), ("in",)),)


def test_what_a_letter_means_is_no_condition():
    assert read("12, \\text{ where } x \\text{ is the width}") == read("12")


def test_a_condition_on_a_value_stays():
    node = read("12, \\text{ if } x > 0")
    assert isinstance(node, Quantifier)
    assert node.conditions == (read("x > 0"),)


def test_a_bracket_that_holds_no_range_is_a_factor():
    assert read("k(k+1)") == read("k (k+1)")
    assert not isinstance(read("k (x-1)"), Quantifier)
