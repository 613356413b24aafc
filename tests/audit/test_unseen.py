"""The estimate of what was not seen, against closed forms and a simulation."""

import random

import pytest

from rewardkit.audit import estimate_unseen
from rewardkit.errors import ConfigError


def test_good_turing_is_the_share_of_those_met_once():
    found = estimate_unseen({"a": 1, "b": 1, "c": 3, "d": 0}, 50)
    assert (found.seen, found.next_new) == (3, 2 / 50)
    assert found.interval.low <= found.next_new <= found.interval.high


def test_chao_adds_what_those_met_once_and_twice_say():
    found = estimate_unseen({"a": 1, "b": 1, "c": 1, "d": 2}, 100)
    assert found.kinds == pytest.approx(4 + 0.99 * 3 * 2 / (2 * 2))


def test_with_nothing_paid_the_rule_of_three_bounds_the_rest():
    found = estimate_unseen({"a": 0}, 300)
    assert found.next_new == 0
    assert found.interval.high == pytest.approx(0.01)


def test_the_interval_covers_the_true_unseen_mass_about_as_often_as_it_says():
    generator = random.Random(7)
    weights = [0.9] + [0.1 / 40] * 40  # most attempts pay nothing
    covered = 0
    for _ in range(300):
        drawn = generator.choices(range(41), weights, k=200)
        hits = {str(i): drawn.count(i) for i in range(1, 41)}
        missing = sum(weights[i] for i in range(1, 41) if not hits[str(i)])
        found = estimate_unseen(hits, 200)
        covered += found.interval.low <= missing <= found.interval.high
    assert covered / 300 > 0.9


def test_more_hits_than_attempts_are_refused():
    with pytest.raises(ConfigError):
        estimate_unseen({"a": 3}, 2)
