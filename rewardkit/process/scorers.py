"""Log-probabilities from a transformers model, for belief probes. Needs `rewardkit[grpo]`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rewardkit._install import require_extra
from rewardkit.errors import ConfigError
from rewardkit.process.beliefs import LogProb

if TYPE_CHECKING:
    import torch

__all__ = ["Model", "Tokenizer", "TransformersScorer"]

Model: TypeAlias = Any
"""A model of transformers, or a module that is called as one."""

Tokenizer: TypeAlias = Any
"""A tokenizer of transformers."""


class TransformersScorer:
    """Scores continuations with a causal language model of transformers.

    Prefix and continuation are tokenised together, and a token that straddles their border belongs
    to the continuation. Pairs are sorted by length and run in batches of up to `max_tokens`: one
    forward pass where they fit, without gradients.

    Args:
        model: a causal language model.
        tokenizer: its own, a fast one.
        max_tokens: padded tokens of a batch.

    Raises:
        EngineMissingError: torch or transformers is not installed.
        ConfigError: the tokenizer is not a fast one.
    """

    def __init__(self, model: Model, tokenizer: Tokenizer, *, max_tokens: int = 65_536) -> None:
        require_extra("grpo")
        if not getattr(tokenizer, "is_fast", False):
            raise ConfigError("the tokenizer has no offsets: give a fast tokenizer")
        self.model, self.tokenizer, self.max_tokens = model, tokenizer, max_tokens
        self.batches = 0
        """Forward passes so far."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[LogProb]:
        """Returns log p(continuation | prefix) of each pair, in order."""
        rows = [self._encode(prefix, continuation) for prefix, continuation in pairs]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row][0]))
        found: dict[int, LogProb] = {}
        while order:
            batch = [order.pop()]
            width = len(rows[batch[0]][0])
            while order and (len(batch) + 1) * width <= self.max_tokens:
                batch.append(order.pop())
            scored = self._score([rows[row] for row in batch])
            found.update(zip(batch, scored, strict=True))
        return [found[row] for row in range(len(rows))]

    def _encode(self, prefix: str, continuation: str) -> tuple[list[int], int]:
        """Returns the tokens of both, and how many of them are the continuation's."""
        encoded = self.tokenizer(prefix + continuation, return_offsets_mapping=True)
        border = len(prefix)
        own = [t for t, (a, b) in enumerate(encoded["offset_mapping"]) if b > border and b > a]
        last = own[-1] + 1 if own else 0  # end tokens that the tokenizer adds are left out
        return list(encoded["input_ids"][:last]) or [0], len(own)

    def _score(self, rows: Sequence[tuple[list[int], int]]) -> list[LogProb]:
        import torch

        width = max(len(ids) for ids, _ in rows)
        device = next(self.model.parameters()).device
        tokens = torch.zeros(len(rows), width, dtype=torch.long, device=device)
        mask = torch.zeros_like(tokens)
        for index, (ids, _) in enumerate(rows):
            tokens[index, : len(ids)] = torch.tensor(ids, device=device)
            mask[index, : len(ids)] = 1
        self.batches += 1
        with torch.no_grad():
            logits = self.model(input_ids=tokens, attention_mask=mask).logits
        return [
            _total(logits[index, : len(ids)], tokens[index, : len(ids)], count)
            for index, (ids, count) in enumerate(rows)
        ]


def _total(logits: "torch.Tensor", tokens: "torch.Tensor", count: int) -> LogProb:
    """Returns what the last `count` tokens of a row come to; the first token has no probability."""
    count = min(count, len(tokens) - 1)
    if count <= 0:
        return LogProb(0.0, 0)
    rows = logits[-count - 1 : -1].float()
    chosen = rows.gather(-1, tokens[-count:, None]).squeeze(-1)
    return LogProb(float((chosen - rows.logsumexp(-1)).sum()), count)
