"""The two error rates of a verifier from labelled rows, with intervals.

Throughout, rho0 = P(accepted | wrong) is the false-positive rate and rho1 = P(rejected | right) the
false-negative rate, as in arXiv 2510.00915. What a correction divides by is 1 - rho0 - rho1,
Youden's J: at J <= 0 the verifier says nothing, or the opposite, about the truth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import get_args

from rewardkit.errors import ConfigError
from rewardkit.noise._special import expit, normal_quantile
from rewardkit.noise.counts import Audit
from rewardkit.noise.intervals import IntervalMethod, clopper_pearson_interval, rate_interval

__all__ = ["Estimate", "LogitEstimate", "Rates", "estimate_rates", "logit_rates"]

_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate and its confidence interval.

    Raises:
        ConfigError: not 0 <= low <= value <= high <= 1.
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.low <= self.value <= self.high <= 1.0:
            raise ConfigError(f"an estimate has 0 <= low <= value <= high <= 1, not {self!r}")

    @classmethod
    def exact(cls, value: float) -> "Estimate":
        """Returns a rate that is known, so that its interval is a point."""
        return cls(value, value, value)


@dataclass(frozen=True, slots=True)
class LogitEstimate:
    """A rate on the logit scale, where its error is near normal: for pooling and intervals."""

    centre: float
    variance: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The error rates of one verifier on one kind of rows.

    >>> rates = Rates(rho0=Estimate.exact(0.1), rho1=Estimate.exact(0.2))
    >>> round(rates.j, 3)
    0.7
    """

    rho0: Estimate
    """P(accepted | wrong)."""
    rho1: Estimate
    """P(rejected | right)."""
    audit: Audit | None = None
    """The counts they come from, where there was an audit."""

    @classmethod
    def exact(cls, rho0: float, rho1: float) -> "Rates":
        """Returns rates that are known, as in a simulation."""
        return cls(Estimate.exact(rho0), Estimate.exact(rho1))

    @property
    def j(self) -> float:
        """Youden's J = 1 - rho0 - rho1, in [-1, 1]."""
        return 1.0 - self.rho0.value - self.rho1.value

    @property
    def j_low(self) -> float:
        """The lower end of J's interval.

        The two rates come from different rows, so their errors are independent.
        Source: Zou and Donner 2008, the method of variance estimates recovery.
        """
        above = math.hypot(self.rho0.high - self.rho0.value, self.rho1.high - self.rho1.value)
        return self.j - above

    @property
    def j_high(self) -> float:
        """The upper end of J's interval."""
        return self.j + math.hypot(self.rho0.value - self.rho0.low, self.rho1.value - self.rho1.low)


def estimate_rates(
    audit: Audit, *, confidence: float = 0.95, method: IntervalMethod = "wilson", seed: int = 0
) -> Rates:
    """Returns the error rates that an audit shows.

    A uniform audit gives two plain shares, with the interval that `method` names. An audit by
    verdict turns P(truth | verdict) into P(verdict | truth) by the share q that is accepted:

        rho0 = q (1 - ppv) / (q (1 - ppv) + (1 - q) (1 - f))
        rho1 = (1 - q) f / ((1 - q) f + q ppv)

    with ppv = P(right | accepted) and f = P(right | rejected). There `wilson` stands for the delta
    method on the logit scale, `jeffreys` for draws from the three posteriors, and
    `clopper_pearson` for the worst case over exact intervals of ppv, f and q that hold together.

    Args:
        audit: the counts.
        confidence: of the intervals, in (0, 1).
        method: which intervals.
        seed: of the draws of `jeffreys`.

    Raises:
        ConfigError: no right or no wrong row is labelled yet, or a verdict has no label.
    """
    _check_audit(audit)
    if not audit.is_by_verdict:
        rho0 = _share(audit.accepted_wrong, audit.wrong, confidence, method)
        rho1 = _share(audit.rejected_right, audit.right, confidence, method)
        return Rates(rho0, rho1, audit)
    values = _from_verdicts(_shares(audit))
    if method == "wilson":
        ends = [_delta(one, confidence) for one in logit_rates(audit)]
    elif method == "jeffreys":
        ends = _posterior(audit, confidence, seed)
    elif method == "clopper_pearson":
        ends = _worst_case(audit, confidence)
    else:
        raise ConfigError(f"the method is one of {', '.join(get_args(IntervalMethod))}: {method!r}")
    rho0, rho1 = (
        Estimate(value, min(low, value), max(high, value))
        for value, (low, high) in zip(values, ends, strict=True)
    )
    return Rates(rho0, rho1, audit)


