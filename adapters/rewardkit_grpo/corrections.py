"""Coefficients that make up for a verifier's errors: PGBC and PGFC (arXiv:2510.00915).

A verifier that says 1 for a wrong completion with probability rho0, and 0 for a right one with
probability rho1, gives rewards whose mean is c R + rho0 with c = 1 - rho0 - rho1. What these do:

- with one pair of rates they change the size of the gradient and not its direction;
- with rates that differ between strata (verifier, source, format) they mend the direction;
- under a group z-score they cancel exactly, so they are coefficients after the group step.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeAlias

from rewardkit.advantages import estimate_advantages
from rewardkit.errors import ConfigError

__all__ = [
    "BackwardCorrection",
    "ForwardCorrection",
    "Rates",
    "backward_rewards",
    "forward_weights",
]

Rates: TypeAlias = float | Sequence[float]
"""One rate for all rows, or one a row: that of its stratum."""

Scale: TypeAlias = float | Literal["ema"]

_LEAST_INFORMATION = 0.1


def backward_rewards(
    rewards: Sequence[float | None], rho0: Rates, rho1: Rates
) -> list[float | None]:
    """Returns (r - rho0) / c, whose expectation is the true reward.

    Args:
        rewards: (B,) in [0, 1], None where undecided.
        rho0: false-positive rate.
        rho1: false-negative rate.

    Raises:
        ConfigError: a rate is outside [0, 1), or c is below 0.1: so little is left of the signal
            that dividing by it only adds noise.

    >>> backward_rewards([1.0, 0.0], 0.1, 0.4)
    [1.8, -0.2]
    """
    pairs = _pairs(len(rewards), rho0, rho1)
    return [
        None
        if reward is None
        else (reward - false_positive) / (1 - false_positive - false_negative)
        for reward, (false_positive, false_negative) in zip(rewards, pairs, strict=True)
    ]


def forward_weights(
    rewards: Sequence[float | None], rho0: Rates, rho1: Rates
) -> list[float | None]:
    """Returns r - (1 - rho1): expectation 0 on a right completion and -c on a wrong one.

    Only rho1 is used; rho0 is checked.

    Raises:
        ConfigError: as in `backward_rewards`.

    >>> forward_weights([1.0, 0.0], 0.0, 0.25)
    [0.25, -0.75]
    """
    pairs = _pairs(len(rewards), rho0, rho1)
    return [
        None if reward is None else reward - (1 - false_negative)
        for reward, (_, false_negative) in zip(rewards, pairs, strict=True)
    ]


class _Scaled:
    """A fixed divisor, or a moving average of the coefficients' root mean square."""

    def __init__(self, scale: Scale, decay: float) -> None:
        if scale != "ema" and not 0 < scale < math.inf:
            raise ConfigError(f"scale is a number above 0, or 'ema', not {scale!r}")
        if not 0 <= decay < 1:
            raise ConfigError(f"decay is in [0, 1), not {decay!r}")
        self.scale: Scale = scale
        self.decay = decay
        self.average: float | None = None
        """The moving average; part of a checkpoint."""

    def divide(self, values: Sequence[float | None]) -> list[float | None]:
        present = [value for value in values if value is not None]
        if self.scale != "ema":
            divisor = float(self.scale)
        else:
            size = math.sqrt(math.fsum(v * v for v in present) / len(present)) if present else 0.0
            if size > 0:
                old = size if self.average is None else self.average
                self.average = self.decay * old + (1 - self.decay) * size
            divisor = self.average or 1.0
        return [None if value is None else value / divisor for value in values]


class BackwardCorrection(_Scaled):
    """PGBC: leave-one-out advantages of the corrected rewards, over a fixed or moving scale.

    Never over the group's own standard deviation, under which the correction would cancel.

    Args:
        rho0: false-positive rate, one or one a row.
        rho1: false-negative rate, one or one a row.
        scale: a divisor, or `"ema"`.
        decay: of the moving average.

    >>> BackwardCorrection(0.1, 0.4)([1.0, 0.0], ["a", "a"])
    [2.0, -2.0]
    """

    def __init__(self, rho0: Rates, rho1: Rates, *, scale: Scale = 1.0, decay: float = 0.9) -> None:
        super().__init__(scale, decay)
        self.rho0, self.rho1 = rho0, rho1
        _pairs(1 if isinstance(rho0, int | float) else len(rho0), rho0, rho1)

    def __call__(
        self, rewards: Sequence[float | None], groups: Sequence[Hashable], /, **context: Any
    ) -> list[float | None]:
        """Returns one coefficient a row; None stays None."""
        corrected = backward_rewards(rewards, self.rho0, self.rho1)
        found = estimate_advantages(corrected, groups, estimator="leave_one_out")
        kept = zip(found.values, found.decided, strict=True)
        return self.divide([value if decided else None for value, decided in kept])


class ForwardCorrection(_Scaled):
    """PGFC: the uncentred forward weights, over a fixed or moving scale.

    It needs the false-negative rate alone. It has no baseline, since centring would cancel it, and
    so a smaller signal-to-noise ratio than `BackwardCorrection`.

    >>> ForwardCorrection(0.0, 0.25)([1.0, 0.0, None], ["a", "a", "a"])
    [0.25, -0.75, None]
    """

    def __init__(self, rho0: Rates, rho1: Rates, *, scale: Scale = 1.0, decay: float = 0.9) -> None:
        super().__init__(scale, decay)
        self.rho0, self.rho1 = rho0, rho1
        _pairs(1 if isinstance(rho1, int | float) else len(rho1), rho0, rho1)

    def __call__(
        self, rewards: Sequence[float | None], groups: Sequence[Hashable], /, **context: Any
    ) -> list[float | None]:
        """Returns one coefficient a row; None stays None."""
        return self.divide(forward_weights(rewards, self.rho0, self.rho1))


def _pairs(count: int, rho0: Rates, rho1: Rates) -> list[tuple[float, float]]:
    pairs = list(zip(_column("rho0", rho0, count), _column("rho1", rho1, count), strict=True))
    for false_positive, false_negative in pairs:
        if not (0 <= false_positive < 1 and 0 <= false_negative < 1):
            raise ConfigError(
                f"rho0 and rho1 are in [0, 1), not {false_positive!r} and {false_negative!r}"
            )
        if 1 - false_positive - false_negative < _LEAST_INFORMATION:
            raise ConfigError(
                f"rho0 = {false_positive} and rho1 = {false_negative} leave 1 - rho0 - rho1 below "
                f"{_LEAST_INFORMATION}: such a verifier says next to nothing, so mend it instead"
            )
    return pairs


def _column(name: str, rate: Rates, count: int) -> list[float]:
    column = [float(rate)] * count if isinstance(rate, int | float) else [float(r) for r in rate]
    if len(column) != count:
        raise ConfigError(f"{name} has {len(column)} entries for {count} rewards")
    return column
