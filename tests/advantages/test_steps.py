"""Step rewards become token advantages."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.advantages import process_advantages, span_tokens, spread
from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason, StepVerdict


def test_a_token_gets_the_normalised_rewards_of_the_steps_that_end_at_it_or_later():
    rewards, ends = [[1.0, 0.0], [1.0]], [[1, 3], [0]]
    pooled = [1.0, 0.0, 1.0]
    mean, deviation = statistics.mean(pooled), statistics.stdev(pooled) + 0.5
    hit, miss = (1 - mean) / deviation, (0 - mean) / deviation
    found = process_advantages(rewards, ends, [4, 2], ["a", "a"], eps=0.5)
    assert found[0] == pytest.approx([hit + miss, hit + miss, miss, miss])
    assert found[1] == pytest.approx([hit, 0.0])


def test_one_step_at_the_last_token_is_the_groups_z_score():
    from rewardkit.advantages import estimate_advantages

    rewards = [1.0, 0.0, 0.5]
    found = process_advantages([[r] for r in rewards], [[1]] * 3, [2] * 3, ["a"] * 3)
    plain = estimate_advantages(rewards, ["a"] * 3, estimator="group_z").values
    assert found == [pytest.approx([v, v]) for v in plain]


def test_an_undecided_step_adds_nothing_and_alike_steps_are_zero():
    found = process_advantages([[1.0, None], [1.0]], [[0, 1], [0]], [2, 1], ["a", "a"])
    assert found == [[0.0, 0.0], [0.0]]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.data())
def test_the_last_token_of_a_step_is_the_one_that_holds_its_last_character(sizes, data):
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    end = data.draw(st.integers(1, sum(sizes)))
    owner = [i for i, size in enumerate(sizes) for _ in range(size)]
    step = StepVerdict(0, end, 1.0, Reason.MATCH)
    assert span_tokens([step], starts) == [owner[end - 1]]


def test_spread_repeats_a_rows_number():
    assert spread([1.0, 2.0], [1, 2]) == [[1.0], [2.0, 2.0]]


@pytest.mark.parametrize(
    "arguments",
    [
        ([[1.0]], [[0]], [1], []),
        ([[1.0]], [[]], [1], ["a"]),
        ([[1.0]], [[1]], [1], ["a"]),
        ([[float("nan")]], [[0]], [1], ["a"]),
    ],
)
def test_lists_that_do_not_fit_are_named(arguments):
    with pytest.raises(ConfigError):
        process_advantages(*arguments)
