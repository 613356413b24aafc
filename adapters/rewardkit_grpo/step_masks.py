"""Step masks: which steps of a rollout may teach (SAS, arXiv:2604.24003)."""

import torch
from torch import Tensor

from rewardkit.errors import ConfigError

__all__ = ["step_confidence", "step_selection_mask"]


def step_confidence(logps: Tensor, steps: Tensor) -> Tensor:
    """Returns for each token the mean log-probability of its step.

    Args:
        logps: (B, T).
        steps: (B, T) the index of each token's step, from 0; -1 for a token outside of every step.

    Returns:
        (B, T); 0 where there is no step.
    """
    count = int(steps.max()) + 1 if steps.numel() else 0
    if count <= 0:
        return torch.zeros_like(logps)
    inside = (steps >= 0).to(logps)
    index = steps.clamp(min=0)
    zeros = logps.new_zeros(logps.shape[0], count)
    sums = zeros.scatter_add(1, index, logps * inside)
    sizes = zeros.scatter_add(1, index, inside).clamp(min=1)
    return (sums / sizes).gather(1, index) * inside


def step_selection_mask(
    logps: Tensor, steps: Tensor, correct: Tensor, *, share: float = 0.2
) -> Tensor:
    """Returns (B, T) of 0 and 1 to multiply token advantages by.

    0 on the `share` least confident steps of a correct rollout, which may be right by luck, and on
    the `share` most confident steps of a failed one, which may be right and only have been cut off.
    The number of steps is rounded down. Confidence is the mean log-probability of a step's tokens.

    Args:
        logps: (B, T) as sampled.
        steps: as in `step_confidence`.
        correct: (B,) booleans.
        share: of a rollout's steps, in [0, 1].

    Raises:
        ConfigError: the share is outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"share is in [0, 1], not {share!r}")
    confidence, mask = step_confidence(logps, steps), torch.ones_like(logps)
    for row in range(len(logps)):
        own = torch.unique(steps[row][steps[row] >= 0])
        dropped = int(share * len(own))
        if dropped == 0:
            continue
        by_step = torch.stack([confidence[row][steps[row] == step][0] for step in own])
        order = by_step.argsort(descending=not bool(correct[row]), stable=True)
        mask[row, torch.isin(steps[row], own[order[:dropped]])] = 0
    return mask
