"""rewardkit in verl: a reward function, and an advantage estimator.

Read in verl 0.9.1 (`reward.custom_reward_function`, `register_adv_est`); not run in the tests.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from rewardkit.advantages import AdvantageStage
from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, Scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "advantage_estimator", "compute_score", "register_advantages"]

TESTED = "verl==0.9.1"


def compute_score(
    reward: Reward | Verifier, *, on_missing: OnMissing = "mask"
) -> Callable[..., dict[str, float | str]]:
    """Returns the function that `reward.custom_reward_function` names.

    With `on_missing="mask"` a missing score is NaN, which the estimator of this module leaves out;
    verl's own do not, so choose `"zero"` or `"raise"` with them. The keys are the same for every
    sample, as verl asks for: a component without a value is NaN.
    """
    scorer = Scorer(reward, on_missing=on_missing)

    def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: dict[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, float | str]:
        context = {**(extra_info or {}), **options, "data_source": data_source}
        row = scorer.one(solution_str, {**context, "reference": ground_truth})
        values = {name: _number(value) for name, value in row.components.items()}
        return {"score": _number(row.score), "status": row.status, **values}

    return compute_score


def advantage_estimator(stage: AdvantageStage) -> Callable[..., tuple[Any, Any]]:
    """Returns a stage in the shape of verl's estimators: tensors in, (advantages, returns) out.

    The total of a row is the sum of its token rewards; a NaN among them makes it undecided.
    Coefficients see `columns["token_rewards"]`: (B,) lists of one number a token.
    """

    def estimate(
        token_level_rewards: Any,
        response_mask: Any,
        index: Sequence[Any] | None = None,
        config: Any = None,
        **more: Any,
    ) -> tuple[Any, Any]:
        rows, places = token_level_rewards.tolist(), response_mask.bool().tolist()
        tokens = [
            [value for value, inside in zip(row, own, strict=True) if inside]
            for row, own in zip(rows, places, strict=True)
        ]
        totals = [None if math.isnan(total := math.fsum(row)) else total for row in tokens]
        groups = list(range(len(totals))) if index is None else [str(group) for group in index]
        lengths = [len(row) for row in tokens]
        found = stage(totals, groups, lengths=lengths, columns={"token_rewards": tokens})
        spread = found.tokens or [[v] * n for v, n in zip(found.values, lengths, strict=True)]
        advantages = response_mask.new_zeros(response_mask.shape, dtype=token_level_rewards.dtype)
        for row, (own, values) in enumerate(zip(places, spread, strict=True)):
            where = [place for place, inside in enumerate(own) if inside]
            if where:
                advantages[row, where] = advantages.new_tensor(values)
        return advantages, advantages

    return estimate


def register_advantages(stage: AdvantageStage, *, name: str = "rewardkit") -> None:
    """Registers a stage with verl: `algorithm.adv_estimator=rewardkit`."""
    from verl.trainer.ppo.core_algos import register_adv_est

    register_adv_est(name)(advantage_estimator(stage))


def _number(value: float | None) -> float:
    return math.nan if value is None else value
