"""Rates, intervals and latencies, from counts of bounded size."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Reason, Verdict
from rewardkit.scoring import LatencyHistogram, Tally, wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_the_published_one(successes, trials, low, high):
    interval = wilson_interval(successes, trials)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=6e-5)


@given(st.integers(0, 500), st.integers(0, 500))
def test_the_interval_holds_the_rate_and_stays_in_range(successes, failures):
    trials = successes + failures
    interval = wilson_interval(successes, trials)
    rate = successes / trials if trials else 0.5
    assert 0 <= interval.low <= rate + 1e-12
    assert rate - 1e-12 <= interval.high <= 1


@given(st.lists(st.floats(2e-7, 900), min_size=1, max_size=200), st.floats(0.01, 1))
def test_quantiles_are_within_three_percent(seconds, share):
    histogram = LatencyHistogram()
    for one in seconds:
        histogram.add(one)
    exact = sorted(seconds)[math.ceil(share * len(seconds)) - 1]
    assert histogram.quantile(share) == pytest.approx(exact, rel=0.03)
    assert histogram.longest_s == max(seconds)


def test_latencies_outside_the_range_are_counted_at_its_ends():
    histogram = LatencyHistogram()
    for seconds in (0.0, 1e-12, 1e9):
        histogram.add(seconds)
    assert histogram.total == 3
    assert sum(count for _, _, count in histogram.bars(per_decade=10)) == 3
    assert histogram.longest_s == 1e9


def test_the_bars_join_and_leave_out_the_empty_ends():
    histogram = LatencyHistogram()
    for seconds in (1e-3, 2e-3, 1.0):
        histogram.add(seconds)
    bars = histogram.bars(per_decade=10)
    assert bars[0][2] == 1
    assert bars[-1][2] == 1
    assert all(a[1] == pytest.approx(b[0]) for a, b in itertools.pairwise(bars))
    assert LatencyHistogram().bars(per_decade=10) == []
    assert LatencyHistogram().quantile(0.5) == 0.0


def tally_of(*verdicts: Verdict) -> Tally:
    tally = Tally()
    for verdict in verdicts:
        tally.add(verdict.to_dict())
    return tally


def test_abstentions_stay_out_of_every_rate():
    tally = tally_of(
        Verdict(1.0, Reason.MATCH),
        Verdict(0.0, Reason.MISMATCH),
        Verdict(None, Reason.TIMEOUT),
        Verdict(None, Reason.UNPROVED),
    )
    assert (tally.rows, tally.decided, tally.abstained) == (4, 2, 2)
    assert tally.pass_rate == 0.5
    assert tally.mean_score == 0.5


def test_partial_credit_counts_in_the_mean_and_is_no_pass():
    tally = tally_of(Verdict(0.5, Reason.PARTIAL), Verdict(1.0, Reason.MATCH))
    assert (tally.pass_rate, tally.mean_score) == (0.5, 0.75)


def test_nothing_decided_has_no_rate():
    tally = tally_of(Verdict(None, Reason.TIMEOUT))
    assert tally.pass_rate is None
    assert tally.mean_score is None
    assert tally.to_dict()["pass_rate_95"] == [0.0, 1.0]


def test_the_order_of_verdicts_does_not_matter():
    verdicts = [
        Verdict(random.Random(i).choice([0.0, 0.5, 1.0, None]), reason, seconds=10.0**-i)
        for i, reason in enumerate(Reason)
    ]
    assert tally_of(*verdicts).to_dict() == tally_of(*reversed(verdicts)).to_dict()


def test_reasons_come_most_frequent_first():
    tally = tally_of(*[Verdict(0.0, Reason.MISMATCH)] * 2, Verdict(1.0, Reason.MATCH))
    assert [name for name, _ in tally.reasons_by_count()] == ["mismatch", "match"]
