"""What writes completions: the policy with its tokenizer, and what a step's completions are."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from rewardkit.errors import ConfigError
from rewardkit.shapes import token_starts
from rewardkit_grpo import parallel
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.data import Prompt, Tokenizer
from rewardkit_grpo.generation import Generator, LocalGenerator
from rewardkit_grpo.models import Model
from rewardkit_grpo.served import ServedGenerator
from rewardkit_grpo.sharding import Shards

__all__ = ["Actor", "Rollouts"]


@dataclass(slots=True)
class Rollouts:
    """Some prompts and their completions; every list has one entry a completion."""

    prompts: list[Prompt] = field(default_factory=list)
    """That of each completion."""
    groups: list[int] = field(default_factory=list)
    """The place of the prompt in the step, over all ranks."""
    texts: list[str] = field(default_factory=list)
    completions: list[list[int]] = field(default_factory=list)
    """Token ids, with the end-of-sequence token where there is one."""
    logps: list[list[float]] = field(default_factory=list)
    """By token, as sampled; empty lists where another rank sampled them."""
    entropies: list[float] = field(default_factory=list)
    """Over its tokens, in nats: the sum of the entropies of the distributions drawn from."""
    truncated: list[bool] = field(default_factory=list)

    @classmethod
    def joined(cls, parts: Iterable["Rollouts"]) -> "Rollouts":
        """Returns the completions of some parts, in their order."""
        whole = cls()
        for part in parts:
            for name in cls.__slots__:
                getattr(whole, name).extend(getattr(part, name))
        return whole

    def taken(self, rows: Sequence[int]) -> "Rollouts":
        """Returns some of the completions, in the order that is given."""
        return Rollouts(*([getattr(self, name)[i] for i in rows] for name in self.__slots__))

    @property
    def lengths(self) -> list[int]:
        """Tokens of each completion."""
        return [len(row) for row in self.completions]

    @property
    def entropy(self) -> float:
        """Mean over all tokens."""
        return sum(self.entropies) / max(sum(self.lengths), 1)


class Actor:
    """Samples from the policy.

    Args:
        model: the policy.
        tokenizer: its own.
        config: of the run.
        shards: where the weights are split over ranks.

    Raises:
        ConfigError: there is no end-of-sequence token, or a stop text is more than one token.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        config: GRPOConfig,
        *,
        shards: Shards | None = None,
    ) -> None:
        self.model, self.tokenizer, self.config = model, tokenizer, config
        self.eos_ids = _eos_ids(model, tokenizer, config.stop)
        self.generator: Generator = (
            LocalGenerator(model, config, self.eos_ids, shards)
            if config.server is None
            else ServedGenerator(model, config, config.server, self.eos_ids)
        )

    def sample(
        self,
        prompts: Sequence[Prompt],
        *,
        group_size: int,
        stream: int,
        groups: Sequence[int],
        explore: bool = True,
    ) -> Rollouts:
        """Returns `group_size` completions of each prompt; the arguments are those of `parts`."""
        return Rollouts.joined(
            self.parts(
                prompts, group_size=group_size, stream=stream, groups=groups, explore=explore
            )
        )

    def parts(
        self,
        prompts: Sequence[Prompt],
        *,
        group_size: int,
        stream: int,
        groups: Sequence[int],
        explore: bool = True,
    ) -> Iterator[Rollouts]:
        """Yields `group_size` completions of each prompt, so many at once as are generated at once.

        Args:
            prompts: (P,).
            group_size: completions of each.
            stream: with the seed and the rank it decides every draw.
            groups: (P,) ids.
            explore: False leaves CUTS away.
        """
        at_once = max(1, self.config.generation_rows // group_size)
        for start in range(0, len(prompts), at_once):
            words = f"{self.config.seed}/{stream}/{parallel.rank()}/{start}"
            own = prompts[start : start + at_once]
            found = self.generator.generate(
                [prompt.ids for prompt in own],
                group_size=group_size,
                seed=random.Random(words).getrandbits(63),
                explore=explore,
            )
            yield Rollouts(
                [prompt for prompt in own for _ in range(group_size)],
                [group for group in groups[start : start + at_once] for _ in range(group_size)],
                [self._text(row) for row in found.completions],
                found.completions,
                found.logps,
                [sum(row) for row in found.entropies],
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
