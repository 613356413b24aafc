"""Confidence intervals of a rate that was counted: Wilson, Clopper-Pearson, Jeffreys."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from rewardkit.errors import ConfigError
from rewardkit.noise._special import beta_quantile, normal_quantile

__all__ = [
    "Interval",
    "IntervalMethod",
    "clopper_pearson_interval",
    "jeffreys_interval",
    "rate_interval",
    "wilson_interval",
]

IntervalMethod: TypeAlias = Literal["wilson", "clopper_pearson", "jeffreys"]
"""Wilson is right on average and the one to show; Clopper-Pearson never covers less than it says,
and is the one to promise by; Jeffreys is the Bayesian one with the least prior."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a rate; both ends are in [0, 1]."""

    low: float
    high: float


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Returns the Wilson interval of a success rate; [0, 1] where there was no trial.

    It holds for small counts and for rates near 0 and 1, where the normal interval does not.
    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".

    >>> interval = wilson_interval(9, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.596, 0.982)

    Raises:
        ConfigError: the counts or the confidence are impossible.
    """
    _check_counts(successes, trials)
    z2 = normal_quantile(confidence) ** 2
    if trials == 0:
        return Interval(0.0, 1.0)
    rate = successes / trials
    centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    spread = math.sqrt(z2 * (rate * (1 - rate) / trials + z2 / (4 * trials**2)))
    half = spread / (1 + z2 / trials)
    # At 0 and n the ends are 0 and 1 exactly; rounding may leave them a hair off.
    low = 0.0 if successes == 0 else max(centre - half, 0.0)
    high = 1.0 if successes == trials else min(centre + half, 1.0)
    return Interval(low, high)


def clopper_pearson_interval(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Returns the exact interval of a success rate; [0, 1] where there was no trial.

    It covers the true rate at least as often as it says, for every rate and every count.
    Source: Clopper and Pearson 1934, in the form with beta quantiles.

    >>> clopper_pearson_interval(0, 30, 0.9).high < 0.0951
    True

    Raises:
        ConfigError: the counts or the confidence are impossible.
    """
    _check_counts(successes, trials)
    tail = _tail(confidence)
    failures = trials - successes
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, failures + 1)
    high = 1.0 if failures == 0 else beta_quantile(1 - tail, successes + 1, failures)
    return Interval(low, high)


def jeffreys_interval(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Returns the Bayesian interval of a success rate under the prior Beta(1/2, 1/2).

    An end is moved to 0 or 1 where no success or no failure was seen.
    Source: Brown, Cai and DasGupta 2001, "Interval estimation for a binomial proportion", 4.1.

    Raises:
        ConfigError: the counts or the confidence are impossible.
    """
    _check_counts(successes, trials)
    tail = _tail(confidence)
    a, b = successes + 0.5, trials - successes + 0.5
    low = 0.0 if successes == 0 else beta_quantile(tail, a, b)
    high = 1.0 if successes == trials else beta_quantile(1 - tail, a, b)
    return Interval(low, high)


def rate_interval(
    successes: int, trials: int, *, confidence: float = 0.95, method: IntervalMethod = "wilson"
) -> Interval:
    """Returns the interval of a success rate by one of the three methods.

    Raises:
        ConfigError: there is no such method, or the counts or the confidence are impossible.
    """
    if method == "wilson":
        return wilson_interval(successes, trials, confidence)
    if method == "clopper_pearson":
        return clopper_pearson_interval(successes, trials, confidence)
    if method == "jeffreys":
        return jeffreys_interval(successes, trials, confidence)
    raise ConfigError(f"an interval is one of {', '.join(get_args(IntervalMethod))}: {method!r}")


def _tail(confidence: float) -> float:
    normal_quantile(confidence)  # refuses what is no confidence
    return (1 - confidence) / 2


def _check_counts(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ConfigError(
            f"{successes} successes in {trials} trials cannot be: 0 <= successes <= n"
        )
