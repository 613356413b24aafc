"""rewardkit in verifiers and prime-rl: a reward method for a task, and group advantages.

Tested with verifiers 0.4.0 (v1 tasks) in an environment of its own; prime-rl of 2026-08 was read.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rewardkit.advantages import AdvantageStage
from rewardkit.reward import Reward
from rewardkit.shapes import ObjectShape, OnMissing, Scorer
from rewardkit.verifier import Verifier

__all__ = ["DECIDED", "TESTED", "assign_group", "reward_method"]

TESTED = "verifiers==0.4.0"

DECIDED = "decided"
"""The metric that is 0 where a reward could not be decided: `assign_group` leaves it out."""


def reward_method(
    reward: Reward | Verifier,
    *,
    shape: ObjectShape | None = None,
    on_missing: OnMissing = "mask",
    weight: float = 1.0,
) -> Callable[..., Awaitable[dict[str, float]]]:
    """Returns a method to put into a `vf.Task` as one of its rewards.

    A reward is a number there. One that is missing is recorded as 0 beside the metric `decided` =
    0, by which `assign_group` masks it.

    Args:
        reward: what scores.
        shape: where `task` and `trace` hold what it reads; left out: the trace's last reply, and
            the task data's `answer`.
        on_missing: what becomes of a trace that could not be scored.
        weight: of this reward in the task.
    """
    scorer = Scorer(reward, on_missing=on_missing)
    paths = shape or ObjectShape("trace.last_reply", {"reference": "task.data.answer"})

    async def rewardkit(self: Any, trace: Any) -> dict[str, float]:
        row = await paths.ascore(scorer, {"task": self, "trace": trace})
        for name, value in row.metrics().items():
            trace.record_metric(name, value)
        return {"rewardkit": row.score if row.score is not None else 0.0}

    # What `vf.reward` marks a method with.
    rewardkit.__dict__.update(reward=True, reward_priority=0, _vf_weight=weight)
    return rewardkit


def assign_group(stage: AdvantageStage, traces: Sequence[Any], *, group: object = 0) -> None:
    """Assigns the advantages of one group: the body of a prime-rl `Algorithm.score_group`.

    Args:
        stage: one number a trace, or one a sampled token.
        traces: those of one prompt; each gets `assign_advantages`.
        group: their id.
    """
    rewards = [_decided(trace) for trace in traces]
    lengths = [sum(sum(node.mask) for node in trace.nodes) for trace in traces]
    found = stage(rewards, [str(group)] * len(traces), lengths=lengths)
    for place, trace in enumerate(traces):
        trace.assign_advantages(
            found.values[place] if found.tokens is None else found.tokens[place]
        )


def _decided(trace: Any) -> float | None:
    return None if trace.metrics.get(DECIDED) == 0.0 else float(trace.reward)
