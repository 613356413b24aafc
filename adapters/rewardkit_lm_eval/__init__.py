"""rewardkit in lm-evaluation-harness: a task's `process_results`.

Tested with lm-eval 0.4.13.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, Scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "nanmean", "process_results"]

TESTED = "lm-eval>=0.4.13,<0.5"


def process_results(
    reward: Reward | Verifier,
    *,
    reference: str = "answer",
    on_missing: OnMissing = "mask",
    metric: str = "reward",
) -> Callable[[Mapping[str, Any], Sequence[Any]], dict[str, float]]:
    """Returns what a task's config calls `process_results`: metric -> number of one document.

    A document is its columns. Several generations of one document are averaged. A missing score is
    NaN: take `nanmean` as the metric's aggregation, and `decided` beside it.
    """
    scorer = Scorer(reward, on_missing=on_missing, reference=reference)

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
        texts = [text for result in results for text in _texts(result)]
        scored = scorer.batch(texts, {name: [value] * len(texts) for name, value in doc.items()})
        present = [score for score in scored.scores if score is not None]
        decided = sum(status == "scored" for status in scored.statuses) / max(len(texts), 1)
        return {metric: nanmean(present), "decided": decided}

    return process_results


def nanmean(items: Sequence[float]) -> float:
    """Returns the mean of the numbers that are none of them NaN; NaN if there is none.

    >>> nanmean([1.0, math.nan, 0.0])
    0.5
    """
    present = [item for item in items if not math.isnan(item)]
    return math.fsum(present) / len(present) if present else math.nan


def _texts(result: Any) -> list[str]:
    return [result] if isinstance(result, str) else list(result)
