"""The estimators on arrays: the same code for NumPy arrays and torch tensors, on any device.

Functions here read the array type of what they are given and use only names that NumPy and torch
share. Nothing is imported for a tensor that its caller has not imported.
"""

import sys
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args

from rewardkit.errors import ConfigError

__all__ = [
    "Array",
    "ArrayEstimator",
    "array_advantages",
    "importance_weights",
    "masked_mean",
    "namespace",
]

Array: TypeAlias = Any
"""A NumPy array or a torch tensor."""

ArrayEstimator: TypeAlias = Literal["none", "mean", "leave_one_out", "group_z", "batch_z", "mad"]
"""As in `estimate_advantages`."""


def namespace(array: Array) -> ModuleType:
    """Returns the module whose functions take this array: numpy or torch.

    Raises:
        ConfigError: it is neither.
    """
    root = type(array).__module__.partition(".")[0]
    if root in ("numpy", "torch") and hasattr(array, "shape"):
        return sys.modules[root]
    raise ConfigError(f"give a NumPy array or a torch tensor, not {type(array).__name__}")


def masked_mean(values: Array, mask: Array, *, axis: int = -1) -> Array:
    """Returns the mean where the mask is not 0; 0 where it is 0 all along the axis.

    Args:
        values: of any shape; what is masked may be NaN.
        mask: of the same shape.
        axis: that goes.
    """
    xp = namespace(values)
    kept = xp.where(mask != 0, values, xp.zeros_like(values))
    count = xp.where(mask != 0, xp.ones_like(values), xp.zeros_like(values)).sum(axis)
    return kept.sum(axis) / xp.where(count == 0, xp.ones_like(count), count)


def array_advantages(
    rewards: Array,
    groups: Array,
    *,
    estimator: ArrayEstimator = "leave_one_out",
    ddof: int = 1,
    eps: float = 1e-4,
) -> Array:
    """Returns (B,) advantages, as `estimate_advantages` does for lists.

    NaN is an undecided reward: it is in no mean and no deviation, and its advantage is 0. A group
    with fewer than two decided rewards, or whose rewards are all alike, gets 0 from every
    estimator with a baseline.

    Args:
        rewards: (B,) floating, NaN where undecided.
        groups: (B,) integer ids, in any order.
        estimator: `mean` is Dr. GRPO's (arXiv:2503.20783); `mad` is (r - m) / (d + eps) with d the
            mean absolute deviation of the group: the median one is 0 in a group of 0s and 1s with
            an uneven count of each.
        ddof: 1 for the sample deviation, 0 for the population's.
        eps: added to a deviation, in units of the reward.

    Raises:
        ConfigError: the shapes differ, or there is no such estimator.
    """
    if estimator not in get_args(ArrayEstimator):
        raise ConfigError(f"estimator is one of {', '.join(get_args(ArrayEstimator))}")
    if rewards.shape != groups.shape or len(rewards.shape) != 1:
        raise ConfigError(f"rewards {rewards.shape} and groups {groups.shape} are both (B,)")
    xp = namespace(rewards)
    decided = ~xp.isnan(rewards)
    known = xp.where(decided, rewards, xp.zeros_like(rewards))
    if estimator == "none":
        return known
    same = (groups[:, None] == groups[None, :]) & decided[None, :]
    count = xp.where(same, xp.ones_like(known)[None, :], xp.zeros_like(known)[None, :]).sum(1)
    row = known[None, :] + xp.zeros_like(known)[:, None]
    mean = masked_mean(row, same)
    gap = xp.where(decided, known - mean, xp.zeros_like(known))
    low = xp.amin(xp.where(same, row, xp.inf), 1)
    high = xp.amax(xp.where(same, row, -xp.inf), 1)
    flat = (count < 2) | (low == high) | ~decided
    away = xp.where(same, row - mean[:, None], xp.zeros_like(row))
    ones = xp.ones_like(gap)
    if estimator == "group_z":
        scale = xp.sqrt((away**2).sum(1) / xp.where(flat, ones, count - ddof)) + eps
    elif estimator == "mad":
        scale = masked_mean(xp.abs(away), same) + eps
    elif estimator == "batch_z":
        kept = known[decided]
        spread = ((kept - kept.mean()) ** 2).sum() if kept.shape[0] else 0.0 * known.sum()
        scale = ones * xp.sqrt(spread / max(kept.shape[0] - ddof, 1)) + eps
    elif estimator == "leave_one_out":
        scale = (count - 1) / xp.where(flat, ones, count)
    else:
        scale = ones
    return xp.where(flat, xp.zeros_like(gap), gap / xp.where(flat, ones, scale))


def importance_weights(
    logps: Array, old_logps: Array, mask: Array, *, level: Literal["token", "sequence"] = "token"
) -> Array:
    """Returns (B, T) ratios of the policy that is trained to the one that sampled, 0 where masked.

    IS-GRPO multiplies each token's advantage by the plain ratio, without a clip; `sequence` has the
    product of the row's ratios in each of its tokens, which makes the estimate of the return's
    gradient unbiased.

    Args:
        logps: (B, T) of the policy.
        old_logps: (B, T) of the sampler.
        mask: (B, T) 1 where a token counts.
        level: token or sequence.
    """
    if level not in ("token", "sequence"):
        raise ConfigError(f"level is 'token' or 'sequence', not {level!r}")
    xp = namespace(logps)
    zeros = xp.zeros_like(logps)
    gaps = xp.where(mask != 0, logps - old_logps, zeros)
    if level == "sequence":
        gaps = gaps.sum(-1)[:, None] + zeros
    return xp.where(mask != 0, xp.exp(gaps), zeros)
