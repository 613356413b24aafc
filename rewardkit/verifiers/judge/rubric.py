"""Rubrics: weighted criteria, met or not."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json

__all__ = ["Criterion", "Rubric"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that a response does or does not.

    Raises:
        ConfigError: no text, or points that are 0 or not finite.
    """

    text: str
    points: float = 1.0
    """Negative for what a response should not do."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ConfigError("a criterion has a text")
        if not math.isfinite(self.points) or self.points == 0:
            raise ConfigError(f"a criterion's points are finite and not 0, not {self.points!r}")

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Returns a criterion from its text, or from `{"criterion": …, "points": …}`.

        Raises:
            ConfigError: it is neither.
        """
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Mapping):
            text = value.get("criterion", value.get("text"))
            points = value.get("points", value.get("weight", 1.0))
            is_number = isinstance(points, int | float) and not isinstance(points, bool)
            if isinstance(text, str) and is_number:
                return cls(text, float(points))  # type: ignore[arg-type] # a number, by the line above
        raise ConfigError('a criterion is a text, or {"criterion": a text, "points": a number}')


@dataclass(frozen=True, slots=True)
class Rubric:
    """Criteria with points.

    >>> rubric = Rubric((Criterion("names a city", 3), Criterion("is rude", -2)))
    >>> rubric.score([True, True])
    0.3333333333333333

    Raises:
        ConfigError: no criterion has positive points, so that nothing could be earned.
    """

    criteria: tuple[Criterion, ...]

    def __post_init__(self) -> None:
        if not any(one.points > 0 for one in self.criteria):
            raise ConfigError("a rubric has at least one criterion with points above 0")

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Returns a rubric from a list of criteria, or from its JSON text.

        Raises:
            ConfigError: it is none.
        """
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise ConfigError("a rubric is a JSON list of criteria") from None
        if not isinstance(value, list | tuple):
            raise ConfigError("a rubric is a list of criteria")
        return cls(tuple(Criterion.from_json(one) for one in value))

    def score(self, met: Sequence[bool]) -> float:
        """Returns the points met by the points that can be earned, held to [0, 1].

        Source: HealthBench, arXiv 2505.08775, which clips the mean; each response is clipped here.

        Args:
            met: one entry for each criterion, in order.
        """
        earned = sum(one.points for one, is_met in zip(self.criteria, met, strict=True) if is_met)
        most = sum(one.points for one in self.criteria if one.points > 0)
        return min(max(earned / most, 0.0), 1.0)
