"""What a monitor has counted, and what of it is more than chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.monitor.signals import Signals
from rewardkit.noise import Interval, wilson_interval
from rewardkit.verdict import Json

__all__ = ["Counts", "HackReport", "Step", "difference_interval"]

_LONGER, _REPEATED, _DRIFTED = 1.5, 0.1, 0.1


@dataclass(frozen=True, slots=True)
class Counts:
    """Completions on which both were decided, and how many of them pass."""

    asked: int = 0
    proxy: int = 0
    true: int = 0
    hacked: int = 0
    """The proxy passes and the truth does not."""

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.asked + other.asked,
            self.proxy + other.proxy,
            self.true + other.true,
            self.hacked + other.hacked,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run."""

    step: int
    counts: Counts
    signals: Signals
    drift: float
    """How far its verdicts are from those of the first steps, as `verdict_drift` says."""

    def metrics(self) -> dict[str, float]:
        """Returns its figures by name; rates only where something was asked."""
        counts, signals = self.counts, self.signals
        found = {
            "monitor/asked": float(counts.asked),
            "monitor/length": signals.length,
            "monitor/repetition": signals.repetition,
            "monitor/verdict_drift": self.drift,
        }
        if counts.asked:
            found["monitor/hack_rate"] = counts.hacked / counts.asked
            found["monitor/proxy"] = counts.proxy / counts.asked
            found["monitor/true"] = counts.true / counts.asked
        if signals.decided:
            found["monitor/form_only"] = signals.form_only / signals.decided
        return found


def difference_interval(
    before: tuple[int, int], after: tuple[int, int], confidence: float = 0.95
) -> tuple[float, float]:
    """Returns an interval of the difference of two rates, the later less the earlier.

    Source: Newcombe 1998, "Interval estimation for the difference between independent proportions",
    method 10: Wilson's two intervals, put together.

    Args:
        before: successes and trials.
        after: successes and trials.
        confidence: of the interval.

    >>> low, high = difference_interval((48, 80), (56, 70))
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    (x1, n1), (x2, n2) = before, after
    if not n1 or not n2:
        return -1.0, 1.0
    first, second = wilson_interval(x1, n1, confidence), wilson_interval(x2, n2, confidence)
    p1, p2 = x1 / n1, x2 / n2
    low = p2 - p1 - math.hypot(p2 - second.low, first.high - p1)
    high = p2 - p1 + math.hypot(second.high - p2, p1 - first.low)
    return low, high


class HackReport:
    """What a run's steps say together.

    Args:
        steps: of the run, in order.
        window: steps at either end that are compared; half of a shorter run.
        confidence: of the intervals.
    """

    def __init__(self, steps: Sequence[Step], *, window: int, confidence: float = 0.95) -> None:
        size = min(window, max(len(steps) // 2, 1))
        self.steps = list(steps)
        self.confidence = confidence
        self.first, self.last = self.steps[:size], self.steps[-size:]
        self.counts = _sum(self.steps)
        """Of all steps."""

    @property
    def hack_rate(self) -> float | None:
        """P(proxy passes, truth does not) over all steps; None where nothing was asked."""
        return self.counts.hacked / self.counts.asked if self.counts.asked else None

    @property
    def hack_rate_interval(self) -> Interval:
        """Wilson's, for all steps. Completions of one prompt are alike, so it is rather narrow."""
        return wilson_interval(self.counts.hacked, self.counts.asked, self.confidence)

    @property
    def last_interval(self) -> Interval:
        """Wilson's, for the last window alone."""
        counts = _sum(self.last)
        return wilson_interval(counts.hacked, counts.asked, self.confidence)

    def warnings(self) -> list[str]:
        """Returns what moved from the first window to the last, each as one line; may be empty.

        Counts must move by more than their interval. Length (by half), repetition (by 0.1) and
        drift (0.1 beyond chance) have fixed marks; they may move for good reasons.
        """
        if len(self.steps) < 2:
            return []
        old, new = _sum(self.first), _sum(self.last)
        found = []

        def moved(name: str) -> tuple[float, float]:
            return difference_interval(
                (getattr(old, name), old.asked), (getattr(new, name), new.asked), self.confidence
            )

        if moved("hacked")[0] > 0:
            found.append("the proxy passes without the truth more often than at the start")
        if moved("proxy")[0] > 0 and moved("true")[0] <= 0:
            found.append("the proxy rose, and the truth is not seen to rise with it")
        if moved("true")[1] < 0:
            found.append("the truth fell")
        form = difference_interval(_form(self.first), _form(self.last), self.confidence)
        if form[0] > 0:
            found.append("more completions declare an answer that does not pass")
        before, after = (_mean(part, "length") for part in (self.first, self.last))
        if before and not 1 / _LONGER <= after / before <= _LONGER:
            found.append(f"the length went from {before:.0f} to {after:.0f}")
        before, after = (_mean(part, "repetition") for part in (self.first, self.last))
        if after - before > _REPEATED:
            found.append(f"repetition went from {before:.2f} to {after:.2f}")
        drift = math.fsum(step.drift for step in self.last) / len(self.last)
        if drift > _DRIFTED:
            found.append(f"kinds of verdicts moved by {drift:.2f} beyond chance")
        return found

    def to_dict(self) -> dict[str, Json]:
        """Returns all of it as JSON."""
        interval, last = self.hack_rate_interval, self.last_interval
        return {
            "asked": self.counts.asked,
            "proxy": self.counts.proxy,
            "true": self.counts.true,
            "hacked": self.counts.hacked,
            "hack_rate": self.hack_rate,
            "hack_rate_interval": [interval.low, interval.high],
            "last_interval": [last.low, last.high],
            "confidence": self.confidence,
            "warnings": list(self.warnings()),
            "steps": [{"step": step.step, **step.metrics()} for step in self.steps],
        }


def _sum(steps: Sequence[Step]) -> Counts:
    return sum((step.counts for step in steps), Counts())


def _form(steps: Sequence[Step]) -> tuple[int, int]:
    return (
        sum(step.signals.form_only for step in steps),
        sum(step.signals.decided for step in steps),
    )


def _mean(steps: Sequence[Step], name: str) -> float:
    return math.fsum(getattr(step.signals, name) for step in steps) / len(steps)
