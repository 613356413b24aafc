"""Intervals of counted rates, beside an independent library and the coverage that they promise."""

import functools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.noise import rate_interval
from rewardkit.noise._special import beta_cdf, beta_quantile, chi2_tail, normal_quantile
from tests._needs import needs

METHODS = {"wilson": "wilson", "clopper_pearson": "beta", "jeffreys": "jeffreys"}
COUNTS = [(0, 1), (1, 1), (0, 30), (1, 50), (7, 200), (100, 200), (199, 200), (31, 100_000)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("successes", "trials"), COUNTS)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_intervals_are_those_of_statsmodels(method, successes, trials, confidence):
    proportion = needs("statsmodels.stats.proportion")
    low, high = proportion.proportion_confint(
        successes, trials, alpha=1 - confidence, method=METHODS[method]
    )
    if method == "jeffreys":  # it leaves the ends open where no success or failure was seen
        low, high = (0.0 if successes == 0 else low), (1.0 if successes == trials else high)
    mine = rate_interval(successes, trials, confidence=confidence, method=method)
    assert mine.low == pytest.approx(low, abs=1e-10)
    assert mine.high == pytest.approx(high, abs=1e-10)


def binomial(trials, rate):
    return [math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)]


@functools.cache
def intervals(method, trials):
    return [rate_interval(k, trials, method=method) for k in range(trials + 1)]


def coverage(method, trials, rate):
    """Returns how often the interval holds the rate, summed over every count there can be."""
    weights = binomial(trials, rate)
    pairs = zip(weights, intervals(method, trials))
    return sum(weight for weight, one in pairs if one.low <= rate <= one.high)


@pytest.mark.parametrize("rate", [0.003, 0.01, 0.05, 0.2, 0.5, 0.93])
@pytest.mark.parametrize("trials", [5, 50, 120])
def test_clopper_pearson_never_covers_less_than_it_says(trials, rate):
    assert coverage("clopper_pearson", trials, rate) >= 0.95


@pytest.mark.parametrize("method", ["wilson", "jeffreys"])
def test_the_other_two_cover_what_they_say_on_average(method):
    rates = [(i + 0.5) / 200 for i in range(200)]
    mean = sum(coverage(method, 60, rate) for rate in rates) / len(rates)
    assert mean == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("method", METHODS)
@given(counts=st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_mirrors_with_the_outcomes(method, counts):
    successes, trials = counts
    one = rate_interval(successes, trials, method=method)
    other = rate_interval(trials - successes, trials, method=method)
    assert 0 <= one.low <= one.high <= 1
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)
    if trials:
        assert one.low - 1e-12 <= successes / trials <= one.high + 1e-12


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (7, 3), (20, 20)])
@pytest.mark.parametrize("x", [Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)])
def test_the_beta_distribution_is_a_binomial_tail(a, b, x):
    n = a + b - 1
    exact = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
    assert beta_cdf(float(x), a, b) == pytest.approx(float(exact), abs=1e-13)


@given(share=st.floats(0.001, 0.999), a=st.floats(0.5, 5e5), b=st.floats(0.5, 5e5))
def test_a_beta_quantile_is_where_the_share_lies(share, a, b):
    x = beta_quantile(share, a, b)
    step = 1e-12 * max(x, 1e-6)
    assert beta_cdf(x - 10 * step, a, b) - 1e-9 <= share <= beta_cdf(x + 10 * step, a, b) + 1e-9


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 30])
@pytest.mark.parametrize("x", [0.0, 0.1, 1.0, 5.0, 40.0])
def test_the_chi_squared_tail_is_that_of_scipy(x, degrees):
    stats = needs("scipy.stats")
    assert chi2_tail(x, degrees) == pytest.approx(stats.chi2.sf(x, degrees), rel=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials", "options"),
    [(2, 1, {}), (-1, 5, {}), (1, 5, {"confidence": 1.0}), (1, 5, {"method": "wald"})],
)
def test_impossible_questions_are_refused(successes, trials, options):
    with pytest.raises(ConfigError):
        rate_interval(successes, trials, **options)


def test_no_trial_says_nothing():
    for method in METHODS:
        assert rate_interval(0, 0, method=method).low == 0
        assert rate_interval(0, 0, method=method).high == 1
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054)
