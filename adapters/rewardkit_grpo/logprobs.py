"""Log-probabilities of completions: at the sampling temperature, in fp32, without waste.

The log-probability of token t is read from the logits at t - 1. The end-of-sequence token is part
of the completion: without it the probabilities of all completions do not add up to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rewardkit_grpo.models import Model, backbone, cache_argument, head, positions

__all__ = [
    "Batch",
    "collate",
    "completion_logps",
    "completion_logps_shared",
    "token_logps",
]


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts padded on the left and completions padded on the right."""

    prompt_ids: Tensor
    """(B, P)."""
    prompt_mask: Tensor
    """(B, P), 0 on padding."""
    completion_ids: Tensor
    """(B, T), the end-of-sequence token included where there is one."""
    completion_mask: Tensor
    """(B, T), 0 on padding."""


def collate(
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    *,
    pad_id: int = 0,
    device: torch.device | str = "cpu",
) -> Batch:
    """Returns rows of token ids as one batch. The padding has no influence on any result."""
    left = max(len(row) for row in prompts)
    right = max(1, max(len(row) for row in completions))
    return Batch(
        *_padded(prompts, left, pad_id, device, left_side=True),
        *_padded(completions, right, pad_id, device, left_side=False),
    )


def _padded(
    rows: Sequence[Sequence[int]],
    width: int,
    pad_id: int,
    device: torch.device | str,
    *,
    left_side: bool,
) -> tuple[Tensor, Tensor]:
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for index, row in enumerate(rows):
        where = slice(width - len(row), width) if left_side else slice(0, len(row))
        ids[index, where] = torch.tensor(list(row), dtype=torch.long)
        mask[index, where] = 1
    return ids.to(device), mask.to(device)


def token_logps(logits: Tensor, targets: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Returns log softmax(logits / temperature) at the targets.

    Computed in fp32, or in fp64 where the logits are: bf16 logits are off by 0.03 a token.

    Args:
        logits: (..., V), those that the targets were drawn from.
        targets: (...) token ids.
        temperature: of the sampler, above 0.
    """
    scaled = (logits if logits.dtype == torch.float64 else logits.float()) / temperature
    # Not log_softmax: that would keep a second (..., V) tensor for the backward pass.
    return scaled.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - scaled.logsumexp(-1)


def completion_logps(
    model: Model, batch: Batch, *, temperature: float = 1.0, chunk_tokens: int = 0
) -> Tensor:
    """Returns log pi of each completion token, (B, T), from one forward pass over whole rows.

    Args:
        model: a causal language model.
        batch: the rows.
        temperature: of the sampler.
        chunk_tokens: the LM head runs on so many tokens at a time, and again in the backward pass,
            so that the (B T, V) logits never exist at once; 0 for all in one.
    """
    ids = torch.cat([batch.prompt_ids, batch.completion_ids], 1)
    mask = torch.cat([batch.prompt_mask, batch.completion_mask], 1)
    length = batch.completion_ids.shape[1]
    hidden = backbone(model)(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions(mask),
        use_cache=False,
    ).last_hidden_state
    return _head_logps(model, hidden[:, -length - 1 : -1], batch, temperature, chunk_tokens)


def completion_logps_shared(
    model: Model,
    batch: Batch,
    owners: Tensor,
    *,
    temperature: float = 1.0,
    chunk_tokens: int = 0,
) -> Tensor:
    """Returns what `completion_logps` returns; each prompt runs once, whatever its rows.

    The prompts' keys and values are computed by P rows and handed to the B rows of their
    completions, with gradient. With long prompts and short completions nearly all work is shared.

    Args:
        model: a causal language model whose layers keep keys and values.
        batch: P prompts and B completions.
        owners: (B,) the index of each completion's prompt.
        temperature: of the sampler.
        chunk_tokens: as in `completion_logps`.
    """
    from transformers import DynamicCache

    body, prompt_positions = backbone(model), positions(batch.prompt_mask)
    cache = DynamicCache(config=model.config)
    if batch.prompt_ids.shape[1] > 1:
        body(
            input_ids=batch.prompt_ids[:, :-1],
            attention_mask=batch.prompt_mask[:, :-1],
            position_ids=prompt_positions[:, :-1],
            **cache_argument(body, cache),
        )
        cache.batch_select_indices(owners)
    # The last prompt token goes with the completion: its logits give the first token.
    ids = torch.cat([batch.prompt_ids[owners, -1:], batch.completion_ids[:, :-1]], 1)
    mask = torch.cat([batch.prompt_mask[owners], batch.completion_mask[:, :-1]], 1)
    hidden = body(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions(mask)[:, -ids.shape[1] :],
        **cache_argument(body, cache),
    ).last_hidden_state
    return _head_logps(model, hidden, batch, temperature, chunk_tokens)


def _head_logps(
    model: Model, hidden: Tensor, batch: Batch, temperature: float, chunk_tokens: int
) -> Tensor:
    targets, lm_head = batch.completion_ids, head(model)
    if chunk_tokens <= 0:
        return _head_chunk(lm_head, hidden, targets, temperature)
    flat, flat_targets = hidden.flatten(0, 1), targets.flatten()
    chunks = [
        checkpoint(
            _head_chunk,
            lm_head,
            flat[start : start + chunk_tokens],
            flat_targets[start : start + chunk_tokens],
            temperature,
            use_reentrant=False,
        )
        for start in range(0, len(flat), chunk_tokens)
    ]
    return torch.cat(chunks).view_as(targets)


def _head_chunk(lm_head: nn.Module, hidden: Tensor, targets: Tensor, temperature: float) -> Tensor:
    # Outside of autocast: a bf16 head gives log-probabilities that are off by 0.02.
    with torch.autocast(hidden.device.type, enabled=False):
        weight = next(lm_head.parameters())
        return token_logps(lm_head(hidden.to(weight.dtype)), targets, temperature=temperature)
