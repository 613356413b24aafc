"""Sampling: many completions of each prompt, with the log-probabilities they were drawn with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from rewardkit_grpo.logprobs import collate
from rewardkit_grpo.models import (
    Model,
    backbone,
    cache_argument,
    device_of,
    head,
    positions,
)

__all__ = ["Generated", "LogitsProcessor", "generate"]

LogitsProcessor: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""From (n, V) log-probabilities at the temperature, and (n,) places in their group, to weights.

Weights are (n, V), not negative; a token is drawn in proportion to its own."""


@dataclass(frozen=True, slots=True)
class Generated:
    """The completions of some prompts; each prompt's stand together, in the prompts' order."""

    completions: list[list[int]]
    """Token ids, with the end-of-sequence token where there is one."""
    logps: list[list[float]]
    """By token, at the sampler's temperature, before any processor."""
    entropies: list[list[float]]
    """By token, of the distribution that its log-probability is from, in nats."""
    truncated: list[bool]
    """True for a completion that the limit ended."""


@torch.no_grad()
def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    group_size: int,
    max_new_tokens: int,
    eos_ids: Sequence[int],
    temperature: float = 1.0,
    processor: LogitsProcessor | None = None,
    generator: torch.Generator | None = None,
    pad_id: int = 0,
) -> Generated:
    """Returns `group_size` completions of each prompt.

    A prompt runs through the model once and its keys and values are handed to its completions;
    completions that have ended leave the batch.

    Args:
        model: a causal language model.
        prompts: token ids, none empty.
        group_size: completions of each prompt.
        max_new_tokens: the end-of-sequence token included.
        eos_ids: tokens that end a completion.
        temperature: above 0.
        processor: what is done to the probabilities before a token is drawn.
        generator: of the model's device; the draws depend on nothing else that is random.
        pad_id: any token id.
    """
    body, lm_head = backbone(model), head(model)
    start = _prefill(model, prompts, group_size, pad_id)
    cache, hidden, mask = start.cache, start.hidden, start.mask
    lengths, device = mask.sum(1), mask.device
    rows = torch.arange(len(mask), device=device)
    ends = torch.tensor(sorted(eos_ids), device=device)
    found = _Columns(len(mask), max_new_tokens, device)
    for place in range(max_new_tokens):
        normal = _log_probabilities(lm_head, hidden, temperature)
        weights = normal.exp() if processor is None else processor(normal, rows % group_size)
        tokens = torch.multinomial(weights, 1, generator=generator)
        found.put(rows, place, tokens, normal)
        going = ~torch.isin(tokens[:, 0], ends)
        found.ended[rows] = ~going
        if place + 1 == max_new_tokens or not bool(going.any()):
            break
        if not bool(going.all()):
            kept = going.nonzero()[:, 0]
            cache.batch_select_indices(kept)
            rows, tokens, mask, lengths = rows[kept], tokens[kept], mask[kept], lengths[kept]
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], 1)
        hidden = body(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=(lengths + place)[:, None],
            **cache_argument(body, cache),
        ).last_hidden_state[:, -1]
    return found.rows()


class _Start(NamedTuple):
    """What is known when the prompts have been read; a row for each completion."""

    cache: Any
    hidden: Tensor
    """(B, D), at the prompt's end."""
    mask: Tensor
    """(B, P), 0 on padding."""


def _prefill(
    model: Model, prompts: Sequence[Sequence[int]], group_size: int, pad_id: int
) -> _Start:
    from transformers import DynamicCache

    device = device_of(model)
    batch = collate(prompts, [[]] * len(prompts), pad_id=pad_id, device=device)
    body, cache = backbone(model), DynamicCache(config=model.config)
    hidden = body(
        input_ids=batch.prompt_ids,
        attention_mask=batch.prompt_mask,
        position_ids=positions(batch.prompt_mask),
        **cache_argument(body, cache),
    ).last_hidden_state[:, -1]
    owners = torch.arange(len(prompts), device=device).repeat_interleave(group_size)
    cache.batch_select_indices(owners)
    return _Start(cache, hidden[owners], batch.prompt_mask[owners])


def _log_probabilities(lm_head: nn.Module, hidden: Tensor, temperature: float) -> Tensor:
    with torch.autocast(hidden.device.type, enabled=False):
        weight = next(lm_head.parameters())
        logits = lm_head(hidden.to(weight.dtype)).float() / temperature
    return torch.log_softmax(logits, -1)


class _Columns:
    """Tokens and log-probabilities as they come, one column a step."""

    def __init__(self, count: int, width: int, device: torch.device) -> None:
        self.tokens = torch.zeros((count, width), dtype=torch.long, device=device)
        self.logps = torch.zeros((count, width), device=device)
        self.entropies = torch.zeros((count, width), device=device)
        self.lengths = torch.zeros(count, dtype=torch.long, device=device)
        self.ended = torch.zeros(count, dtype=torch.bool, device=device)

    def put(self, rows: Tensor, place: int, tokens: Tensor, normal: Tensor) -> None:
        self.tokens[rows, place] = tokens[:, 0]
        self.logps[rows, place] = normal.gather(1, tokens)[:, 0]
        self.entropies[rows, place] = -(normal.exp() * normal).sum(-1)
        self.lengths[rows] = place + 1

    def rows(self) -> Generated:
        lengths = self.lengths.tolist()
        return Generated(
            [row[:n] for row, n in zip(self.tokens.tolist(), lengths, strict=True)],
            [row[:n] for row, n in zip(self.logps.tolist(), lengths, strict=True)],
            [row[:n] for row, n in zip(self.entropies.tolist(), lengths, strict=True)],
            (~self.ended).tolist(),
        )
