"""What samples: a protocol, and the sampler that is the policy itself, in this process."""

from collections.abc import Sequence
from typing import Protocol

import torch

from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.models import Model, autocast, device_of
from rewardkit_grpo.processors import chain
from rewardkit_grpo.rollout import Generated, generate
from rewardkit_grpo.sharding import Shards

__all__ = ["Generator", "LocalGenerator"]


class Generator(Protocol):
    """Writes completions of token ids, and says how likely each token was when it was drawn."""

    def refresh(self, updates: int) -> None:
        """Samples from the weights of now from here on; called by all ranks together.

        Args:
            updates: optimizer steps done; the same number again means that nothing has changed.
        """
        ...

    def generate(
        self, prompts: Sequence[Sequence[int]], *, group_size: int, seed: int, explore: bool
    ) -> Generated:
        """Returns `group_size` completions of each prompt; each prompt's stand together.

        Args:
            prompts: token ids, none empty.
            group_size: completions of each.
            seed: of the draws, in [0, 2^63).
            explore: False leaves out what is for training alone.
        """
        ...


class LocalGenerator:
    """The policy in this process, by `rewardkit_grpo.rollout.generate`.

    Args:
        model: the policy.
        config: of the run.
        eos_ids: tokens that end a completion.
        shards: where the weights are split over ranks.
    """

    def __init__(
        self, model: Model, config: GRPOConfig, eos_ids: Sequence[int], shards: Shards | None = None
    ) -> None:
        self.model, self.config, self.eos_ids, self.shards = model, config, eos_ids, shards

    def refresh(self, updates: int) -> None:
        """The weights are the policy's own; where they are split, each rank gets all of them."""
        if self.shards is not None:
            self.shards.gather()

    def generate(
        self, prompts: Sequence[Sequence[int]], *, group_size: int, seed: int, explore: bool
    ) -> Generated:
        """Returns the completions."""
        config, device = self.config, device_of(self.model)
        processor = chain(
            group_size=group_size,
            top_k=config.top_k,
            top_p=config.top_p,
            cuts_k=config.cuts_k if explore else 0,
            cuts_min_p=config.cuts_min_p,
            cuts_share=config.cuts_share,
        )
        generator = torch.Generator(device)
        generator.manual_seed(seed)
        with autocast(device, config.precision):
            return generate(
                self.model,
                prompts,
                group_size=group_size,
                max_new_tokens=config.max_new_tokens,
                eos_ids=self.eos_ids,
                temperature=config.temperature,
                processor=processor,
                generator=generator,
            )
