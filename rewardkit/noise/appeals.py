"""Error rates while training runs: a share of the verdicts is checked by a second verifier.

`AppealsEstimator` is the published one: rejected rollouts may appeal. It takes every accepted
rollout for right and every judge for perfect, so it is biased where either is not. `TwoSidedAudit`
checks accepted rollouts too, counts with forgetting, and corrects for the judge's own errors.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

from rewardkit.errors import ConfigError
from rewardkit.noise._special import expit, normal_quantile
from rewardkit.noise.rates import Estimate, Rates

__all__ = ["AppealsEstimator", "TwoSidedAudit"]


@dataclass(frozen=True, slots=True)
class AppealsEstimator:
    """The false-negative rate by appeals of rejected rollouts.

    Each step, rho1 = (F + alpha) / (F + A + alpha + beta), where F is the flipped appeals divided
    by the share of rejections that appeal, and A the accepted rollouts; then an exponential mean
    over steps. Source: arXiv 2510.00915, the online estimator.

    >>> estimator = AppealsEstimator(share=0.5).update(accepted=80, appealed=10, flipped=10)
    >>> round(estimator.rho1, 4)
    0.2

    Raises:
        ConfigError: a value is outside its range.
    """

    share: float = 0.1
    """Of rejected rollouts that are checked again, drawn at random, in (0, 1]."""
    decay: float = 0.9
    """How much of the past stays at each step, in [0, 1)."""
    alpha: float = 1e-5
    beta: float = 1e-5
    """The two smooth the ratio where counts are 0."""
    judge: Rates | None = None
    """Error rates of the appeal judge; None takes it for perfect, as published."""
    rho1: float | None = None
    """The estimate; None before the first step."""

    def __post_init__(self) -> None:
        _check_unit("share", self.share, 0.0 < self.share <= 1.0)
        _check_unit("decay", self.decay, 0.0 <= self.decay < 1.0)
        _check_unit("alpha and beta", min(self.alpha, self.beta), min(self.alpha, self.beta) > 0)
        _check_judge(self.judge)

    def update(self, *, accepted: int, appealed: int, flipped: int) -> Self:
        """Returns the estimator after one more step.

        Args:
            accepted: rollouts that the verifier accepted.
            appealed: rejected rollouts that the judge saw.
            flipped: those of them that it found right.

        Raises:
            ConfigError: the counts are impossible.
        """
        if not (accepted >= 0 and 0 <= flipped <= appealed):
            raise ConfigError(f"{flipped} flipped of {appealed} appealed, {accepted} accepted")
        right = _true_share(flipped, appealed, self.judge) * appealed
        missed = right / self.share
        step = (missed + self.alpha) / (missed + accepted + self.alpha + self.beta)
        before = step if self.rho1 is None else self.rho1
        return replace(self, rho1=self.decay * before + (1 - self.decay) * step)


@dataclass(frozen=True, slots=True)
class TwoSidedAudit:
    """Both error rates by checks of accepted and of rejected rollouts.

    Counts of earlier steps fade, and rates are ratios of the faded counts; a mean of ratios, each
    of few checks, would be biased.

    Raises:
        ConfigError: a value is outside its range.
    """

    decay: float = 0.98
    """How much of the counts stays at each step, in [0, 1)."""
    judge: Rates | None = None
    """Error rates of the judge, from labels; None takes it for perfect."""
    accepted: float = 0.0
    rejected: float = 0.0
    """Rollouts by verdict, faded."""
    checked_accepted: float = 0.0
    right_accepted: float = 0.0
    """Accepted rollouts that the judge saw, and found right."""
    checked_rejected: float = 0.0
    right_rejected: float = 0.0
    """The same of rejected ones."""
    squares_accepted: float = 0.0
    squares_rejected: float = 0.0
    """Checks, each with its faded weight squared: what the faded counts are worth as a sample."""

    def __post_init__(self) -> None:
        _check_unit("decay", self.decay, 0.0 <= self.decay < 1.0)
        _check_judge(self.judge)

    def update(
        self,
        *,
        accepted: int,
        rejected: int,
        checked_accepted: int,
        right_accepted: int,
        checked_rejected: int,
        right_rejected: int,
    ) -> Self:
        """Returns the audit after one more step: rollouts, checks, and what the judge found right.

        Checks are drawn at random among the accepted and among the rejected rollouts.

        Raises:
            ConfigError: the counts are impossible.
        """
        if not (
            0 <= right_accepted <= checked_accepted <= accepted
            and 0 <= right_rejected <= checked_rejected <= rejected
        ):
            raise ConfigError("of each verdict: right <= checked <= rollouts, none negative")
        keep = self.decay
        return replace(
            self,
            accepted=keep * self.accepted + accepted,
            rejected=keep * self.rejected + rejected,
            checked_accepted=keep * self.checked_accepted + checked_accepted,
            right_accepted=keep * self.right_accepted + right_accepted,
            checked_rejected=keep * self.checked_rejected + checked_rejected,
            right_rejected=keep * self.right_rejected + right_rejected,
            squares_accepted=keep**2 * self.squares_accepted + checked_accepted,
            squares_rejected=keep**2 * self.squares_rejected + checked_rejected,
        )

    def rates(self, *, confidence: float = 0.95) -> Rates:
        """Returns both rates, with intervals by the delta method on the logit scale.

        What is not known of the judge's own rates is not in the intervals.

        Raises:
            ConfigError: not both verdicts were checked yet, or one truth was not met.
        """
        z = normal_quantile(confidence)
        if not (self.checked_accepted and self.checked_rejected):
            raise ConfigError("check accepted and rejected rollouts before asking for rates")
        ppv = _true_share(self.right_accepted, self.checked_accepted, self.judge)
        missed = _true_share(self.right_rejected, self.checked_rejected, self.judge)
        wrong = (self.accepted * (1 - ppv), self.rejected * (1 - missed))
        right = (self.rejected * missed, self.accepted * ppv)
        if not (sum(wrong) and sum(right)):
            raise ConfigError("no rollout of one truth was met yet: check more")
        slack = 1.0 if self.judge is None else self.judge.j
        a = _variance(self.right_accepted, self.checked_accepted, self.squares_accepted) / slack**2
        r = _variance(self.right_rejected, self.checked_rejected, self.squares_rejected) / slack**2
        share = 1 / self.accepted + 1 / self.rejected
        return Rates(
            _logit_interval(wrong, share + a / _square(1 - ppv) + r / _square(1 - missed), z),
            _logit_interval(right, share + a / _square(ppv) + r / _square(missed), z),
        )


def _variance(right: float, checked: float, squares: float) -> float:
    """Returns the variance of a share of weighted checks, at Kish's effective sample size."""
    seen = (right + 0.5) / (checked + 1)
    return seen * (1 - seen) / (checked**2 / squares + 1)


def _square(share: float) -> float:
    # A share of 0 would say that the rate's logarithm is known to no digit at all.
    return max(share, 1e-3) ** 2


def _logit_interval(parts: tuple[float, float], variance: float, z: float) -> Estimate:
    part, rest = parts
    value = part / (part + rest)
    centre = math.log((part + 0.5) / (rest + 0.5))
    half = z * math.sqrt(variance)
    return Estimate(value, min(value, expit(centre - half)), max(value, expit(centre + half)))


def _true_share(found: float, checked: float, judge: Rates | None) -> float:
    """Returns the share of right ones behind what a judge found (Rogan and Gladen 1978)."""
    if not checked:
        return 0.0
    if judge is None:
        return found / checked
    return min(max((found / checked - judge.rho0.value) / judge.j, 0.0), 1.0)


def _check_judge(judge: Rates | None) -> None:
    if judge is not None and judge.j_low <= 0:
        raise ConfigError(f"the judge's J may be {judge.j_low:.3f}: label more to calibrate it")


def _check_unit(name: str, value: float, holds: bool) -> None:
    if not holds:
        raise ConfigError(f"{name} is outside its range: {value}")
