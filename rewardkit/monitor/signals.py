"""Figures of a batch of completions that move when a policy starts to game its reward."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.completion import Completion, completion_text
from rewardkit.shaping import RepetitionPenalty

__all__ = ["Signals", "measure_signals", "verdict_drift", "verdict_kind"]

_REPETITION = RepetitionPenalty(ngram=4, unit="words", max_items=20_000)
_FORM = AnswerPolicy()


@dataclass(frozen=True, slots=True)
class Signals:
    """What a batch of B completions looks like."""

    length: float
    """Mean, in tokens where they were given, else in characters."""
    repetition: float
    """Mean share of 4-grams of words that were there before, in [0, 1]."""
    form_only: int
    """Completions that declare an answer and do not pass."""
    decided: int
    """Completions with a verdict, of which `form_only` is a part."""


def measure_signals(
    completions: Sequence[Completion],
    passed: Sequence[bool | None],
    *,
    lengths: Sequence[int] | None = None,
) -> Signals:
    """Returns the figures of a batch; all 0 for an empty one.

    Args:
        completions: (B,) what the model wrote.
        passed: (B,) whether each passes; None where it was not decided.
        lengths: (B,) tokens.
    """
    count = len(completions)
    if not count:
        return Signals(0.0, 0.0, 0, 0)
    texts = [completion_text(completion) for completion in completions]
    sizes = lengths if lengths is not None else [len(text) for text in texts]
    repeated = [-(value or 0.0) for value in _REPETITION(texts)]
    form_only = sum(
        verdict is False and extract_answer(text, _FORM).text is not None
        for text, verdict in zip(texts, passed, strict=True)
    )
    decided = sum(verdict is not None for verdict in passed)
    return Signals(math.fsum(sizes) / count, math.fsum(repeated) / count, form_only, decided)


def verdict_kind(value: float | None, passing: float = 1.0) -> str:
    """Returns the kind of a value, for `verdict_drift` where there are no reasons.

    >>> [verdict_kind(value) for value in (None, 0.0, 0.4, 1.0)]
    ['undecided', 'nothing', 'part', 'passes']
    """
    if value is None:
        return "undecided"
    if value >= passing:
        return "passes"
    return "part" if value > 0 else "nothing"


def verdict_drift(before: Iterable[str] | Mapping[str, int], after: Iterable[str]) -> float:
    """Returns how far kinds of verdicts moved, beyond what chance alone would give.

    The total variation distance of the two shares, less its expectation if both samples came from
    the pooled shares (in the normal approximation, sqrt(p (1 - p) (1/n + 1/m) 2 / pi) for each
    kind, halved and summed), and 0 where that is more. In [0, 1]; 0 where a side is empty.

    >>> verdict_drift(["match"] * 90 + ["mismatch"] * 10, ["mismatch"] * 100) > 0.8
    True
    """
    old, new = Counter(before), Counter(after)
    m, n = old.total(), new.total()
    if not m or not n:
        return 0.0
    distance = noise = 0.0
    for kind in old.keys() | new.keys():
        distance += abs(old[kind] / m - new[kind] / n) / 2
        pooled = (old[kind] + new[kind]) / (m + n)
        noise += math.sqrt(pooled * (1 - pooled) * (1 / m + 1 / n) * 2 / math.pi) / 2
    return max(distance - noise, 0.0)
