"""What may be done to the probabilities before a token is drawn."""

import torch
from torch import Tensor

from rewardkit_grpo.rollout import LogitsProcessor

__all__ = ["chain", "constrained_uniform", "nucleus"]


def nucleus(logps: Tensor, *, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """Returns the probabilities, 0 outside the likeliest tokens.

    Args:
        logps: (n, V).
        top_k: so many tokens stay; 0 for all. Ties at the edge stay.
        top_p: the smallest set of tokens with this much probability stays.
    """
    weights = logps.exp()
    if 0 < top_k < weights.shape[-1]:
        edge = weights.topk(top_k, -1).values[:, -1:]
        weights = torch.where(weights >= edge, weights, 0.0)
    if top_p < 1:
        ordered, order = weights.sort(-1, descending=True)
        total = ordered.sum(-1, keepdim=True)
        before = ordered.cumsum(-1) - ordered
        ordered = torch.where(before < top_p * total, ordered, 0.0)
        weights = torch.zeros_like(weights).scatter(-1, order, ordered)
    return weights


def constrained_uniform(logps: Tensor, *, k: int, min_p: float) -> Tensor:
    """Returns equal weights for up to `k` tokens that each have probability `min_p` or more.

    Constrained uniform top-k sampling (CUTS): it explores among the tokens that the model thinks
    possible, and never outside of them. Where fewer than two tokens reach `min_p`, the likeliest
    one is taken.

    Args:
        logps: (n, V).
        k: at least 1.
        min_p: in (0, 1].
    """
    probabilities = logps.exp()
    values, tokens = probabilities.topk(min(k, probabilities.shape[-1]), -1)
    chosen = (values >= min_p).to(probabilities)
    chosen[:, 0] = 1.0
    return torch.zeros_like(probabilities).scatter(-1, tokens, chosen)


def chain(
    *,
    group_size: int,
    top_k: int = 0,
    top_p: float = 1.0,
    cuts_k: int = 0,
    cuts_min_p: float = 0.05,
    cuts_share: float = 0.5,
) -> LogitsProcessor | None:
    """Returns the processor that a config asks for; None where it asks for none.

    The first `cuts_share` of each group is sampled with CUTS and the rest by top-k and top-p, so
    that a group holds explored completions and plain ones.
    """
    explored = round(cuts_share * group_size) if cuts_k else 0
    plain = top_k == 0 and top_p == 1
    if plain and not explored:
        return None

    def process(logps: Tensor, places: Tensor) -> Tensor:
        weights = logps.exp() if plain else nucleus(logps, top_k=top_k, top_p=top_p)
        if not explored:
            return weights
        uniform = constrained_uniform(logps, k=cuts_k, min_p=cuts_min_p)
        return torch.where((places < explored)[:, None], uniform, weights)

    return process
