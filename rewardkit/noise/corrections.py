"""Rewards of a noisy verifier, corrected: one coefficient for each trajectory.

A corrected reward is an affine map of the 0/1 verdict. A trainer that divides by the group's own
standard deviation removes every affine map exactly, and one that subtracts the group's mean removes
the forward correction. So what comes out here is not a reward but the coefficient of the
trajectory's log-probability gradient, and a combination that would cancel is refused.

Source: arXiv 2510.00915, sections 3 and A; the leave-one-out baseline of arXiv 2402.14740.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, TypeAlias, get_args

from rewardkit.errors import ConfigError
from rewardkit.noise.channel import Channel
from rewardkit.noise.corrected_rewards import (
    MIN_J,
    Scores,
    check_length,
    correct_backward,
    correct_forward,
    rates_of_scores,
)
from rewardkit.noise.rates import Rates

__all__ = [
    "Baseline",
    "Correction",
    "Scale",
    "backward_coefficients",
    "check_combination",
    "forward_coefficients",
    "leave_one_out",
    "noisy_control",
]

Correction: TypeAlias = Literal["backward", "forward"]
"""Backward undoes the channel in the reward; forward weighs the gradient instead."""
Baseline: TypeAlias = Literal["leave_one_out", "mean", "none"]
"""What is subtracted: the mean of the group's other rollouts, of all of them, or nothing."""
Scale: TypeAlias = float | Literal["j", "group_std", "batch_std"]
"""What is divided by: a number above 0, or for forward weights `"j"`, the J of each one's stratum.
The other two names are there to be refused with their reason."""


def leave_one_out(values: Iterable[float | None], groups: Iterable[Hashable]) -> list[float]:
    """Returns each value less the mean of the other values of its group.

    The baseline does not depend on the value itself, so the gradient stays unbiased. A missing
    value counts for nothing and gives 0, and so does one that is alone in its group.

    >>> leave_one_out([1.0, 0.0, 0.0, 1.0], ["a", "a", "a", "b"])
    [1.0, -0.5, -0.5, 0.0]

    Raises:
        ConfigError: lengths differ.
    """
    return _less_group_mean(list(values), list(groups), without_own=True)


def backward_coefficients(
    scores: Scores,
    channel: Rates | Channel,
    *,
    groups: Iterable[Hashable],
    strata: Sequence[str] | None = None,
    baseline: Baseline = "leave_one_out",
    scale: Scale = 1.0,
    min_j: float = MIN_J,
) -> list[float]:
    """Returns the coefficients of policy gradient with backward correction (PGBC).

    Args:
        scores: (B,) verdicts: 0, 1, or None, which gets coefficient 0.
        channel: the verifier's rates.
        groups: (B,) ids of the rollouts' groups.
        strata: (B,) strata of the channel, or None.
        baseline: what is subtracted from the corrected rewards.
        scale: what they are divided by; a number, for instance of an `EmaScale`.
        min_j: as in `correct_backward`.

    Returns:
        (B,) coefficients whose policy gradient is the clean one on average, where the channel
        holds and the baseline is not `"mean"`, which shortens it by 1 - 1/G.

    Raises:
        ConfigError: the combination cancels the correction, or as `correct_backward`.
    """
    check_combination("backward", baseline=baseline, scale=scale)
    corrected = correct_backward(scores, channel, strata=strata, min_j=min_j)
    return _coefficients(corrected, list(groups), baseline, scale)


