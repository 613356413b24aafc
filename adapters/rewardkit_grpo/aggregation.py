"""From one number a token to one number a step: weights that add up exactly over micro-batches."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from rewardkit.errors import ConfigError

__all__ = ["Aggregation", "StepTotals", "token_weights"]

Aggregation: TypeAlias = Literal[
    "sequence_mean", "sequence_sum", "fixed_length", "token_mean", "local_token_mean"
]
"""How the losses of all tokens of a step become one number."""


@dataclass(frozen=True, slots=True)
class StepTotals:
    """What an optimizer step divides by: counted over the whole step, never over a micro-batch."""

    sequences: int
    """Rows that count, on all ranks."""
    tokens: int
    """Completion tokens that count, on all ranks."""
    local_tokens: int
    """The same on this rank alone."""
    world_size: int = 1
    """Ranks whose gradients are summed."""
    max_tokens: int = 1
    """The longest completion that may be generated: the constant of `fixed_length`."""

    @classmethod
    def of(cls, mask: Tensor, *, max_tokens: int = 1) -> "StepTotals":
        """Returns the totals of one rank's whole step.

        Args:
            mask: (B, T), 1 where a token counts.
            max_tokens: see the field.
        """
        tokens = int(mask.sum())
        return cls(int((mask.sum(1) > 0).sum()), tokens, tokens, 1, max_tokens)


def token_weights(aggregation: Aggregation, mask: Tensor, totals: StepTotals) -> Tensor:
    """Returns the weight of each token's loss.

    With N sequences and T tokens in the whole step, |o| tokens in a row, L `max_tokens`:

    - `sequence_mean`: 1 / (N |o|), the mean over rows of the mean over tokens (GRPO,
      arXiv:2402.03300, equation 3). A token of a long row counts less.
    - `sequence_sum`: 1 / N, as in REINFORCE: the gradient of the expected reward.
    - `fixed_length`: 1 / (N L) (Dr. GRPO, arXiv:2503.20783).
    - `token_mean`: 1 / T over all ranks (DAPO, arXiv:2503.14476, equation 8).
    - `local_token_mean`: 1 / (W T_local), the mean over the W ranks of each one's token mean
      (BNPO). Equal to `token_mean` on one rank; else its value depends on which rank has what.

    The totals are those of the whole step, so that the sum over its micro-batches is the loss of
    the step taken at once, to the last bit of the sum.

    Args:
        aggregation: one of the above.
        mask: (B, T) of one micro-batch, 1 where a token counts.
        totals: of the whole step.

    Returns:
        (B, T), 0 where the mask is 0.

    Raises:
        ConfigError: there is no such aggregation.
    """
    if aggregation not in get_args(Aggregation):
        raise ConfigError(
            f"aggregation is one of {', '.join(get_args(Aggregation))}, not {aggregation!r}"
        )
    sequences = max(totals.sequences, 1)
    if aggregation == "sequence_mean":
        return mask / (mask.sum(1, keepdim=True).clamp(min=1) * sequences)
    divisor = {
        "sequence_sum": sequences,
        "fixed_length": sequences * totals.max_tokens,
        "token_mean": max(totals.tokens, 1),
        "local_token_mean": max(totals.local_tokens, 1) * totals.world_size,
    }[aggregation]
    return mask / torch.as_tensor(divisor, dtype=mask.dtype, device=mask.device)
