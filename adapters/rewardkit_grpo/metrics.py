"""What a step is summed up as, and where that goes."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rewardkit.advantages import Advantages
from rewardkit.reward import RewardResult
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.experience import Experience
from rewardkit_grpo.trackers import Tracker, open_tracker

__all__ = ["Metrics", "MetricsLog", "reward_metrics", "speed_metrics"]

Metrics = dict[str, float]
"""By name; `/` groups them."""


def reward_metrics(
    result: RewardResult, advantages: Advantages, groups: Sequence[int], truncated: Sequence[bool]
) -> Metrics:
    """Returns what a batch's rewards say: means, pass rates, reasons, groups without a contrast.

    Args:
        result: of the batch.
        advantages: of the batch.
        groups: (B,) ids.
        truncated: (B,).
    """
    found: Metrics = {}
    scores = [score for score in result.scores if score is not None]
    if scores:
        found["reward/mean"] = _mean(scores)
        found["reward/std"] = math.sqrt(_mean([(s - found["reward/mean"]) ** 2 for s in scores]))
    found["reward/abstained"] = 1 - len(scores) / len(result.scores)
    for name, values in result.components.items():
        present = [value for value in values if value is not None]
        if present:
            found[f"component/{name}"] = _mean(present)
    for name, verdicts in result.verdicts.items():
        found[f"passed/{name}"] = _mean([float(verdict.passed) for verdict in verdicts])
        for reason, count in Counter(verdict.reason.value for verdict in verdicts).items():
            found[f"reason/{name}/{reason}"] = count / len(verdicts)
    found["groups/zero"] = len(advantages.zero_groups) / len(set(groups))
    found["truncated"] = _mean([float(cut) for cut in truncated])
    return found


def speed_metrics(experience: Experience, *, step_s: float) -> Metrics:
    """Returns what a step's parts took.

    `time/reward_s` is what the rewards took, `time/reward_wait_s` the part of it that the step
    waited for: the rest went on beside generation. Both have their share of the step.

    Args:
        experience: of all ranks.
        step_s: of the whole step.
    """
    lengths = experience.rollouts.lengths
    generated, waited = experience.generated_s, experience.waited_s
    return {
        "completion/tokens": sum(lengths) / len(lengths),
        "time/generate_s": generated,
        "time/reward_s": experience.scored.seconds,
        "time/reward_wait_s": waited,
        "time/learn_s": step_s - generated - waited,
        "time/step_s": step_s,
        "time/reward_share": experience.scored.seconds / step_s,
        "time/reward_wait_share": waited / step_s,
        "speed/generated_tokens_per_s": sum(lengths) / generated,
    }


class MetricsLog:
    """Appends one line of JSON a step, and sends the same to the trackers.

    Args:
        folder: holds `metrics.jsonl`.
        trackers: what else is told; they are closed with the log.
    """

    def __init__(self, folder: Path, trackers: Sequence[Tracker] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "metrics.jsonl"
        self._file = self.path.open("a", encoding="utf-8")
        self._trackers = tuple(trackers)

    @classmethod
    def of_run(cls, config: GRPOConfig) -> Self:
        """Returns the log of a run, with the trackers that its config asks for."""
        plain = config.model_dump(mode="json")
        return cls(
            config.output_dir,
            [
                open_tracker(name, config.output_dir, project=config.project, config=plain)
                for name in config.report_to
            ],
        )

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Writes one step."""
        line = {"step": step, **{name: _plain(value) for name, value in metrics.items()}}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        for tracker in self._trackers:
            tracker.write(step, metrics)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        for tracker in self._trackers:
            tracker.close()


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None
