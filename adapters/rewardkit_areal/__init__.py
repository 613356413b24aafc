"""rewardkit in AReaL: a reward function for its workflows.

Read in AReaL 1.0.4 (`areal.api.reward_api`); not run in the tests.
"""

from collections.abc import Sequence
from typing import Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "RewardFunction"]

TESTED = "areal==1.0.4"


class RewardFunction:
    """`reward_fn(prompt, completions, prompt_ids, completion_ids, **columns) -> float`.

    AReaL pickles it into worker processes, gives it 15 seconds by default and takes 0 after its
    retries: keep the verifiers' own time limits below that, so that a time-out has a reason.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """

    def __init__(
        self,
        reward: Reward | Verifier,
        *,
        on_missing: OnMissing,
        reference: str = "answer",
        advantages: object = None,
    ) -> None:
        self.scorer = scalar_scorer(
            "AReaL", reward, on_missing=on_missing, reference=reference, advantages=advantages
        )

    def __call__(
        self,
        prompt: str,
        completions: str,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        **columns: Any,
    ) -> float:
        """Returns the number of one completion."""
        context = {"prompt": prompt, "completion_ids": completion_ids, **columns}
        return float(self.scorer.one(completions, context).score or 0.0)
