"""Rewards that compare how long the completions of one prompt are."""

from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_unit
from rewardkit.shaping.base import GroupShaper, Range, Row, Unit

__all__ = ["DifficultyLength", "GroupLength"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLength(GroupShaper):
    """Shorter than its siblings is better, and being wrong earns nothing by being short.

    With l = 0.5 - (n - shortest) / (longest - shortest) over the group: l for a right answer,
    min(0, l) for a wrong one, and 0 where all lengths are alike (Kimi k1.5, arXiv:2501.12599,
    section 2.3.3). A completion whose score was not decided has None and counts among the lengths.
    Never rises with n in a group whose shortest and longest stay.

    >>> shaper = GroupLength(unit="characters")
    >>> shaper(["1", "12", "123"], prompt=["p"] * 3, correct=[1.0, 1.0, 0.0])
    [0.5, 0.0, -0.5]
    """

    correct: str = "correct"
    """The component or column that says whether the answer is right."""
    group: str = "prompt"
    """The column that tells groups apart."""
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """-0.5 to 0.5."""
        return Range(-0.5, 0.5)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    @property
    def group_column(self) -> str:
        """The option `group`."""
        return self.group

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
class DifficultyLength(GroupShaper):
    """Right answers are to be short where the prompt is easy, and may be long where it is hard.

    The share of right answers in the group makes the prompt easy, medium or hard, and the level has
    a pressure: a right answer of length n is worth 1 - pressure * (n - shortest) / (longest -
    shortest), over the right answers of the group; a wrong one is worth 0.

    From TRAAC (arXiv:2510.01581) are the pass rate of the group as the difficulty, the three levels
    and that an easier level presses more; its equations could not be read, so the line, the bounds
    and the pressures are ours. Never rises with n among right answers, nor with the pressure.

    >>> shaper = DifficultyLength(unit="characters")
    >>> shaper(["1", "123"], prompt=["easy"] * 2, correct=[1.0, 1.0])
    [1.0, 0.5]
    >>> shaper(["1", "123", "12", "1234"], prompt=["hard"] * 4, correct=[0.0, 1.0, 0.0, 0.0])
    [0.0, 1.0, 0.0, 0.0]
    """

    correct: str = "correct"
    """The component or column that says whether the answer is right."""
    group: str = "prompt"
    """The column that tells groups apart."""
    easy_from: float = 0.75
    """The least pass rate of an easy prompt."""
    hard_below: float = 0.375
    """The pass rate below which a prompt is hard."""
    pressures: tuple[float, float, float] = (0.5, 0.25, 0.0)
    """Of an easy, a medium and a hard prompt: in [0, 1), not rising."""
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        check_between(0, 1, easy_from=self.easy_from, hard_below=self.hard_below)
        if self.hard_below > self.easy_from:
            raise ConfigError("hard_below is at most easy_from")
        if len(tuple(self.pressures)) != 3:
            raise ConfigError(f"pressures are three numbers, not {self.pressures!r}")
        easy, medium, hard = self.pressures
        if not 1 > easy >= medium >= hard >= 0:
            raise ConfigError(f"pressures are three of [0, 1), not rising, not {self.pressures!r}")
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    @property
    def group_column(self) -> str:
        """The option `group`."""
        return self.group

    def pressure(self, pass_rate: float) -> float:
        """Returns the pressure on a prompt of this pass rate."""
        if len(tuple(self.pressures)) != 3:
            raise ConfigError(f"pressures are three numbers, not {self.pressures!r}")
        easy, medium, hard = self.pressures
        if pass_rate >= self.easy_from:
            return easy
        return hard if pass_rate < self.hard_below else medium

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row; undecided ones are None and in no pass rate."""
        scores = [row.score(self.correct) for row in rows]
        right = [score is not None and score >= 1 for score in scores]
        decided = sum(score is not None for score in scores)
        lengths = [row.length(self.unit) for row in rows]
        own = [length for length, good in zip(lengths, right, strict=True) if good]
        if not own:
            return [None if score is None else 0.0 for score in scores]
        pressure = self.pressure(sum(right) / decided)
        width = max(max(own) - min(own), 1)
        return [
            None if score is None else (1 - pressure * (length - min(own)) / width) * good
            for score, length, good in zip(scores, lengths, right, strict=True)
        ]