def forward_coefficients(
    scores: Scores,
    channel: Rates | Channel,
    *,
    strata: Sequence[str] | None = None,
    baseline: Baseline = "none",
    scale: Scale = 1.0,
    min_j: float = MIN_J,
) -> list[float]:
    """Returns the coefficients of policy gradient with forward correction (PGFC).

    They need rho1 alone, which appeals can measure. The price is noise: this is REINFORCE with the
    constant baseline 1 - rho1, where backward correction has one that follows the group.

    Args:
        scores: (B,) verdicts: 0, 1, or None, which gets coefficient 0.
        channel: the verifier's rates.
        strata: (B,) strata of the channel, or None.
        baseline: `"none"`; the others cancel the correction and are refused.
        scale: what the weights are divided by. `"j"`, each by the J of its own rates, restores
            the clean gradient's length, and where strata differ its direction too; a number does
            not, because the weight of a wrong rollout is -J on average.
        min_j: as in `correct_backward`.

    Raises:
        ConfigError: the combination cancels the correction, or as `correct_backward`.
    """
    check_combination("forward", baseline=baseline, scale=scale)
    verdicts = list(scores)
    weights = correct_forward(verdicts, channel, strata=strata, min_j=min_j)
    if scale == "j":
        rates = rates_of_scores(channel, strata, len(verdicts), min_j)
        weights = [
            None if weight is None else weight / one.j
            for weight, one in zip(weights, rates, strict=True)
        ]
    return _coefficients(weights, [None] * len(weights), baseline, 1.0 if scale == "j" else scale)


def noisy_control(
    scores: Scores,
    correction: Correction,
    *,
    groups: Iterable[Hashable],
    baseline: Baseline | None = None,
    scale: Scale = 1.0,
) -> list[float]:
    """Returns what the same path gives without correction: rates 0 and 0.

    A corrected run is compared with this one, not with a trainer's default: baseline and scale are
    then the same, so that a difference comes from the correction.

    Raises:
        ConfigError: as the coefficients of that correction.
    """
    clean = Rates.exact(0.0, 0.0)
    if correction == "forward":
        return forward_coefficients(scores, clean, baseline=baseline or "none", scale=scale)
    return backward_coefficients(
        scores, clean, groups=groups, baseline=baseline or "leave_one_out", scale=scale
    )


def check_combination(correction: Correction, *, baseline: str, scale: Scale) -> None:
    """Checks that a correction reaches the gradient under this baseline and scale.

    Raises:
        ConfigError: it cancels, with the reason; or an option is unknown.
    """
    for name, value, known in (
        ("correction", correction, get_args(Correction)),
        ("baseline", baseline, get_args(Baseline)),
    ):
        if value not in known:
            raise ConfigError(f"{name} is one of {', '.join(known)}, not {value!r}")
    if scale in ("group_std", "batch_std"):
        raise ConfigError(
            f"scale={scale!r} cancels a correction: a corrected reward is an affine map of the 0/1 "
            "verdict, and dividing by the standard deviation of the same rewards undoes its "
            "slope. Use a fixed number, or EmaScale, which knows earlier batches only."
        )
    if scale == "j" and correction == "backward":
        raise ConfigError(
            'scale="j" is of forward weights; backward correction divides by J itself'
        )
    if scale != "j" and (isinstance(scale, str) or not (math.isfinite(scale) and scale > 0)):
        raise ConfigError(f"a scale is a finite number above 0, not {scale!r}")
    if correction == "forward" and baseline != "none":
        raise ConfigError(
            f"baseline={baseline!r} cancels the forward correction: its weight is the verdict less "
            'a constant, and centring removes the constant. Use baseline="none", or backward.'
        )


def _coefficients(
    values: list[float | None], groups: list[Hashable], baseline: Baseline, scale: Scale
) -> list[float]:
    divisor = float(scale)
    if baseline == "none":
        return [0.0 if value is None else value / divisor for value in values]
    centred = _less_group_mean(values, groups, without_own=baseline == "leave_one_out")
    return [value / divisor for value in centred]


def _less_group_mean(
    values: list[float | None], groups: list[Hashable], *, without_own: bool
) -> list[float]:
    check_length("groups", len(groups), len(values))
    sums: dict[Hashable, float] = {}
    counts: dict[Hashable, int] = {}
    for value, group in zip(values, groups, strict=True):
        if value is not None:
            sums[group] = sums.get(group, 0.0) + value
            counts[group] = counts.get(group, 0) + 1
    centred = []
    for value, group in zip(values, groups, strict=True):
        if value is None or counts[group] == 1:
            centred.append(0.0)
        elif without_own:
            centred.append(value - (sums[group] - value) / (counts[group] - 1))
        else:
            centred.append(value - sums[group] / counts[group])
    return centred
