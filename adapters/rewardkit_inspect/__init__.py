"""rewardkit in Inspect AI: a scorer.

Tested with inspect-ai 0.3.285.
"""

from typing import TYPE_CHECKING, Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, Scorer
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from inspect_ai.scorer import Scorer as InspectScorer

__all__ = ["TESTED", "rewardkit_scorer"]

TESTED = "inspect-ai>=0.3.285,<0.4"


def rewardkit_scorer(
    reward: Reward | Verifier, *, on_missing: OnMissing = "mask", name: str = "rewardkit"
) -> "InspectScorer":
    """Returns a scorer for `Task(scorer=…)`.

    The target's text is the reference, or the list of them where a sample has several; the
    sample's metadata are the columns. A missing score is `Score.unscored`, which Inspect's metrics
    leave out.
    """
    from inspect_ai.scorer import Score, mean, scorer, stderr

    graded = Scorer(reward, on_missing=on_missing)

    @scorer(metrics=[mean(), stderr()], name=name)  # type: ignore[untyped-decorator] # not read
    def made() -> Any:
        async def score(state: Any, target: Any) -> Any:
            reference = target.text if len(target) == 1 else list(target)
            context = {**(state.metadata or {}), "reference": reference}
            row = await graded.aone(state.output.completion, context)
            told = {
                "answer": row.answer,
                "explanation": row.detail or None,
                "metadata": {"status": row.status, "components": row.components},
            }
            if row.score is None:
                return Score.unscored(reason=row.status, **told)
            return Score(value=row.score, **told)

        return score

    found: InspectScorer = made()
    return found
