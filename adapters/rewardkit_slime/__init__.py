"""rewardkit in slime: a reward for `--custom-rm-path`, and an advantage function.

Read in slime of 2026-08-21 (`--custom-rm-path`, `--custom-advantage-function-path`,
`--custom-reward-post-process-path`); not run in the tests.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from rewardkit.advantages import AdvantageStage
from rewardkit.reward import Reward
from rewardkit.shapes import ObjectShape, OnMissing, Scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "custom_rm", "post_process"]

TESTED = "slime of 2026-08-21"


def custom_rm(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing = "mask",
    shape: ObjectShape | None = None,
) -> Callable[..., Awaitable[Any]]:
    """Returns what `--custom-rm-path` names; use `--reward-key score` with it.

    It takes one sample, or a group of them. A missing score is NaN under `"mask"`, which
    `post_process` leaves out; slime's own processing does not, so choose another policy there.

    Args:
        reward: what scores.
        on_missing: what becomes of a sample that could not be scored.
        shape: where a sample holds what it reads; left out: `response`, and `label` as the
            reference.
    """
    scorer = Scorer(reward, on_missing=on_missing)
    paths = shape or ObjectShape("response", {"reference": "label", "prompt": "prompt"})

    async def one(sample: Any) -> dict[str, Any]:
        row = await paths.ascore(scorer, sample)
        score = math.nan if row.score is None else row.score
        return {"score": score, "status": row.status, **row.components}

    async def custom_rm(args: Any, sample: Any, **more: Any) -> Any:
        if isinstance(sample, list):
            return [await one(each) for each in sample]
        return await one(sample)

    return custom_rm


def post_process(stage: AdvantageStage) -> Callable[[Any, Sequence[Any]], tuple[Any, Any]]:
    """Returns what `--custom-reward-post-process-path` names: (raw, advantages) of all samples.

    Groups are by `Sample.group_index`. With `--advantage-estimator grpo` slime spreads each number
    over the sample's tokens; one number a token has no way in here and is refused by the stage.
    """

    def post_process(args: Any, samples: Sequence[Any]) -> tuple[Any, Any]:
        raw = [_score(sample.reward) for sample in samples]
        rewards = [None if math.isnan(value) else value for value in raw]
        groups = [sample.group_index for sample in samples]
        found = stage(rewards, groups, columns={"sample": samples})
        return [0.0 if value is None else value for value in rewards], found.values

    return post_process


def _score(reward: Any) -> float:
    return float(reward["score"] if isinstance(reward, Mapping) else reward)
