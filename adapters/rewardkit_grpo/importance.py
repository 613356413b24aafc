"""Sampler and learner are not the same function: the weights that make up for it."""

from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from rewardkit.errors import ConfigError

__all__ = ["Correction", "importance_weights"]

Correction: TypeAlias = Literal[
    "none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"
]
"""What is done with the ratio of learner and sampler."""


def importance_weights(
    logps: Tensor,
    sampler_logps: Tensor,
    mask: Tensor,
    *,
    correction: Correction = "token_truncate",
    largest: float = 2.0,
) -> Tensor:
    """Returns weights w for which E_sampler[w f] = E_learner[f], up to the bound.

    The learner recomputes log-probabilities with other kernels, or another precision, than the
    sampler used, and E_sampler[f] is then biased. w is their ratio by token or, for `sequence_…`,
    the product over the row. `…_truncate` is min(w, largest) (truncated importance sampling);
    `…_mask` sets w to 0 above `largest`. With an infinite bound, the sequence weights are exact.

    Args:
        logps: (B, T) of the learner at the start of the step; no gradient is kept.
        sampler_logps: (B, T) as sampled.
        mask: (B, T), 1 where a token counts.
        correction: `none` gives 1.
        largest: the bound on a weight.

    Returns:
        (B, T), constant over a row for `sequence_…`.

    Raises:
        ConfigError: there is no such correction.
    """
    if correction not in get_args(Correction):
        raise ConfigError(
            f"correction is one of {', '.join(get_args(Correction))}, not {correction!r}"
        )
    if correction == "none":
        return torch.ones_like(mask)
    gap = torch.where(mask > 0, logps.detach() - sampler_logps, 0.0)
    if correction.startswith("sequence"):
        gap = gap.sum(1, keepdim=True).expand_as(gap)
    ratio = gap.exp()
    if correction.endswith("truncate"):
        return ratio.clamp(max=largest)
    return torch.where(ratio > largest, 0.0, ratio)
