"""Counts and latencies of verdicts, in memory that does not grow with their number."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.noise.intervals import Interval, wilson_interval
from rewardkit.scoring.scored import reward_values

__all__ = [
    "Interval",
    "LatencyHistogram",
    "ReasonTally",
    "Tally",
    "ValueTally",
    "wilson_interval",
]

_FIRST_S = 1e-7
_PER_DECADE = 40
_BUCKETS = 10 * _PER_DECADE
"""From 0.1 µs to 1,000 s; what lies outside is counted in the first or the last bucket."""


@dataclass(slots=True)
class LatencyHistogram:
    """Counts of latencies in logarithmic buckets, 40 a factor of ten: quantiles within 3 %."""

    counts: list[int] = field(default_factory=lambda: [0] * _BUCKETS)
    longest_s: float = 0.0
    """The longest latency, exact."""

    def add(self, seconds: float) -> None:
        """Counts one latency."""
        bucket = 0
        if seconds > _FIRST_S:
            bucket = min(int(math.log10(seconds / _FIRST_S) * _PER_DECADE), _BUCKETS - 1)
        self.counts[bucket] += 1
        self.longest_s = max(self.longest_s, seconds)

    def merge(self, other: "LatencyHistogram") -> None:
        """Counts what another has counted."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.longest_s = max(self.longest_s, other.longest_s)

    @property
    def total(self) -> int:
        """How many latencies were counted."""
        return sum(self.counts)

    def quantile(self, share: float) -> float:
        """Returns the latency in seconds that `share` of all stay within; 0 where there is none."""
        rank = share * self.total
        seen = 0
        for bucket, count in enumerate(self.counts):
            seen += count
            if count and seen >= rank:
                middle: float = _FIRST_S * 10 ** ((bucket + 0.5) / _PER_DECADE)
                return min(middle, self.longest_s)
        return 0.0

    def bars(self, per_decade: int) -> list[tuple[float, float, int]]:
        """Returns (from seconds, to seconds, count) for each bar, without the empty ends."""
        width = _PER_DECADE // per_decade
        bars = [
            (
                _FIRST_S * 10 ** (i / _PER_DECADE),
                _FIRST_S * 10 ** ((i + width) / _PER_DECADE),
                sum(self.counts[i : i + width]),
            )
            for i in range(0, _BUCKETS, width)
        ]
        filled = [i for i, bar in enumerate(bars) if bar[2]]
        return bars[filled[0] : filled[-1] + 1] if filled else []


@dataclass(slots=True)
class ReasonTally:
    """The verdicts of one reason, or of one tier."""

    count: int = 0
    passed: int = 0
    abstained: int = 0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)

    def add(self, score: float | None, seconds: float) -> None:
        """Counts one verdict."""
        self.count += 1
        self.passed += score == 1.0
        self.abstained += score is None
        self.latency.add(seconds)

    def merge(self, other: "ReasonTally") -> None:
        """Counts what another has counted."""
        self.count += other.count
        self.passed += other.passed
        self.abstained += other.abstained
        self.latency.merge(other.latency)


@dataclass(slots=True)
class ValueTally:
    """The values of a reward, or of one of its components."""

    count: int = 0
    missing: int = 0
    """Rows without a value; they are in no mean."""
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: float | None) -> None:
        """Counts one value."""
        if value is None:
            self.missing += 1
            return
        self.count += 1
        self.total += value
        self.low, self.high = min(self.low, value), max(self.high, value)

    def merge(self, other: "ValueTally") -> None:
        """Counts what another has counted."""
        self.count += other.count
        self.missing += other.missing
        self.total += other.total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def to_dict(self) -> dict[str, float | None]:
        """Returns the figures as plain JSON data: mean, smallest, largest, and those missing."""
        some = self.count > 0
        return {
            "mean": self.total / self.count if some else None,
            "min": self.low if some else None,
            "max": self.high if some else None,
            "missing": self.missing,
        }


