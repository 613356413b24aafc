"""A correction in the place of an advantage estimator, with known and with measured rates."""

import json
import random
from collections import Counter

import pytest

from rewardkit import Reason, Verdict, Verifier
from rewardkit.advantages import AdvantageStage
from rewardkit.errors import ConfigError
from rewardkit.noise import (
    Channel,
    NoiseCorrection,
    OnlineRates,
    Rates,
    backward_coefficients,
    forward_coefficients,
)

POOR, SURE = Rates.exact(0.2, 0.3), Rates.exact(0.0, 0.1)
BY_SOURCE = Channel(POOR, {"poor": POOR, "sure": SURE}, stratified_by=("source",))
REWARDS, GROUPS = [1.0, 0.0, None, 1.0, 0.0, 0.0], ["a", "a", "a", "b", "b", "b"]
COLUMNS = {"source": ["poor"] * 3 + ["sure"] * 3}


class Equal(Verifier):
    """The truth: equality; it abstains where the reference is None."""

    name = "equal"

    def verify(self, completion, reference, /, **context):
        if reference is None:
            return Verdict(None, Reason.ENGINE_FAILURE)
        if completion == reference:
            return Verdict(1.0, Reason.MATCH)
        return Verdict(0.0, Reason.MISMATCH)


def world(seed, *, rows=4000, rho0=0.1, rho1=0.3, name="only"):
    """Returns completions, noisy verdicts and columns; half of the completions are right."""
    rng = random.Random(seed)
    completions = [rng.choice("yn") for _ in range(rows)]
    chance = {"y": 1 - rho1, "n": rho0}
    scores = [float(rng.random() < chance[text]) for text in completions]
    return completions, scores, {"reference": ["y"] * rows, "source": [name] * rows}


def test_known_rates_give_the_coefficients_of_the_pure_functions():
    backward = NoiseCorrection("backward", POOR)(REWARDS, GROUPS)
    expected = backward_coefficients(REWARDS, POOR, groups=GROUPS)
    assert backward == [*expected[:2], None, *expected[3:]]
    forward = NoiseCorrection("forward", POOR, scale="j")(REWARDS, GROUPS)
    expected = forward_coefficients(REWARDS, POOR, scale="j")
    assert forward == [*expected[:2], None, *expected[3:]]


def test_strata_are_read_from_the_columns_of_the_batch():
    found = NoiseCorrection("backward", BY_SOURCE)(REWARDS, GROUPS, columns=COLUMNS)
    expected = backward_coefficients(REWARDS, BY_SOURCE, groups=GROUPS, strata=COLUMNS["source"])
    assert found[:2] == expected[:2]
    assert found[3:] == expected[3:]


def test_it_stands_in_a_stage_and_leaves_out_what_is_undecided():
    found = AdvantageStage(NoiseCorrection("backward", POOR))(REWARDS, GROUPS)
    assert found.decided == [True, True, False, True, True, True]
    assert found.values[2] == 0.0


def test_a_moving_scale_is_of_earlier_batches_and_the_audit_leaves_it_alone():
    corrected = NoiseCorrection("backward", Rates.exact(0.25, 0.25), scale="ema", decay=0.5)
    assert corrected([1.0, 0.0], ["a", "a"], audit=True) == [2.0, -2.0]
    assert corrected([1.0, 0.0], ["a", "a"]) == [2.0, -2.0]
    assert corrected([1.0, 0.0], ["a", "a"]) == [1.0, -1.0]
    again = NoiseCorrection("backward", Rates.exact(0.25, 0.25), scale="ema", decay=0.5)
    again.restore(json.loads(json.dumps(corrected.state())))
    assert again([1.0, 0.0], ["a", "a"]) == corrected([1.0, 0.0], ["a", "a"])


def test_partial_credit_is_decided_before_it_is_corrected():
    with pytest.raises(ConfigError, match=r"a score is 0\.5"):
        NoiseCorrection("backward", POOR)([0.5, 0.0], ["a", "a"])
    at = NoiseCorrection("backward", POOR, accept_at=0.5)
    assert at([0.5, 0.4], ["a", "a"]) == NoiseCorrection("backward", POOR)([1.0, 0.0], ["a", "a"])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: NoiseCorrection("backward", Rates.exact(0.5, 0.48)), "J = 1 - rho0"),
        (lambda: NoiseCorrection("sideways", POOR), "backward, forward"),
        (lambda: NoiseCorrection("backward", POOR, scale="group_std"), "cancels"),
        (lambda: NoiseCorrection("backward", POOR, scale="j"), "forward weights"),
        (lambda: NoiseCorrection("backward", POOR, scale=0.0), "above 0"),
        (lambda: NoiseCorrection("forward", Channel(POOR, {"x": POOR})), "stratified_by"),
        (
            lambda: NoiseCorrection(
                "forward", Channel(POOR, {"x": Rates.exact(0.5, 0.5)}, stratified_by=("s",))
            ),
            "stratum 'x'",
        ),
        (lambda: OnlineRates(Equal(), share=0.0), "share"),
        (lambda: OnlineRates(Equal(), min_checks=0), "min_checks"),
    ],
)
def test_what_could_not_work_is_refused_when_it_is_built(make, text):
    with pytest.raises(ConfigError, match=text):
        make()


