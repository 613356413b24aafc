"""Spellings, soups and expressions as strategies for anyone."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words

from rewardkit.errors import ConfigError
from rewardkit.testing import expressions, strategies
from rewardkit.testing._number_name import number_name
from rewardkit.testing.spellings import SPELLINGS


@settings(max_examples=400)
@given(
    st.integers(0, 10**15 - 1) | st.integers(0, 3000) | st.integers(0, 999).map(lambda n: n * 10**6)
)
def test_numbers_are_named_as_num2words_names_them(number):
    assert number_name(number) == num2words(number)


@settings(max_examples=60)
@given(strategies.spellings())
def test_a_wrong_spelling_is_none_of_the_right_ones(case):
    assert case.wrong not in (case.reference, case.right)


def test_every_kind_can_be_asked_for_and_no_other():
    for kind in SPELLINGS:
        assert strategies.spellings(kind) is SPELLINGS[kind]
    with pytest.raises(ConfigError, match="integers"):
        strategies.spellings("verses")


@settings(max_examples=60)
@given(strategies.rational_trees(max_leaves=4), st.randoms(use_true_random=False))
def test_plain_text_of_a_rational_expression_has_its_value(tree, order):
    text = expressions.plain(tree, order)
    try:
        value = expressions.fraction_value(tree)
    except ZeroDivisionError:
        return
    if any(len(str(part)) > 30 for part in (value.numerator, value.denominator)):
        return
    python = text.replace("^", "**").replace("÷", "/").replace("·", "*").replace("×", "*")
    assert eval(python.replace("−", "-")) == pytest.approx(float(value), rel=1e-9)


def test_a_tree_that_is_not_rational_has_no_fraction():
    root = expressions.Tree("sqrt", (expressions.Tree("number", text="2"),))
    with pytest.raises(ValueError, match="sqrt"):
        expressions.fraction_value(root)


@settings(max_examples=30)
@given(strategies.soups(max_size=3), strategies.formula_soups(), strategies.any_texts(max_size=5))
def test_soups_are_texts_of_the_size_that_is_asked_for(soup, formula, text):
    assert isinstance(soup + formula, str)
    assert len(text) <= 5


@settings(max_examples=30)
@given(strategies.json_values(max_leaves=3))
def test_json_values_are_plain_data(value):
    assert isinstance(value, type(None) | bool | int | float | str | list | dict)


def test_the_writer_is_decided_by_its_random_generator():
    tree = expressions.Tree("sub", tuple(expressions.Tree("number", text=t) for t in "12"))
    texts = {expressions.latex(tree, random.Random(seed)) for seed in range(8)}
    assert len(texts) > 1
    assert texts == {expressions.latex(tree, random.Random(seed)) for seed in range(8)}
