"""rewardkit in open-instruct: a verifier function.

Read in open-instruct of 2026-08-20 (`VerifierFunction`); not run in the tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, ScoredRow, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "VerificationResult", "VerifierFunction"]

TESTED = "open-instruct of 2026-08-20"


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The fields that open-instruct reads."""

    score: float
    cost: float = 0.0
    reasoning: str | None = None


class VerifierFunction:
    """A verifier by name; the sample's `label` is the reference.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """

    def __init__(
        self,
        reward: Reward | Verifier,
        *,
        on_missing: OnMissing,
        name: str = "rewardkit",
        weight: float = 1.0,
        advantages: object = None,
    ) -> None:
        self.name, self.weight = name, weight
        self.scorer = scalar_scorer(
            "open-instruct", reward, on_missing=on_missing, advantages=advantages
        )

    def __call__(
        self,
        tokenized_prediction: Sequence[int],
        prediction: str,
        label: Any,
        query: str | None = None,
        rollout_state: Any = None,
    ) -> VerificationResult:
        """Returns the result of one prediction."""
        return _told(self.scorer.one(prediction, {"reference": label, "prompt": query}))

    async def async_call(
        self,
        tokenized_prediction: Sequence[int],
        prediction: str,
        label: Any,
        query: str | None = None,
        rollout_state: Any = None,
    ) -> VerificationResult:
        """Returns what a call returns, off the event loop."""
        return _told(await self.scorer.aone(prediction, {"reference": label, "prompt": query}))


def _told(row: ScoredRow) -> VerificationResult:
    why = row.detail or ", ".join(f"{k}: {v.reason.value}" for k, v in row.verdicts.items())
    return VerificationResult(float(row.score or 0.0), reasoning=why)
