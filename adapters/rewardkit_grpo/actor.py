"""What writes completions: the policy with its tokenizer, and what a step's completions are."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch

from rewardkit.errors import ConfigError
from rewardkit.shapes import token_starts
from rewardkit_grpo import parallel
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.data import Prompt, Tokenizer
from rewardkit_grpo.models import Model, autocast, device_of
from rewardkit_grpo.processors import chain
from rewardkit_grpo.rollout import Generated, generate

__all__ = ["Actor", "Rollouts"]


@dataclass(slots=True)
class Rollouts:
    """Some prompts and their completions, on this rank."""

    prompts: list[Prompt]
    """(B,): that of each completion."""
    groups: list[int]
    """(B,): the place of the prompt in the step, over all ranks."""
    texts: list[str]
    """(B,)."""
    completions: list[list[int]]
    """(B,) token ids, with the end-of-sequence token where there is one."""
    logps: list[list[float]]
    """(B,) by token, as sampled."""
    entropy: float
    """Mean over all tokens, in nats, of the distribution at the temperature."""
    truncated: list[bool]
    """(B,)."""

    @property
    def lengths(self) -> list[int]:
        """Tokens of each completion."""
        return [len(row) for row in self.completions]


class Actor:
    """Samples from the policy.

    Args:
        model: the policy.
        tokenizer: its own.
        config: of the run.

    Raises:
        ConfigError: there is no end-of-sequence token, or a stop text is more than one token.
    """

    def __init__(self, model: Model, tokenizer: Tokenizer, config: GRPOConfig) -> None:
        self.model, self.tokenizer, self.config = model, tokenizer, config
        self.eos_ids = _eos_ids(model, tokenizer, config.stop)

    def sample(
        self,
        prompts: Sequence[Prompt],
        *,
        group_size: int,
        stream: int,
        groups: Sequence[int],
        explore: bool = True,
    ) -> Rollouts:
        """Returns `group_size` completions of each prompt.

        Args:
            prompts: (P,).
            group_size: completions of each.
            stream: with the seed and the rank it decides every draw.
            groups: (P,) ids.
            explore: False leaves CUTS away.
        """
        config, found = self.config, Generated([], [], [], [])
        processor = chain(
            group_size=group_size,
            top_k=config.top_k,
            top_p=config.top_p,
            cuts_k=config.cuts_k if explore else 0,
            cuts_min_p=config.cuts_min_p,
            cuts_share=config.cuts_share,
        )
        device = device_of(self.model)
        at_once = max(1, config.generation_rows // group_size)
        for start in range(0, len(prompts), at_once):
            words = f"{config.seed}/{stream}/{parallel.rank()}/{start}"
            generator = torch.Generator(device)
            generator.manual_seed(random.Random(words).getrandbits(63))
            with autocast(device, config.precision):
                part = generate(
                    self.model,
                    [prompt.ids for prompt in prompts[start : start + at_once]],
                    group_size=group_size,
                    max_new_tokens=config.max_new_tokens,
                    eos_ids=self.eos_ids,
                    temperature=config.temperature,
                    processor=processor,
                    generator=generator,
                )
            found.completions.extend(part.completions)
            found.logps.extend(part.logps)
            found.entropies.extend(part.entropies)
            found.truncated.extend(part.truncated)
        return Rollouts(
            [prompt for prompt in prompts for _ in range(group_size)],
            [group for group in groups for _ in range(group_size)],
            [self._text(row) for row in found.completions],
            found.completions,
            found.logps,
            sum(map(sum, found.entropies)) / sum(map(len, found.completions)),
            found.truncated,
        )

    def token_starts(self, completion: Sequence[int]) -> list[int]:
        """Returns where each token of a completion begins in its text, in characters."""
        return token_starts(completion, partial(self.tokenizer.decode, skip_special_tokens=True))

    def _text(self, completion: Sequence[int]) -> str:
        kept = [token for token in completion if token not in self.eos_ids]
        text: str = self.tokenizer.decode(kept, skip_special_tokens=True)
        return text


def _eos_ids(model: Model, tokenizer: Tokenizer, stop: Sequence[str]) -> list[int]:
    found = [tokenizer.eos_token_id]
    more = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    found += more if isinstance(more, list) else [more]
    for text in stop:
        tokens = tokenizer.encode(text)
        if len(tokens) != 1:
            raise ConfigError(f"stop: {text!r} is {len(tokens)} tokens here; give texts of one")
        found += tokens
    ids = sorted({token for token in found if token is not None})
    if not ids:
        raise ConfigError("the tokenizer has no eos_token_id, so no completion could end; set one")
    return ids
