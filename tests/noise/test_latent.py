"""Rates without labels: what they find, what they assume, and what they refuse."""

import math
import random

import pytest

from rewardkit.errors import ConfigError
from rewardkit.noise import capture_recapture, rates_without_labels

THREE = [(0.05, 0.1), (0.1, 0.2), (0.02, 0.3)]


def vote(chance, right, rates, hard=0.0):
    """Draws each verifier's verdict; on a hard row they all err twice as often."""
    factor = 2.0 if chance.random() < hard else 1.0
    return tuple(chance.random() < (1 - factor * fn if right else factor * fp) for fp, fn in rates)


def world(seed, rows, rates, pass_rate=0.5, hard=0.0):
    chance = random.Random(seed)
    return [vote(chance, chance.random() < pass_rate, rates, hard) for _ in range(rows)]


def exact_moments(votes):
    """Returns the three rates of three verifiers by the closed form of their moments.

    With a right share p and J_k, cov(i, j) = p (1 - p) J_i J_j, so J_k^2 p (1 - p) is a ratio of
    covariances, and the third central moment gives p.
    """
    n = len(votes)
    means = [sum(v[k] for v in votes) / n for k in range(3)]

    def moment(*ks):
        return sum(math.prod(v[k] - means[k] for k in ks) for v in votes) / n

    c01, c02, c12, third = moment(0, 1), moment(0, 2), moment(1, 2), moment(0, 1, 2)
    scaled = [math.sqrt(c01 * c02 / c12), math.sqrt(c01 * c12 / c02), math.sqrt(c02 * c12 / c01)]
    skew = third / math.prod(scaled)  # (1 - 2p) / sqrt(p (1 - p))
    p = 0.5 - 0.5 * skew / math.sqrt(4 + skew**2)
    spread = math.sqrt(p * (1 - p))
    js = [s / spread for s in scaled]
    rho0 = [m - p * j for m, j in zip(means, js)]
    return p, rho0, [1 - r - j for r, j in zip(rho0, js)]


@pytest.mark.parametrize("seed", range(3))
def test_three_verifiers_are_as_the_closed_form_of_their_moments_says(seed):
    votes = world(seed, 4000, THREE, pass_rate=0.4)
    found = rates_without_labels(votes, resamples=20)
    p, rho0, rho1 = exact_moments(votes)
    assert found.pass_rates[None] == pytest.approx(p, abs=1e-5)
    assert [one.rho0.value for one in found.verifiers] == pytest.approx(rho0, abs=1e-5)
    assert [one.rho1.value for one in found.verifiers] == pytest.approx(rho1, abs=1e-5)


def test_intervals_of_independent_verifiers_hold_their_rates():
    hits = total = 0
    for seed in range(10):
        found = rates_without_labels(world(seed, 1500, THREE), resamples=40)
        for one, (fp, fn) in zip(found.verifiers, THREE):
            hits += (one.rho0.low <= fp <= one.rho0.high) + (one.rho1.low <= fn <= one.rho1.high)
            total += 2
    assert hits / total > 0.85


def test_two_verifiers_and_two_groups_determine_all_six_unknowns():
    rates = [(0.05, 0.1), (0.1, 0.2)]
    votes = world(1, 20_000, rates, pass_rate=0.2) + world(2, 20_000, rates, pass_rate=0.8)
    found = rates_without_labels(votes, groups=["hard"] * 20_000 + ["easy"] * 20_000, resamples=20)
    assert found.pass_rates == pytest.approx({"hard": 0.2, "easy": 0.8}, abs=0.02)
    for one, (fp, fn) in zip(found.verifiers, rates):
        assert one.rho0.value == pytest.approx(fp, abs=0.015)
        assert one.rho1.value == pytest.approx(fn, abs=0.015)


def test_shared_difficulty_makes_rates_too_low_and_more_data_does_not_help():
    # Half of the rows double every error, so the true rates are 1.5 times these.
    errors = []
    for rows in (4000, 40_000):
        found = rates_without_labels(world(5, rows, THREE, hard=0.5), resamples=20)
        errors.append(found.verifiers[2].rho1.value - 1.5 * 0.3)
        assert "independently" in found.warnings[0]
    assert errors[1] < -0.02


def test_abstentions_are_left_out_of_a_verifiers_votes():
    chance = random.Random(2)
    whole = world(3, 6000, THREE)
    holed = [tuple(None if chance.random() < 0.2 else v for v in row) for row in whole]
    found = rates_without_labels(holed, resamples=20)
    for one, (fp, fn) in zip(found.verifiers, THREE):
        assert one.rho0.value == pytest.approx(fp, abs=0.03)
        assert one.rho1.value == pytest.approx(fn, abs=0.03)


def test_groups_that_pass_alike_are_warned_of():
    rates = [(0.05, 0.1), (0.1, 0.2)]
    votes = world(1, 500, rates) + world(2, 500, rates)
    found = rates_without_labels(votes, groups=["a"] * 500 + ["b"] * 500, resamples=20)
    assert any("nearly one" in line for line in found.warnings)


@pytest.mark.parametrize(
    ("votes", "options"),
    [
        ([(True, False)] * 5, {}),
        ([(True,)] * 5, {"groups": "aabbb"}),
        ([], {}),
        ([(True, False, True), (True, False)], {}),
        ([(True, False, True)], {"groups": "ab"}),
        ([(True, False, True)], {"resamples": 3}),
        ([(True, False, True)], {"confidence": 2}),
    ],
)
def test_votes_that_determine_nothing_are_refused(votes, options):
    with pytest.raises(ConfigError):
        rates_without_labels(votes, **options)


def test_recapture_counts_the_right_rows_that_nobody_found():
    hits = 0
    for seed in range(200):
        chance = random.Random(seed)
        seen = [(chance.random() < 0.8, chance.random() < 0.6) for _ in range(1000)]
        first, second = (sum(s[k] for s in seen) for k in (0, 1))
        found = capture_recapture(first, second, sum(a and b for a, b in seen))
        hits += found.low <= 1000 <= found.high
    assert 0.91 <= hits / 200 <= 0.99
    assert found.rho1_first == pytest.approx(0.2, abs=0.05)
    assert found.rho1_second == pytest.approx(0.4, abs=0.05)


def test_recapture_of_everything_has_no_doubt_and_of_nothing_is_refused():
    found = capture_recapture(50, 50, 50)
    assert (found.low, found.right, found.high) == (50, 50, 50)
    for counts in ((5, 5, 0), (5, 5, 6), (5, 4, 5)):
        with pytest.raises(ConfigError):
            capture_recapture(*counts)
