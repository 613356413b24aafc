"""The learning rate over a run."""

import math

from rewardkit_grpo.config import GRPOConfig

__all__ = ["rate_share"]


def rate_share(config: GRPOConfig, update: int, total_updates: int) -> float:
    """Returns the share of the learning rate at an optimizer step: a warm-up, then the schedule.

    Args:
        config: of the run.
        update: optimizer steps before this one.
        total_updates: optimizer steps of the whole run.
    """
    warmup = config.warmup_steps
    if update < warmup:
        return (update + 1) / warmup
    share = (update - warmup) / max(total_updates - warmup, 1)
    if config.schedule == "linear":
        return max(1 - share, 0.0)
    if config.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
    return 1.0
