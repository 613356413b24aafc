"""Values by completing prefixes: against the known chances of a made-up policy."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.process import (
    Segmentation,
    completion_values,
    exploration_bonus,
    locate_first_error,
    rollout_value,
)


def steps_of(count):
    return Segmentation.from_steps([f"s{k}" for k in range(count)])


class Policy:
    """Completes rightly with a chance that depends on how many steps are there already."""

    def __init__(self, chances, seed=0):
        self.chances, self.rng, self.calls = chances, random.Random(seed), 0

    def __call__(self, prompt, prefix, n):
        self.calls += 1
        chance = self.chances[prefix.count("s") - 1]
        return ["\nright" if self.rng.random() < chance else "\nwrong" for _ in range(n)]


def check(text):
    return float(text.endswith("right"))


def test_values_come_to_the_chances_of_the_policy():
    chances = [0.9, 0.5, 0.1, 0.0]
    n = 4_000
    found = completion_values("p", steps_of(4), Policy(chances), check, n=n)
    for value, chance in zip(found.soft().values[:-1], chances):
        assert abs(value - chance) < 4 * math.sqrt(0.25 / n)
    assert found.hard().values == (1.0, 1.0, 1.0, 0.0)
    assert found.decided == (n, n, n, 1)  # the whole is checked as it stands


def test_undecided_continuations_are_left_out():
    def half(text):
        return None if text.endswith("wrong") else 1.0

    found = completion_values("p", steps_of(2), Policy([0.5, 0.5]), half, n=100)
    assert found.soft().values[0] == 1.0
    assert 20 < found.decided[0] < 80
    none = completion_values("p", steps_of(1), Policy([0.5]), lambda text: None)
    assert none.soft().values == none.hard().values == (None,)


@given(st.integers(1, 40), st.data())
def test_the_binary_search_finds_what_a_linear_one_does(count, data):
    error = data.draw(st.integers(0, count - 1))
    policy = Policy([1.0] * error + [0.0] * (count - error))
    found = locate_first_error("p", steps_of(count), policy, check, n=2)
    assert found.step == error
    assert not found.undecided
    assert found.queries == policy.calls <= math.ceil(math.log2(count))


def test_a_right_completion_has_no_error_and_an_undecided_one_says_nothing():
    right = locate_first_error("p", Segmentation("right", (0, 5)), Policy([0.0]), check)
    assert (right.step, right.queries, right.undecided) == (None, 0, False)
    assert locate_first_error("p", steps_of(2), Policy([1, 1]), lambda text: None).undecided

    def only_whole(text):
        return 0.0 if text == steps_of(4).text else None

    assert locate_first_error("p", steps_of(4), Policy([1.0] * 4), only_whole).undecided


def test_the_search_values_by_hand():
    assert rollout_value(1.0, 0) == 1.0
    assert rollout_value(0.0, 500) == pytest.approx(0.5 * 0.9)
    assert rollout_value(0.25, 250) == pytest.approx(0.5**0.75 * math.sqrt(0.9))
    assert exploration_bonus(3, 16) == pytest.approx(0.125 * 4 / 4)
    assert rollout_value(0.9, 10) > rollout_value(0.9, 300) > rollout_value(0.2, 300)
    for call in [
        lambda: rollout_value(1.5, 1),
        lambda: exploration_bonus(3, 2),
        lambda: completion_values("p", steps_of(2), Policy([1.0] * 2), check, n=0),
    ]:
        with pytest.raises(ConfigError):
            call()