@dataclass(slots=True)
class Tally:
    """What a set of verdicts says as a whole.

    Abstentions are counted, and stay out of every rate: "could not decide" is not "wrong".
    """

    rows: int = 0
    passed: int = 0
    abstained: int = 0
    score_sum: float = 0.0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    reasons: dict[str, ReasonTally] = field(default_factory=dict)
    tiers: dict[str, ReasonTally] = field(default_factory=dict)
    totals: ValueTally = field(default_factory=ValueTally)
    """Of a reward; empty where a verifier graded."""
    components: dict[str, ValueTally] = field(default_factory=dict)
    """Of a reward, by name."""

    def add(self, verdict: Mapping[str, Any]) -> None:
        """Counts one verdict in the form of `Verdict.to_dict`."""
        score, seconds = verdict["score"], verdict.get("seconds") or 0.0
        self.rows += 1
        self.passed += score == 1.0
        self.abstained += score is None
        self.score_sum += score or 0.0
        self.latency.add(seconds)
        self.reasons.setdefault(verdict["reason"], ReasonTally()).add(score, seconds)
        tier = (verdict.get("evidence") or {}).get("tier")
        if isinstance(tier, str | int):
            self.tiers.setdefault(str(tier), ReasonTally()).add(score, seconds)
        if (reward := reward_values(verdict)) is not None:
            self.totals.add(reward["total"])
            for name, value in reward["components"].items():
                self.components.setdefault(name, ValueTally()).add(value)

    def merge(self, other: "Tally") -> None:
        """Counts what another has counted."""
        self.rows += other.rows
        self.passed += other.passed
        self.abstained += other.abstained
        self.score_sum += other.score_sum
        self.latency.merge(other.latency)
        for own, others in ((self.reasons, other.reasons), (self.tiers, other.tiers)):
            for name, tally in others.items():
                own.setdefault(name, ReasonTally()).merge(tally)
        self.totals.merge(other.totals)
        for name, values in other.components.items():
            self.components.setdefault(name, ValueTally()).merge(values)

    @property
    def decided(self) -> int:
        """The verdicts that are not abstentions."""
        return self.rows - self.abstained

    @property
    def pass_rate(self) -> float | None:
        """Passed among decided, in [0, 1]; None where nothing was decided."""
        return self.passed / self.decided if self.decided else None

    @property
    def mean_score(self) -> float | None:
        """Mean score of the decided, in [0, 1]: differs from the pass rate by partial credit."""
        return self.score_sum / self.decided if self.decided else None

    @property
    def pass_interval(self) -> Interval:
        """The Wilson 95 % interval of the pass rate."""
        return wilson_interval(self.passed, self.decided)

    def reasons_by_count(self) -> list[tuple[str, ReasonTally]]:
        """Returns (reason, tally), the most frequent first."""
        return sorted(self.reasons.items(), key=lambda item: (-item[1].count, item[0]))

    def to_dict(self) -> dict[str, Any]:
        """Returns the figures as plain JSON data; rates in [0, 1], latencies in milliseconds."""
        interval = self.pass_interval
        return {
            "rows": self.rows,
            "passed": self.passed,
            "abstained": self.abstained,
            "pass_rate": self.pass_rate,
            "pass_rate_95": [interval.low, interval.high],
            "mean_score": self.mean_score,
            "p50_ms": self.latency.quantile(0.5) * 1e3,
            "p99_ms": self.latency.quantile(0.99) * 1e3,
            "max_ms": self.latency.longest_s * 1e3,
            "reasons": {name: self._shares(tally) for name, tally in self.reasons_by_count()},
            "tiers": {name: self._shares(tally) for name, tally in sorted(self.tiers.items())},
            **self._reward(),
        }

    def _reward(self) -> dict[str, Any]:
        if not self.components:
            return {}
        parts = {name: values.to_dict() for name, values in self.components.items()}
        return {"reward": {"total": self.totals.to_dict(), "components": parts}}

    def _shares(self, tally: ReasonTally) -> dict[str, float]:
        return {
            "count": tally.count,
            "share": tally.count / self.rows,
            "passed": tally.passed,
            "p50_ms": tally.latency.quantile(0.5) * 1e3,
            "p99_ms": tally.latency.quantile(0.99) * 1e3,
        }
