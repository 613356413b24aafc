"""What a step is summed up as, and where that goes."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rewardkit.advantages import Advantages
from rewardkit.reward import RewardResult
from rewardkit_grpo.trackers import Tracker

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


def speed_metrics(times: Sequence[float], *, scored_s: float, tokens: int, rows: int) -> Metrics:
    """Returns what a step's parts took.

    Args:
        times: the clock at the start, after generation, after the reward, and at the end.
        scored_s: of the reward's own call.
        tokens: of all completions.
        rows: completions.
    """
    generated, rewarded, learnt = (b - a for a, b in itertools.pairwise(times))
    whole = times[-1] - times[0]
    return {
        "completion/tokens": tokens / rows,
        "time/generate_s": generated,
        "time/reward_s": rewarded,
        "time/learn_s": learnt,
        "time/step_s": whole,
        "time/reward_share": scored_s / whole,
        "speed/generated_tokens_per_s": tokens / generated,
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
