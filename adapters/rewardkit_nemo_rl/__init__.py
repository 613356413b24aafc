"""rewardkit in NeMo-RL: the step of an environment actor.

Read in NeMo-RL of 2026-08-22 (`EnvironmentInterface.step`); not run in the tests.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "step"]

TESTED = "nemo-rl of 2026-08-22"


def step(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing,
    reference: str = "ground_truth",
    advantages: object = None,
) -> Callable[..., dict[str, Any]]:
    """Returns `step(message_log_batch, metadata) -> fields` of an `EnvironmentReturn(**fields)`.

    Each log is one completion, graded by its last assistant message; each metadata is its columns.
    NeMo-RL takes a tensor of numbers and makes the advantages itself.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    import torch

    scorer = scalar_scorer(
        "NeMo-RL", reward, on_missing=on_missing, reference=reference, advantages=advantages
    )

    def step(
        message_log_batch: Sequence[Sequence[Mapping[str, Any]]],
        metadata: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        keys = sorted(set().union(*metadata))
        columns = {key: [own.get(key) for own in metadata] for key in keys}
        scored = scorer.batch([list(log) for log in message_log_batch], columns)
        count = len(scored)
        return {
            "observations": [{"role": "environment", "content": s} for s in scored.statuses],
            "metadata": list(metadata),
            "next_stop_strings": [None] * count,
            "rewards": torch.tensor(scored.scores, dtype=torch.float32),
            "terminateds": torch.ones(count, dtype=torch.bool),
            "answers": [scored.row(place).answer for place in range(count)],
        }

    return step
