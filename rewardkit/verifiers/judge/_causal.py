"""Probabilities of allowed answers under a causal language model."""

import hashlib
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
        batch_size: continuations in one forward pass.

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
        batch_size: int,
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
        self._device = device
        self._max_tokens = max_tokens
        self._batch_size = batch_size

    def ask(self, queries: Sequence[Query]) -> list[dict[str, Probabilities]] | None:
        """Returns for each query each item's probabilities; None if a prompt is too long."""
        asked = [(i, item, self._item(q, item)) for i, q in enumerate(queries) for item in q.items]
        rows: list[tuple[list[int], int]] = []
        for _, _, one in asked:
            rows += self._encode(one)
        if any(len(ids) > self._max_tokens for ids, _ in rows):
            return None
        scores = self._score(rows)
        found: list[dict[str, Probabilities]] = [{} for _ in queries]
        at = 0
        for index, item, one in asked:
            found[index][item] = _normalised(one.allowed, scores[at : at + len(one.allowed)])
            at += len(one.allowed)
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

    def _encode(self, asked: _Asked) -> list[tuple[list[int], int]]:
        """Returns the tokens of prompt and answer for each answer, and how many all share."""
        ids = [
            self._tokenizer.encode(f"{asked.prompt} {one}{_END}", add_special_tokens=False)
            for one in asked.allowed
        ]
        shared = 0
        while all(shared < len(one) and one[shared] == ids[0][shared] for one in ids):
            shared += 1
        return [(one, shared) for one in ids]

    def _score(self, rows: Sequence[tuple[list[int], int]]) -> list[float]:
        """Returns the log-probability of each row's tokens after the shared ones."""
        import torch

        scores: list[float] = []
        with torch.inference_mode():
            for start in range(0, len(rows), self._batch_size):
                batch = rows[start : start + self._batch_size]
                longest = max(len(ids) for ids, _ in batch)
                tokens = torch.zeros(len(batch), longest, dtype=torch.long)
                mask = torch.zeros(len(batch), longest, dtype=torch.long)
                for i, (ids, _) in enumerate(batch):
                    tokens[i, : len(ids)] = torch.tensor(ids)
                    mask[i, : len(ids)] = 1
                # Only the end differs, and only there logits are needed.
                first = min(shared for _, shared in batch)
                logits = self._model(
                    input_ids=tokens.to(self._device),
                    attention_mask=mask.to(self._device),
                    logits_to_keep=longest - first + 1,
                    use_cache=False,
                ).logits
                logps = logits.float().log_softmax(-1).cpu()
                for i, (ids, shared) in enumerate(batch):
                    scores.append(
                        sum(
                            float(logps[i, place - first, ids[place]])
                            for place in range(shared, len(ids))
                        )
                    )
        return scores


def _normalised(allowed: Sequence[str], logps: Sequence[float]) -> Probabilities:
    most = max(logps)
    weights = [math.exp(one - most) for one in logps]
    total = sum(weights)
    return {name: weight / total for name, weight in zip(allowed, weights, strict=True)}
