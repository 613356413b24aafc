"""Probabilities of allowed answers under a causal language model."""

import hashlib
import inspect
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.verifiers.judge.prompts import build_prompt
from rewardkit.verifiers.judge.query import Query

__all__ = ["CausalModel", "Probabilities"]

Probabilities: TypeAlias = dict[str, float]
"""Allowed answer -> its probability; they add up to 1."""

_END = "\n"  # so that "1" is not as likely as "1" and "10" together


@dataclass(frozen=True, slots=True)
class _Asked:
    """One item of one query as text."""

    prompt: str
    allowed: tuple[str, ...]


class CausalModel:
    """A model and its tokenizer, loaded.

    Args:
        path: a folder, or a name in the local cache.
        gguf_file: the file in it, where it is a GGUF model.
        device: of torch.
        dtype: of the weights.
        max_tokens: of a prompt with its answer.

    Raises:
        ConfigError: it cannot be loaded.
    """

    def __init__(
        self,
        path: str,
        gguf_file: str | None,
        device: str,
        dtype: str,
        max_tokens: int,
    ) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        more: dict[str, Any] = {"local_files_only": True}
        if gguf_file is not None:
            more["gguf_file"] = gguf_file
        kind = getattr(torch, dtype, None)
        if not isinstance(kind, torch.dtype):
            raise ConfigError(f"dtype is a name that torch has, as float32, not {dtype!r}")
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(path, **more)
            model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=kind, **more)
            self._model = model.to(device).eval()
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            raise ConfigError(
                f"model {path}: cannot be loaded; nothing is downloaded here: {error}"
            ) from None
        # Renamed in transformers 5; the argument and the field of the output have one name.
        parameters = inspect.signature(self._model.forward).parameters
        self._kept = "cache" if "cache" in parameters else "past_key_values"
        self._device = device
        self._max_tokens = max_tokens

    def ask(self, queries: Sequence[Query]) -> list[dict[str, Probabilities]] | None:
        """Returns for each query each item's probabilities; None if a prompt is too long."""
        asked = [(i, item, self._item(q, item)) for i, q in enumerate(queries) for item in q.items]
        encoded = [self._encode(one) for _, _, one in asked]
        if any(len(ids) > self._max_tokens for rows in encoded for ids in rows):
            return None
        found: list[dict[str, Probabilities]] = [{} for _ in queries]
        for (index, item, one), rows in zip(asked, encoded, strict=True):
            found[index][item] = _normalised(one.allowed, self._score(rows))
        return found

    def _item(self, query: Query, item: str) -> _Asked:
        data = dict(query.data)
        criteria = data.get("criteria")
        if isinstance(criteria, Mapping) and item in criteria:
            data["criteria"] = {item: criteria[item]}
        one = replace(query, data=data, items={item: query.items[item]})
        # No text holds its own hash, so this boundary is as good as a drawn one, and repeats.
        nonce = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:12]
        prompt = build_prompt(one, nonce, structured=False, reasoning=False)
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(
                prompt.messages, tokenize=False, add_generation_prompt=True
            )
        else:
            text = "\n\n".join(message["content"] for message in prompt.messages) + "\n\n"
        return _Asked(f"{text}VERDICT-{nonce}:", query.items[item])

    def _encode(self, asked: _Asked) -> list[list[int]]:
        """Returns the tokens of the prompt with each answer."""
        return [
            self._tokenizer.encode(f"{asked.prompt} {one}{_END}", add_special_tokens=False)
            for one in asked.allowed
        ]

    def _score(self, rows: Sequence[list[int]]) -> list[float]:
        """Returns the log-probability of each row after the tokens that all of them share.

        The shared tokens, nearly all, are computed once, and their keys and values are used for
        every answer.
        """
        import torch

        shared = 0
        while all(shared < len(one) - 1 and one[shared] == rows[0][shared] for one in rows):
            shared += 1
        width = max(len(ids) for ids in rows) - shared
        ends = torch.zeros(len(rows), width, dtype=torch.long)
        mask = torch.ones(len(rows), shared + width, dtype=torch.long)
        for i, ids in enumerate(rows):
            ends[i, : len(ids) - shared] = torch.tensor(ids[shared:])
            mask[i, len(ids) :] = 0
        with torch.inference_mode():
            prefix = torch.tensor([rows[0][:shared]], device=self._device)
            head = self._model(input_ids=prefix, use_cache=True, logits_to_keep=1)
            cache = head[self._kept]
            cache.batch_repeat_interleave(len(rows))
            tail = self._model(
                input_ids=ends.to(self._device),
                attention_mask=mask.to(self._device),
                **{self._kept: cache},
            ).logits
            first = head.logits.expand(len(rows), 1, -1)
            logps = torch.cat([first, tail], 1).float().log_softmax(-1).cpu()
        return [
            sum(float(logps[i, at, token]) for at, token in enumerate(ids[shared:]))
            for i, ids in enumerate(rows)
        ]


def _normalised(allowed: Sequence[str], logps: Sequence[float]) -> Probabilities:
    most = max(logps)
    weights = [math.exp(one - most) for one in logps]
    total = sum(weights)
    return {name: weight / total for name, weight in zip(allowed, weights, strict=True)}
