"""Rollouts as lines of JSON: `rewardkit score` grades them, `rewardkit rollouts` shows them."""

import json
from pathlib import Path
from typing import Any

from rewardkit.advantages import Advantages
from rewardkit.reward import RewardResult
from rewardkit.verdict import Verdict
from rewardkit_grpo.actor import Rollouts

__all__ = ["write_rollouts"]


def write_rollouts(
    path: Path, step: int, rollouts: Rollouts, result: RewardResult, advantages: Advantages
) -> None:
    """Appends a step's completions.

    A line holds the columns of the data set, `prompt` and the references among them, and beside
    them `completion`, `step`, `prompt_index`, `group`, `reward`, `components`, `verdicts`,
    `advantage`, `tokens`, `truncated`: these names win over a column of the same name.

    Args:
        path: is created where it is missing.
        step: from 1.
        rollouts: of the step.
        result: of their reward.
        advantages: of them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for i, text in enumerate(rollouts.texts):
            line = {
                **rollouts.prompts[i].columns,
                "completion": text,
                "step": step,
                "prompt_index": rollouts.prompts[i].index,
                "group": rollouts.groups[i],
                "reward": result.scores[i],
                "components": {name: values[i] for name, values in result.components.items()},
                "verdicts": {name: _short(own[i]) for name, own in result.verdicts.items()},
                "advantage": advantages.values[i],
                "tokens": len(rollouts.completions[i]),
                "truncated": rollouts.truncated[i],
            }
            file.write(json.dumps(line) + "\n")


def _short(verdict: Verdict) -> dict[str, Any]:
    """What a reader needs of it; not its time, so that the same run writes the same bytes."""
    return {
        "score": verdict.score,
        "reason": verdict.reason.value,
        "answer": verdict.answer,
        "detail": verdict.detail,
    }