def logit_rates(audit: Audit) -> tuple[LogitEstimate, LogitEstimate]:
    """Returns rho0 and rho1 on the logit scale, each count raised by a half.

    By verdict, logit(rho0) = logit(q) + log(1 - ppv) - log(1 - f): three independent errors.
    """
    if not audit.is_by_verdict:
        return (
            _logit_share(audit.accepted_wrong, audit.rejected_wrong),
            _logit_share(audit.rejected_right, audit.accepted_right),
        )
    share = _logit_share(audit.accepted_total or 0, audit.rejected_total or 0)
    wrong = [
        _log_share(audit.accepted_wrong, audit.accepted_right),
        _log_share(audit.rejected_wrong, audit.rejected_right),
    ]
    right = [
        _log_share(audit.rejected_right, audit.rejected_wrong),
        _log_share(audit.accepted_right, audit.accepted_wrong),
    ]
    return _difference(wrong, share, 1.0), _difference(right, share, -1.0)


def _difference(logs: Sequence[LogitEstimate], share: LogitEstimate, sign: float) -> LogitEstimate:
    above, below = logs
    centre = sign * share.centre + above.centre - below.centre
    return LogitEstimate(centre, share.variance + above.variance + below.variance)


def _logit_share(part: int, rest: int) -> LogitEstimate:
    a, b = part + 0.5, rest + 0.5
    return LogitEstimate(math.log(a / b), 1 / a + 1 / b)


def _log_share(part: int, rest: int) -> LogitEstimate:
    a, n = part + 0.5, part + rest + 1.0
    return LogitEstimate(math.log(a / n), 1 / a - 1 / n)


def _share(part: int, whole: int, confidence: float, method: IntervalMethod) -> Estimate:
    interval = rate_interval(part, whole, confidence=confidence, method=method)
    value = part / whole
    return Estimate(value, min(interval.low, value), max(interval.high, value))


def _shares(audit: Audit) -> tuple[float, float, float]:
    accepted, rejected = audit.accepted_total or 0, audit.rejected_total or 0
    return (
        accepted / (accepted + rejected),
        audit.accepted_right / audit.accepted_labelled,
        audit.rejected_right / audit.rejected_labelled,
    )


def _from_verdicts(shares: tuple[float, float, float]) -> tuple[float, float]:
    q, ppv, f = shares
    wrong = q * (1 - ppv) + (1 - q) * (1 - f)
    right = q * ppv + (1 - q) * f
    return (q * (1 - ppv) / wrong if wrong else 0.5, (1 - q) * f / right if right else 0.5)


def _delta(one: LogitEstimate, confidence: float) -> tuple[float, float]:
    half = normal_quantile(confidence) * math.sqrt(one.variance)
    return expit(one.centre - half), expit(one.centre + half)


def _posterior(audit: Audit, confidence: float, seed: int) -> list[tuple[float, float]]:
    normal_quantile(confidence)  # refuses what is no confidence
    draw = Random(seed).betavariate
    accepted, rejected = audit.accepted_total or 0, audit.rejected_total or 0
    drawn = [
        _from_verdicts(
            (
                draw(accepted + 0.5, rejected + 0.5),
                draw(audit.accepted_right + 0.5, audit.accepted_wrong + 0.5),
                draw(audit.rejected_right + 0.5, audit.rejected_wrong + 0.5),
            )
        )
        for _ in range(_DRAWS)
    ]
    cut = round(_DRAWS * (1 - confidence) / 2)
    columns = (sorted(column) for column in zip(*drawn, strict=True))
    return [(column[cut], column[-1 - cut]) for column in columns]


def _worst_case(audit: Audit, confidence: float) -> list[tuple[float, float]]:
    # Three intervals that each miss a third as often hold together as often as one (Bonferroni).
    each = 1 - (1 - confidence) / 3
    accepted, rejected = audit.accepted_total or 0, audit.rejected_total or 0
    q = clopper_pearson_interval(accepted, accepted + rejected, each)
    ppv = clopper_pearson_interval(audit.accepted_right, audit.accepted_labelled, each)
    f = clopper_pearson_interval(audit.rejected_right, audit.rejected_labelled, each)
    # rho0 rises with q and f and falls with ppv; rho1 rises with f and falls with q and ppv.
    return [
        (
            _from_verdicts((q.low, ppv.high, f.low))[0],
            _from_verdicts((q.high, ppv.low, f.high))[0],
        ),
        (
            _from_verdicts((q.high, ppv.high, f.low))[1],
            _from_verdicts((q.low, ppv.low, f.high))[1],
        ),
    ]


def _check_audit(audit: Audit) -> None:
    for what, count in (("right", audit.right), ("wrong", audit.wrong)):
        if count == 0:
            rate = "rho1" if what == "right" else "rho0"
            raise ConfigError(f"no {what} row is labelled, so {rate} is unknown: label more rows")
    if audit.is_by_verdict and not (audit.accepted_labelled and audit.rejected_labelled):
        raise ConfigError("an audit by verdict needs labels of accepted and of rejected rows")
