"""The audit says whether a component or a correction moves the gradient."""

import logging
import math

import pytest

from rewardkit.advantages import (
    AdvantageAudit,
    Advantages,
    compare_advantages,
    estimate_advantages,
)
from rewardkit.advantages.audit import varies_within_groups
from rewardkit.errors import ConfigError

GROUPS = ["a"] * 4
NOISY = [1.0, 0.0, 0.0, 1.0]


def made(values, tokens=None):
    return Advantages(values, [True] * len(values), frozenset(), tokens)


def test_the_figures_are_the_closed_forms():
    found = compare_advantages(made([3.0, 4.0]), made([4.0, 3.0]))
    assert (found.mean, found.maximum, found.largest) == (1.0, 1.0, 4.0)
    assert found.cosine == pytest.approx(24 / 25)


def test_a_row_is_compared_by_token_where_either_has_tokens():
    found = compare_advantages(made([1.0], [[1.0, 3.0]]), made([2.0]))
    assert (found.mean, found.maximum) == (1.0, 1.0)
    assert found.cosine == pytest.approx(8 / (math.sqrt(10) * math.sqrt(8)))


def test_there_is_no_direction_where_one_is_zero():
    assert compare_advantages(made([0.0]), made([1.0])).cosine is None
    assert compare_advantages(made([]), made([])).maximum == 0.0


def backward(rewards, rho0, rho1):
    return [(r - rho0) / (1 - rho0 - rho1) for r in rewards]


@pytest.mark.parametrize(
    ("estimator", "alarms"), [("group_z", 1), ("leave_one_out", 0), ("mean", 0), ("none", 0)]
)
def test_a_correction_that_a_z_score_cancels_is_an_alarm(estimator, alarms, caplog):
    def stage(rewards):
        return estimate_advantages(rewards, GROUPS, estimator=estimator)

    audit = AdvantageAudit()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = audit.check(stage(backward(NOISY, 0.1, 0.2)), {"rates": lambda: stage(NOISY)})
    assert len(audit.alarms) == alarms
    assert len(caplog.records) == alarms
    assert found["rates"].silent() == bool(alarms)


def test_what_has_nothing_to_say_in_a_batch_is_no_alarm():
    audit, same = AdvantageAudit(), made([1.0, -1.0])
    audit.check(same, {"format": lambda: same}, varies={"format": False})
    assert audit.alarms == []


def test_a_value_varies_only_within_a_group():
    assert varies_within_groups([1.0, 0.0], ["a", "a"])
    assert not varies_within_groups([1.0, 0.0], ["a", "b"])
    assert not varies_within_groups([1.0, None], ["a", "a"])


def test_advantages_of_two_batches_are_not_compared():
    with pytest.raises(ConfigError, match="different batches"):
        compare_advantages(made([1.0]), made([1.0, 2.0]))
    with pytest.raises(ConfigError, match="tolerance"):
        AdvantageAudit(tolerance=-1)
