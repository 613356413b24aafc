"""How many labels an audit needs, and on which rows to spend them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import ConfigError
from rewardkit.noise._special import beta_quantile, normal_quantile

__all__ = ["AuditPlan", "labels_for_half_width", "labels_to_show_below", "plan_audit"]


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What an audit needs so that both rates are known to a half-width."""

    accepted: int
    """Labels of accepted rows, drawn at random among them."""
    rejected: int
    """Labels of rejected rows."""
    uniform: int
    """Labels that a draw without regard to the verdict would need instead."""

    @property
    def labels(self) -> int:
        """Labels in all."""
        return self.accepted + self.rejected


def labels_for_half_width(
    rate: float,
    *,
    half_width: float = 0.02,
    confidence: float = 0.95,
    method: Literal["wilson", "clopper_pearson"] = "wilson",
) -> int:
    """Returns how many rows of one truth must be labelled to know a rate to a half-width.

    For rho0 these are wrong rows, for rho1 right ones. The interval is that of the expected count,
    which need not be whole.

    >>> labels_for_half_width(0.05), labels_for_half_width(0.05, method="clopper_pearson")
    (469, 508)

    Args:
        rate: a guess of the rate, in [0, 1].
        half_width: half of the interval's length, in (0, 0.5).
        confidence: in (0, 1).
        method: which interval.

    Raises:
        ConfigError: a value is outside its range.
    """
    z = normal_quantile(confidence)
    _check_rate("rate", rate)
    _check_half_width(half_width)

    def half(trials: int) -> float:
        if method == "wilson":
            spread = rate * (1 - rate) / trials + z * z / (4 * trials**2)
            return z * math.sqrt(spread) / (1 + z * z / trials)
        if method == "clopper_pearson":
            return _exact_half(rate * trials, trials, (1 - confidence) / 2)
        raise ConfigError(f"the method is wilson or clopper_pearson, not {method!r}")

    return _smallest(lambda trials: half(trials) <= half_width)


def labels_to_show_below(bound: float, *, errors: int = 0, confidence: float = 0.95) -> int:
    """Returns how many rows of one truth must be labelled to show that a rate is below a bound.

    The bound is one-sided and exact (Clopper-Pearson), if no more errors than these are found.

    >>> labels_to_show_below(0.02), labels_to_show_below(0.02, errors=1)
    (149, 236)

    Raises:
        ConfigError: a value is outside its range.
    """
    normal_quantile(confidence)
    if not 0.0 < bound < 1.0:
        raise ConfigError(f"a bound is strictly between 0 and 1, not {bound}")
    if errors < 0:
        raise ConfigError(f"errors is a count, not {errors}")

    def shows(trials: int) -> bool:
        if trials <= errors:
            return False
        return beta_quantile(confidence, errors + 1, trials - errors) <= bound

    return _smallest(shows)


def plan_audit(
    *,
    accept_rate: float,
    rho0: float,
    rho1: float,
    half_width: float = 0.02,
    confidence: float = 0.95,
) -> AuditPlan:
    """Returns the cheapest audit by verdict that knows both rates to a half-width.

    With the delta method, var(rho0) = (rho0 (1 - rho0))^2 (a / n_accepted + b / n_rejected), where
    a and b are the odds of the verdicts' errors, and alike for rho1: two convex conditions on how
    the labels are split, of which the harder one decides.

    Args:
        accept_rate: the share of rows that the verifier accepts, in (0, 1).
        rho0: a guess of the false-positive rate. One below the half-width counts as the half-width,
            because so few labels could not tell the two apart.
        rho1: a guess of the false-negative rate.
        half_width: half of each interval's length, in (0, 0.5).
        confidence: in (0, 1).

    Raises:
        ConfigError: a value is outside its range, or no true pass rate agrees with the three rates.
    """
    z = normal_quantile(confidence)
    _check_half_width(half_width)
    for name, rate in (("accept_rate", accept_rate), ("rho0", rho0), ("rho1", rho1)):
        _check_rate(name, rate)
    if not rho0 < accept_rate < 1 - rho1:
        raise ConfigError(
            f"an accept rate of {accept_rate:g} does not go with rho0 = {rho0:g} and rho1 = "
            f"{rho1:g}: it lies between rho0 and 1 - rho1. Guess smaller error rates."
        )
    fp, fn = (
        max(rho0, min(half_width, accept_rate / 2)),
        max(rho1, min(half_width, (1 - accept_rate) / 2)),
    )
    right = (accept_rate - fp) / (1 - fp - fn)
    ppv = right * (1 - fn) / accept_rate
    missed = right * fn / (1 - accept_rate)
    goal = (half_width / z) ** 2
    costs = (
        _Cost.of_rate(fp, goal, ppv / (1 - ppv), missed / (1 - missed)),
        _Cost.of_rate(fn, goal, (1 - ppv) / ppv, (1 - missed) / missed),
    )
    share = _best_share(costs)
    labels = max(cost.labels(share) for cost in costs)
    wrong_needed = labels_for_half_width(fp, half_width=half_width, confidence=confidence)
    right_needed = labels_for_half_width(fn, half_width=half_width, confidence=confidence)
    return AuditPlan(
        accepted=math.ceil(labels * share),
        rejected=math.ceil(labels * (1 - share)),
        uniform=math.ceil(max(wrong_needed / (1 - right), right_needed / right)),
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """What one rate asks for: accepted / n_accepted + rejected / n_rejected <= 1."""

    accepted: float
    rejected: float

    @classmethod
    def of_rate(cls, rate: float, goal: float, accepted: float, rejected: float) -> "_Cost":
        scale = (rate * (1 - rate)) ** 2 / goal
        return cls(scale * accepted, scale * rejected)

    def labels(self, share: float) -> float:
        """Returns the labels needed if this share of them is of accepted rows."""
        return self.accepted / share + self.rejected / (1 - share)


def _best_share(costs: Sequence[_Cost]) -> float:
    """Returns the share of accepted rows with the fewest labels: the sum is convex in it."""
    low, high = 1e-6, 1 - 1e-6
    for _ in range(100):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if max(c.labels(left) for c in costs) < max(c.labels(right) for c in costs):
            high = right
        else:
            low = left
    return (low + high) / 2


def _exact_half(successes: float, trials: int, tail: float) -> float:
    failures = trials - successes
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, failures + 1)
    high = 1.0 if failures == 0 else beta_quantile(1 - tail, successes + 1, failures)
    return (high - low) / 2


def _smallest(enough: Callable[[int], bool]) -> int:
    """Returns the smallest count that is enough, where more is enough too."""
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_rate(name: str, rate: float) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ConfigError(f"{name} is in [0, 1], not {rate}")


def _check_half_width(half_width: float) -> None:
    if not 0.0 < half_width < 0.5:
        raise ConfigError(f"a half-width is strictly between 0 and 0.5, not {half_width}")
