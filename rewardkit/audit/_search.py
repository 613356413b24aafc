"""The smallest case that a condition holds for, by hypothesis, within a bound on time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample, Unsatisfiable

__all__ = ["Found", "Limits", "search"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard a profile looks."""

    examples: int
    """Cases of each property."""
    seconds: float
    """For each property, on the clock."""
    rate_cases: int
    """Cases of each family whose rate is measured."""
    rounds: int
    """Rounds of calls side by side."""

    @classmethod
    def of(cls, profile: str) -> "Limits":
        """Returns the limits of `fast` or `deep`."""
        return cls(200, 30.0, 200, 200) if profile == "deep" else cls(14, 0.8, 16, 12)


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What a search has come to."""

    example: T | None
    """The smallest case, None if none was found."""
    tried: int
    hits: int
    """Of the first `tried` generated cases, before any shrinking."""


def search(
    strategy: Any,  # noqa: ANN401
    condition: Callable[[T], bool],
    *,
    limits: Limits,
    times: int = 1,
    seed: int = 0,
) -> Found[T]:
    """Returns the smallest case for which the condition holds.

    Args:
        strategy: of hypothesis.
        condition: called with cases; it is asked once for each.
        limits: how many cases, and how long.
        times: a multiple of both.
        seed: of the generator. The same seed gives the same search.
    """
    known: dict[str, bool] = {}
    count = {"tried": 0, "hits": 0}
    ends = time.monotonic() + limits.seconds * times
    best: list[T] = []

    def asked(case: T) -> bool:
        key = repr(case)
        if key not in known:
            # Out of time, nothing new is asked; what is known stays, so the search ends in order.
            if time.monotonic() > ends:
                return False
            known[key] = condition(case)
            if not best:
                count["tried"] += 1
                count["hits"] += known[key]
            if known[key]:
                best.append(case)
        return known[key]

    try:
        example: T | None = find(
            strategy,
            asked,
            settings=settings(
                max_examples=limits.examples * times,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate, Phase.shrink),
            ),
            random=Random(seed),
        )
    except (NoSuchExample, Unsatisfiable):
        example = min(best, key=lambda case: len(repr(case)), default=None)
    return Found(example, count["tried"], count["hits"])
