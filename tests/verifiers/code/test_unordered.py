"""A NaN of the program's, as the checks get it."""

import math
import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.code._inside.codec import decode, encode
from rewardkit.verifiers.code._inside.unordered import NAN

NUMBERS = st.one_of(st.integers(-(10**9), 10**9), st.floats())
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
ORDERS = [operator.lt, operator.le, operator.gt, operator.ge]


@given(NUMBERS, st.sampled_from(ARITHMETIC), st.sampled_from(ORDERS), st.booleans())
def test_what_is_computed_from_it_has_no_order_either(
    number: float, compute: Callable[..., float], order: Callable[..., bool], left: bool
) -> None:
    if compute is operator.truediv and left and number == 0:
        number = 1
    result = abs(-(compute(NAN, number) if left else compute(number, NAN)))
    assert math.isnan(result)
    for pair in ((result, number), (number, result), (result, result)):
        with pytest.raises(ArithmeticError):
            order(*pair)


def test_it_equals_nothing_and_is_a_float() -> None:
    assert NAN != NAN
    assert isinstance(NAN, float)
    assert NAN**0 == 1.0  # as for any NaN


def test_only_who_asks_for_it_gets_it() -> None:
    form = encode([math.nan, 1.0])
    assert decode(form, nan=NAN)[0] is NAN
    assert type(decode(form)[0]) is float
    assert encode(NAN) == encode(math.nan)