def test_a_missing_column_is_named():
    with pytest.raises(ConfigError, match="no column source"):
        NoiseCorrection("backward", BY_SOURCE)(REWARDS, GROUPS)
    with pytest.raises(ConfigError, match="has 2 entries for 6 rows"):
        NoiseCorrection("backward", BY_SOURCE)(REWARDS, GROUPS, columns={"source": ["poor"] * 2})
    online = NoiseCorrection("backward", OnlineRates(Equal()))
    with pytest.raises(ConfigError, match="the completions"):
        online(REWARDS, GROUPS)
    with pytest.raises(ConfigError, match="'reference'"):
        online(REWARDS, GROUPS, completions=["y"] * 6)


def test_measured_rates_come_to_the_true_ones_by_stratum():
    online = OnlineRates(Equal(), share=0.25, stratified_by=("source",))
    for seed in range(4):
        online.observe(*world(seed, name="a", rho0=0.1, rho1=0.3))
        online.observe(*world(seed, name="b", rho0=0.0, rho1=0.1))
    for name, rho0, rho1 in [("a", 0.1, 0.3), ("b", 0.0, 0.1)]:
        rates = online.channel.rates_for(name)
        assert rates.rho0.value == pytest.approx(rho0, abs=0.02)
        assert rates.rho1.value == pytest.approx(rho1, abs=0.03)
    assert online.channel.rates_for("never seen") == Rates.exact(0.0, 0.0)
    assert online.metrics()["a/rho1"] == online.channel.rates_for("a").rho1.value
    assert 0.24 < online.checks / 32_000 < 0.26


def test_before_there_are_checks_enough_the_prior_holds():
    online = OnlineRates(Equal(), share=1.0, prior=POOR, min_checks=20)
    completions, scores, columns = world(0, rows=12)
    online.observe(completions, scores, columns)
    assert online.channel.rates == POOR
    online.observe(*world(0, rows=400))
    assert online.channel.rates != POOR


def test_rates_that_cannot_be_inverted_are_not_taken():
    online = OnlineRates(Equal(), share=1.0, prior=POOR)
    online.observe(*world(0, rho0=0.5, rho1=0.5))
    assert online.channel.rates == POOR


def test_a_judge_that_abstains_is_no_judge_of_that_row():
    online = OnlineRates(Equal(), share=1.0)
    completions, scores, columns = world(0, rows=100)
    online.observe(completions, scores, columns | {"reference": [None] * 100})
    assert online.checks == 0


def test_an_abstention_of_the_verifier_is_not_checked():
    online = OnlineRates(Equal(), share=1.0)
    completions, _, columns = world(0, rows=100)
    online.observe(completions, [None] * 100, columns)
    assert online.checks == 0


def test_a_resumed_run_draws_and_counts_as_the_whole_one():
    whole, first = (OnlineRates(Equal(), share=0.3, seed=5) for _ in range(2))
    for seed in range(2):
        whole.observe(*world(seed))
        first.observe(*world(seed))
    resumed = OnlineRates(Equal(), share=0.3, seed=5)
    resumed.restore(json.loads(json.dumps(first.state())))
    whole.observe(*world(2))
    resumed.observe(*world(2))
    assert resumed.state() == whole.state()


def test_the_audit_asks_the_judge_for_nothing():
    seen = Counter()

    class Counting(Equal):
        def verify(self, completion, reference, /, **context):
            seen["calls"] += 1
            return super().verify(completion, reference)

    corrected = NoiseCorrection("backward", OnlineRates(Counting(), share=1.0))
    completions, scores, columns = world(0, rows=50)
    context = {"completions": completions, "columns": columns}
    corrected(scores, ["g"] * 50, **context)
    assert seen["calls"] == 50
    corrected([0.0] * 50, ["g"] * 50, audit=True, **context)
    assert seen["calls"] == 50
