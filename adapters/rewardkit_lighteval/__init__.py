"""rewardkit in lighteval: a sample-level metric.

Tested with lighteval 0.13.0, which asks for other versions of the math engines than rewardkit does,
so it has an environment of its own.
"""

import math
from typing import TYPE_CHECKING, Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, Scorer
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric

__all__ = ["TESTED", "Computation", "metric"]

TESTED = "lighteval==0.13.0"


class Computation:
    """`compute(doc, model_response, **kwargs) -> float`: the mean over a document's generations.

    The document's gold choices are the reference: the one, or the list of several; its `specific`
    are the columns. A missing score is left out of the mean, and NaN if none is left.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def compute(self, doc: Any, model_response: Any, **kwargs: Any) -> float:
        """Returns the number of one document."""
        golds = doc.get_golds()
        context = {**(doc.specific or {}), "reference": golds[0] if len(golds) == 1 else golds}
        texts = list(model_response.final_text)
        columns = {name: [value] * len(texts) for name, value in context.items()}
        scores = [s for s in self.scorer.batch(texts, columns).scores if s is not None]
        return math.fsum(scores) / len(scores) if scores else math.nan


def metric(
    reward: Reward | Verifier, *, name: str = "rewardkit", on_missing: OnMissing = "mask"
) -> "SampleLevelMetric":
    """Returns a metric for a task's `metrics`."""
    import numpy
    from lighteval.metrics.metrics_sample import SampleLevelComputation
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric
    from lighteval.tasks.requests import SamplingMethod

    made = type("RewardkitComputation", (Computation, SampleLevelComputation), {})
    return SampleLevelMetric(
        metric_name=name,
        higher_is_better=True,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=made(Scorer(reward, on_missing=on_missing)),
        corpus_level_fn=numpy.nanmean,
    )
