"""rewardkit in tinker-cookbook: the step of an environment.

Read in tinker-cookbook of 2026-08-19 (`Env.step`, `StepResult`); not run in the tests.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rewardkit.reward import Reward
from rewardkit.shapes import EnvironmentSession, OnMissing, completion_from_ids, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "TokenSession"]

TESTED = "tinker-cookbook of 2026-08-19"


class TokenSession:
    """One episode for `Env.step(action)`, where an action is token ids.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """

    def __init__(
        self,
        reward: Reward | Verifier,
        context: Mapping[str, Any],
        *,
        on_missing: OnMissing,
        decode: Callable[[list[int]], str],
        eos: Collection[int] = (),
        max_turns: int = 1,
        advantages: object = None,
    ) -> None:
        scorer = scalar_scorer(
            "tinker-cookbook", reward, on_missing=on_missing, advantages=advantages
        )
        self.session = EnvironmentSession(scorer, context, max_turns=max_turns)
        self.decode, self.eos = decode, eos

    async def step(self, action: Sequence[int]) -> dict[str, Any]:
        """Returns the fields of a `StepResult` but for `next_observation` as a `ModelInput`.

        `text` is what the model reads next; the environment renders it.
        """
        step = await self.session.astep(completion_from_ids(action, self.decode, eos=self.eos))
        return {
            "reward": step.reward,
            "episode_done": step.done,
            "text": step.observation,
            "metrics": step.row.metrics(),
            "logs": {"status": step.row.status, "detail": step.row.detail},
        }
