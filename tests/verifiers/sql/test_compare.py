"""Values and rows are compared by type, with a tolerance, by matching."""

import datetime
import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.sql._compare import contains, equal_bags, equal_rows, equal_values

DAY = datetime.date(2024, 5, 1)
MIDNIGHT = datetime.datetime(2024, 5, 1)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (2, 2.0, True),
        (2, "2", False),
        (True, 1, True),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        ("a", "A", False),
        (b"a", "a", False),
        (Decimal("0.10"), 0.1, True),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0 + 1e-6, False),
        (1e12, 1e12 + 100, True),
        (10**17, 10**17 + 1, False),
        (10**400, 1.0, False),
        (float("inf"), float("inf"), True),
        (float("inf"), float("-inf"), False),
        (float("nan"), float("nan"), True),
        (DAY, MIDNIGHT, True),
        (DAY, MIDNIGHT + datetime.timedelta(seconds=1), False),
        (DAY, "2024-05-01", False),
        ([1, 2], (1, 2), True),
        ({"a": 1}, {"a": 2}, False),
    ],
)
def test_equality_is_typed(left, right, same):
    assert equal_values(left, right, 1e-9) is same
    assert equal_values(right, left, 1e-9) is same


def test_bags_count_repeats():
    assert equal_bags([(1,), (1,), (2,)], [(2,), (1,), (1,)], 1e-9)
    assert not equal_bags([(1,), (1,), (2,)], [(2,), (2,), (1,)], 1e-9)


def test_values_on_both_sides_of_a_rounding_edge_are_paired():
    left = [("a", 0.5 - 4e-10), ("a", 0.5 + 4e-10)]
    right = [("a", 0.5 + 1e-10), ("a", 0.5 - 5e-10)]
    assert equal_bags(left, right, 1e-9)


def test_two_numbers_a_row_need_a_matching():
    # In order of the first number they pair wrongly: each first fits both.
    left = [(0.0, 5.0), (5e-10, 1.0)]
    right = [(0.0, 1.0), (5e-10, 5.0)]
    assert equal_bags(left, right, 1e-9)


SMALL = st.sampled_from([0, 1, 0.0, 0.4, 0.8, 1.2, None, "x"])
ROWS = st.lists(st.tuples(SMALL, SMALL), max_size=4)


@given(whole=ROWS, part=ROWS)
def test_the_matching_is_that_of_trying_all(whole, part):
    def by_trying():
        return any(
            all(equal_rows(row, other, 0.5) for row, other in zip(part, chosen))
            for chosen in itertools.permutations(whole, len(part))
        )

    assert contains(whole, part, 0.5) == (len(part) <= len(whole) and by_trying())
