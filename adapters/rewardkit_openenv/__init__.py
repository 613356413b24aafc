"""rewardkit in OpenEnv: a rubric for an environment.

Read in openenv 0.10.0 (`openenv.core.rubrics.base`); not run in the tests.
"""

from typing import TYPE_CHECKING, Any

from rewardkit.reward import Reward
from rewardkit.shapes import ObjectShape, OnMissing, scalar_scorer
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from openenv.core.rubrics.base import Rubric

__all__ = ["TESTED", "rubric"]

TESTED = "openenv==0.10.0"


def rubric(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing,
    shape: ObjectShape | None = None,
    advantages: object = None,
) -> "Rubric":
    """Returns a rubric: `Environment(rubric=…)`.

    Args:
        reward: what scores.
        on_missing: `"zero"` or `"raise"`: a rubric returns a number.
        shape: where `action` and `observation` hold what it reads; left out: `action.message`, and
            the reference in the observation's `metadata`.
        advantages: refused, as it has no way in.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    scorer = scalar_scorer("OpenEnv", reward, on_missing=on_missing, advantages=advantages)
    from openenv.core.rubrics.base import Rubric

    paths = shape or ObjectShape("action.message", {"reference": "observation.metadata.reference"})

    class RewardkitRubric(Rubric):  # type: ignore[misc] # untyped
        def forward(self, action: Any, observation: Any) -> float:
            row = paths.score(scorer, {"action": action, "observation": observation})
            return float(row.score or 0.0)

    return RewardkitRubric()
