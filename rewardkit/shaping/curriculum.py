"""What a pass rate says about a problem: is there something to learn from it?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_band, check_between, check_count
from rewardkit.shaping._scored import ScoredGroup
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["HitRate", "HitSignal", "Solvability", "hit_signal"]

HitSignal: TypeAlias = Literal["variance", "frontier", "hard", "band", "rate"]
"""`variance` 4p(1-p), `frontier` 1 - |2p-1|, `hard` 1 - p and 0 where p is 0 or 1, `band` 1 within
the band and 0 outside, `rate` p itself."""


def hit_signal(rate: float, signal: HitSignal, band: tuple[float, float] = (0.0, 1.0)) -> float:
    """Returns a signal in [0, 1] for a pass rate p in [0, 1].

    `variance` is that of a 0/1 reward, scaled to 1 at its peak; `hard` is the reward of the
    proposer in Absolute Zero (arXiv:2505.03335); `band` open at both ends (0, 1) is the condition
    of DAPO's dynamic sampling (arXiv:2503.14476).

    >>> [hit_signal(0.25, signal) for signal in ("variance", "frontier", "hard", "band", "rate")]
    [0.75, 0.5, 0.75, 1.0, 0.25]
    """
    if signal == "variance":
        return 4 * rate * (1 - rate)
    if signal == "frontier":
        return 1 - abs(2 * rate - 1)
    if signal == "hard":
        return 1 - rate if 0 < rate < 1 else 0.0
    if signal == "band":
        return float(band[0] < rate < band[1])
    return rate


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate(ScoredGroup):
    """A signal of the group's pass rate, the same for each of its rows.

    The pass rate is the share of scores of 1 among the group's decided ones; a group without one is
    None. `variance` and `frontier` rise up to 0.5 and fall from there, `rate` rises, `hard` falls
    where it is not 0.

    What is alike in a group is gone after any baseline by group. So it does nothing as a term of a
    sum there: multiply it with other components, use it as a gate, or give it to whoever chose the
    problem, as a sampler or a teacher.

    >>> HitRate()(["…"] * 4, prompt=["p"] * 4, correct=[1.0, 0.0, 0.0, 0.0])
    [0.75, 0.75, 0.75, 0.75]
    """

    signal: HitSignal = "variance"
    band: tuple[float, float] = (0.0, 1.0)
    """Of the signal `band`; its ends are outside."""

    def __post_init__(self) -> None:
        if self.signal not in get_args(HitSignal):
            raise ConfigError(
                f"signal is one of {', '.join(get_args(HitSignal))}, not {self.signal!r}"
            )
        check_band("band", self.band)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns the same value for each row."""
        scores = [s for row in rows if (s := row.score(self.correct)) is not None]
        if not scores:
            return [None] * len(rows)
        rate = sum(score >= 1 for score in scores) / len(scores)
        return [hit_signal(rate, self.signal, self.band)] * len(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solvability(CompletionShaper):
    """What a problem is worth by the share of students who solve it: a triangle over a band.

    1 in the middle of [low, high], a straight line down to 1 / m at both ends, and 0 outside, where
    m is how many of the rates 1/samples, 2/samples, … lie in the band. It is the difficulty score
    of OpenSIR (arXiv:2511.00602) as its published code has it, with its limits. A completion is a
    problem here, and its solve rate a column. Rises up to the middle and falls from there.

    >>> Solvability(low=0.5, high=1.0, samples=4)(["a", "b", "c"], solve_rate=[0.75, 0.5, 0.25])
    [1.0, 0.3333333333333333, 0.0]
    """

    low: float = 0.5
    high: float = 0.9
    samples: int = 8
    """Solutions of each problem that were tried."""
    rate: str = "solve_rate"
    """The component or column with the share of right solutions."""

    def __post_init__(self) -> None:
        check_between(0, 1, low=self.low, high=self.high)
        check_count(1, samples=self.samples)
        if self.low >= self.high or not self._steps:
            raise ConfigError("low is below high, and a rate of so many samples lies between")

    @property
    def _steps(self) -> int:
        rates = (hits / self.samples for hits in range(1, self.samples + 1))
        return sum(self.low <= rate <= self.high for rate in rates)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The solve rate."""
        return (self.rate,)

    def shape(self, row: Row) -> float | None:
        """Returns the value of the solve rate."""
        rate = row.score(self.rate)
        if rate is None:
            return None
        if not self.low <= rate <= self.high:
            return 0.0
        half = (self.high - self.low) / 2
        edge = 1 / self._steps
        return max(edge, 1 - (1 - edge) * abs(rate - (self.low + half)) / half)
