"""A model as what continues texts, for `rewardkit.monitor.probe_contamination`."""

from collections.abc import Sequence
from typing import Any

import torch

from rewardkit.errors import ConfigError

__all__ = ["ModelSampler"]


class ModelSampler:
    """Continues texts greedily, one at a time, without a chat template.

    Args:
        model: a transformers causal language model.
        tokenizer: its own, with `encode` and `decode`.
        max_new_tokens: most tokens of one continuation.

    Raises:
        ConfigError: `max_new_tokens` is below 1.
    """

    def __init__(self, model: Any, tokenizer: Any, *, max_new_tokens: int = 256) -> None:
        if max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens is at least 1, not {max_new_tokens!r}")
        self.model, self.tokenizer, self.max_new_tokens = model, tokenizer, max_new_tokens

    def __call__(self, texts: Sequence[str], /, *, max_chars: int) -> list[str]:
        """Returns what the model writes after each text; a token has at least one character."""
        return [self._continue(text, min(self.max_new_tokens, max_chars)) for text in texts]

    @torch.no_grad()
    def _continue(self, text: str, limit: int) -> str:
        shown = torch.tensor([self.tokenizer.encode(text)], device=self.model.device)
        written = self.model.generate(
            input_ids=shown,
            attention_mask=torch.ones_like(shown),
            max_new_tokens=limit,
            do_sample=False,
        )
        new = written[0, shown.shape[1] :].tolist()
        return str(self.tokenizer.decode(new, skip_special_tokens=True))
