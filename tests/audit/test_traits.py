"""Claims are what is given, else what the documentation says."""

import pytest

from rewardkit.audit import Traits
from rewardkit.audit.traits import read_traits


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("Returns a value in [0, 1].", (0.0, 1.0)),
        ("A score between -1 and 1", (-1.0, 1.0)),
        ("Range: [0.5, 2]", (0.5, 2.0)),
        ("Right in [0.5, 1], wrong in [-1, -0.5].", None),
        ("1 if right.\n\nArgs:\n    weight: in [0, 1].\n", None),
        ("Rewards between 1 and 3 sentences.", None),
        ("One for right, else zero.", None),
        ("Needs 3 things and 4 others", None),
    ],
)
def test_a_range_is_read_where_it_is_claimed(text, bounds):
    assert read_traits("reward", text, Traits()).range == bounds


def test_what_is_given_stands_before_what_is_read():
    given = Traits(range=(0.0, 2.0), length_neutral=True)
    traits = read_traits("length_reward", "In [0, 1].", given)
    assert (traits.range, traits.length_neutral) == ((0.0, 2.0), True)


def test_a_length_reward_says_so_by_its_name():
    assert read_traits("length_penalty", "", Traits()).length_neutral is False
    assert read_traits("exact", "", Traits()).length_neutral is None
