"""Rewards that compare how long the completions of one prompt are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_unit
from rewardkit.shaping._scored import ScoredGroup
from rewardkit.shaping.base import Range, Row, Unit

__all__ = ["DifficultyLength", "GroupLength"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLength(ScoredGroup):
    """Shorter than its siblings is better, and being wrong earns nothing by being short.

    With l = 0.5 - (n - shortest) / (longest - shortest) over the group: l for a right answer,
    min(0, l) for a wrong one, and 0 where all lengths are alike (Kimi k1.5, arXiv:2501.12599,
    section 2.3.3). A completion whose score was not decided has None and counts among the lengths.
    Never rises with n in a group whose shortest and longest stay.

    >>> shaper = GroupLength(unit="characters")
    >>> shaper(["1", "12", "123"], prompt=["p"] * 3, correct=[1.0, 1.0, 0.0])
    [0.5, 0.0, -0.5]
    """

    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """-0.5 to 0.5."""
        return Range(-0.5, 0.5)

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row."""
        lengths = [row.length(self.unit) for row in rows]
        shortest, longest = min(lengths), max(lengths)
        found: list[float | None] = []
        for row, length in zip(rows, lengths, strict=True):
            score = row.score(self.correct)
            share = (length - shortest) / (longest - shortest) if longest > shortest else 0.5
            found.append(None if score is None else min(0.5 - share, 0.5 if score >= 1 else 0.0))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DifficultyLength(ScoredGroup):
    """A right answer earns more by being short where the prompt is easy than where it is hard.

    With n the length, l the longest and s the shortest of the group, and m its median, a right
    answer is worth scale * max((l - n) / (l - s), 1 / (1 + exp((n - m) / (softness * m)))), and a
    wrong one 0. The scale goes by the share of right answers: easy, medium or hard. It is a term
    beside that for being right, and its pressure towards short answers is the scale.

    After the released code of TRAAC (arXiv:2510.01581), `reward_manager/sumLinear.py`, with its
    numbers; the paper's equation could not be read. There the lengths are those of the last ten
    batches of one level of difficulty, in a file; here they are those of the group, since a shaper
    keeps no state. Where all lengths are alike the first term is 0. Never rises with n among right
    answers in a group whose shortest, longest and median stay; never falls with the scale.

    >>> shaper = DifficultyLength(unit="characters")
    >>> shaper(["1", "123"], prompt=["easy"] * 2, correct=[1.0, 1.0])
    [1.0, 0.0066...]
    >>> shaper(["1", "123", "12", "1234"], prompt=["hard"] * 4, correct=[1.0, 0.0, 0.0, 0.0])
    [0.5, 0.0, 0.0, 0.0]
    """

    easy_from: float = 0.8
    """The least pass rate of an easy prompt."""
    hard_below: float = 0.3
    """The pass rate below which a prompt is hard."""
    scales: tuple[float, float, float] = (1.0, 0.75, 0.5)
    """Of an easy, a medium and a hard prompt: in [0, 1], not rising."""
    softness: float = 0.1
    """Of the second term, in units of the median length; above 0."""
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_between(0, 1, easy_from=self.easy_from, hard_below=self.hard_below)
        if self.hard_below > self.easy_from:
            raise ConfigError("hard_below is at most easy_from")
        if len(tuple(self.scales)) != 3:
            raise ConfigError(f"scales are three numbers, not {self.scales!r}")
        easy, medium, hard = self.scales
        if not 1 >= easy >= medium >= hard >= 0:
            raise ConfigError(f"scales are three of [0, 1], not rising, not {self.scales!r}")
        check_between(1e-6, 1e6, softness=self.softness)
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """0 to the largest scale."""
        return Range(0.0, max(self.scales))

    def scale(self, pass_rate: float) -> float:
        """Returns what the shortest right answer to a prompt of this pass rate is worth."""
        easy, medium, hard = self.scales
        if pass_rate >= self.easy_from:
            return easy
        return hard if pass_rate < self.hard_below else medium

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row; undecided ones are None and in no pass rate."""
        scores = [row.score(self.correct) for row in rows]
        decided = [score for score in scores if score is not None]
        if not decided:
            return [None] * len(rows)
        scale = self.scale(sum(score >= 1 for score in decided) / len(decided))
        lengths = [row.length(self.unit) for row in rows]
        longest, width = max(lengths), max(max(lengths) - min(lengths), 1)
        middle = median(lengths)
        found: list[float | None] = []
        for score, length in zip(scores, lengths, strict=True):
            share = (longest - length) / width
            # Where all are empty, or the exponent is beyond any float, the sign alone decides.
            away = (length - middle) / max(self.softness * middle, 1e-9)
            soft = 1 / (1 + math.exp(min(max(away, -500.0), 500.0)))
            value = scale * max(share, soft)
            found.append(None if score is None else value if score >= 1 else 0.0)
        return found
