"""Rewards that read how long a completion is."""

import math
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_count, check_finite, check_unit
from rewardkit.shaping.base import CompletionShaper, Range, Row, Unit

__all__ = [
    "CosineLength",
    "LinearLength",
    "OverlongPenalty",
    "TokenDiscount",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearLength(CompletionShaper):
    """1 up to `free`, 0 from `limit` on, and a straight line between.

    min(1, max(0, (limit - n) / (limit - free))) for a length n. Never rises with n.

    >>> LinearLength(free=2, limit=6, unit="characters")(["1", "1234", "1234567"])
    [1.0, 0.5, 0.0]
    """

    free: int
    limit: int
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_count(0, free=self.free)
        check_count(self.free + 1, limit=self.limit)
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns the value of the completion's length."""
        left = (self.limit - row.length(self.unit)) / (self.limit - self.free)
        return min(1.0, max(0.0, left))


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineLength(CompletionShaper):
    """Short right answers before long ones, long wrong ones before short ones, along a cosine.

    end + (start - end) (1 + cos(pi n / max_length)) / 2 for a length n, where start and end are
    `right_short` and `right_long`, or `wrong_short` and `wrong_long` (Demystifying Long
    Chain-of-Thought, arXiv:2502.03373, appendix C.1). From `max_length` on it is `exceeded`, or
    stays at the long end if that is None, as in TRL's `get_cosine_scaled_reward`, whose defaults
    these are. A score of 1 is right, a lower one is wrong, and None stays None.

    Never rises with n for a right answer and never falls for a wrong one. Every right answer is
    worth more than every wrong one, unless `exceeded` says otherwise.

    >>> shaper = CosineLength(max_length=100, correct="math")
    >>> shaper(["…", "…"], completion_ids=[[1] * 50] * 2, math=[1.0, 0.0])
    [0.75, -0.75]
    """

    max_length: int
    correct: str = "correct"
    """The component or column that says whether the answer is right."""
    right_short: float = 1.0
    right_long: float = 0.5
    wrong_short: float = -1.0
    wrong_long: float = -0.5
    exceeded: float | None = None
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_count(1, max_length=self.max_length)
        check_unit(self.unit)
        ends = (self.right_short, self.right_long, self.wrong_long, self.wrong_short)
        check_finite(
            right_short=ends[0], right_long=ends[1], wrong_long=ends[2], wrong_short=ends[3]
        )
        if not ends[0] >= ends[1] > ends[2] >= ends[3]:
            raise ConfigError(
                f"right_short >= right_long > wrong_long >= wrong_short does not hold for {ends}"
            )
        if self.exceeded is not None:
            check_finite(exceeded=self.exceeded)

    @property
    def range(self) -> Range:
        """From the lowest to the highest end."""
        ends = [self.right_short, self.wrong_short]
        ends += [] if self.exceeded is None else [self.exceeded]
        return Range(min(ends), max(ends))

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    def shape(self, row: Row) -> float | None:
        """Returns the value of the length, given the score."""
        score = row.score(self.correct)
        if score is None:
            return None
        length = row.length(self.unit)
        if length >= self.max_length and self.exceeded is not None:
            return self.exceeded
        right = score >= 1
        start, end = (
            (self.right_short, self.right_long) if right else (self.wrong_short, self.wrong_long)
        )
        # The cosine would turn upwards again after max_length.
        share = (1 + math.cos(math.pi * min(length / self.max_length, 1.0))) / 2
        low, high = sorted((start, end))
        return min(high, max(low, end + (start - end) * share))


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlongPenalty(CompletionShaper):
    """0 until the last `buffer` of what is allowed, from there down to -1, and -1 beyond.

    The soft overlong punishment of DAPO (arXiv:2503.14476, equation 13). Never rises with the
    length.

    >>> OverlongPenalty(max_length=100, buffer=20)(["…"] * 2, completion_ids=[[1] * 80, [1] * 90])
    [0.0, -0.5]
    """

    max_length: int
    buffer: int
    """0 makes it a step."""
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_count(1, max_length=self.max_length)
        check_count(0, buffer=self.buffer)
        if self.buffer > self.max_length:
            raise ConfigError(f"buffer is at most max_length, not {self.buffer}")
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """-1 to 0."""
        return Range(-1.0, 0.0)

    def shape(self, row: Row) -> float:
        """Returns the penalty."""
        return overlong(row.length(self.unit), self.max_length, self.buffer)


def overlong(length: int, max_length: int, buffer: int) -> float:
    """Returns DAPO's equation 13, in [-1, 0]."""
    over = length - (max_length - buffer)
    if over <= 0:
        return 0.0
    return -1.0 if over >= buffer else -over / buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDiscount(CompletionShaper):
    """The score, discounted by each token: score * gamma ** (n - 1).

    Learning to Reason Efficiently with Discounted RL (arXiv:2510.23486), which discounts the reward
    for being right and no other: give the verifier itself the weight 0. The power is that of the
    authors' code. Never rises with n, never falls with the score.

    >>> TokenDiscount(gamma=0.5)(["…", "…"], completion_ids=[[1], [1, 2]], correct=[1.0, 1.0])
    [1.0, 0.5]
    """

    gamma: float
    """In (0, 1]; near 1, as 1 - 1e-4: 0.5 is reached after 0.69 / (1 - gamma) tokens."""
    correct: str = "correct"
    """The component or column that is discounted."""
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_between(0, 1, gamma=self.gamma)
        if self.gamma == 0:
            raise ConfigError("gamma is above 0")
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    def shape(self, row: Row) -> float | None:
        """Returns the discounted score."""
        score = row.score(self.correct)
        if score is None:
            return None
        return score * self.gamma ** max(row.length(self.unit) - 1, 0)
