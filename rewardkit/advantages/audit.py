"""Does a component reach the gradient? Advantages with and without it, compared."""

import logging
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rewardkit.advantages.estimators import Advantages
from rewardkit.errors import ConfigError

__all__ = [
    "AdvantageAudit",
    "AdvantageDifference",
    "Variant",
    "compare_advantages",
    "varies_within_groups",
]

_LOGGER = logging.getLogger(__name__)

Variant: TypeAlias = Callable[[], Advantages]
"""Makes the advantages as they would be without one thing."""


@dataclass(frozen=True, slots=True)
class AdvantageDifference:
    """How far two sets of advantages of one batch are apart."""

    mean: float
    """Mean absolute difference."""
    maximum: float
    """Largest absolute difference."""
    cosine: float | None
    """In [-1, 1]; 1 means the same direction; None where one of them is all 0."""
    largest: float
    """The largest absolute advantage of either: what a difference is held against."""

    def silent(self, tolerance: float = 1e-3) -> bool:
        """Returns whether they are alike: no difference above `tolerance * largest`.

        It is not exactly 0, because a correction that a z-score cancels still moves eps.
        """
        return self.maximum <= tolerance * self.largest


def compare_advantages(actual: Advantages, other: Advantages) -> AdvantageDifference:
    """Returns the difference of two sets of advantages of one batch, by token where they have any.

    Raises:
        ConfigError: they are of different batches.

    >>> one = Advantages([1.0, 0.0], [True, True], frozenset())
    >>> compare_advantages(one, Advantages([0.5, 0.0], [True, True], frozenset())).cosine
    1.0
    """
    left, right = _flat(actual, other), _flat(other, actual)
    if len(left) != len(right):
        raise ConfigError("the advantages that are compared are of different batches")
    differences = [abs(a - b) for a, b in zip(left, right, strict=True)]
    norms = math.hypot(*left) * math.hypot(*right)
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return AdvantageDifference(
        mean=math.fsum(differences) / len(differences) if differences else 0.0,
        maximum=max(differences, default=0.0),
        cosine=min(max(product / norms, -1.0), 1.0) if norms else None,
        largest=max((abs(value) for value in (*left, *right)), default=0.0),
    )


def _flat(one: Advantages, other: Advantages) -> list[float]:
    if one.tokens is not None:
        return [value for row in one.tokens for value in row]
    if other.tokens is not None:
        return [value for value, row in zip(one.values, other.tokens, strict=True) for _ in row]
    return one.values


class AdvantageAudit:
    """Watches, batch by batch, whether each component and correction moves the advantages.

    A component that varies within a group and still leaves every advantage as it is never reaches
    the gradient: a weight of 0, a gate in front of it, or an affine correction under a z-score.
    That is an alarm, logged as a warning the first time. One that is constant within each group of
    a batch has nothing to say there, which is no alarm.

    Args:
        tolerance: the largest difference that counts as none, relative to the largest advantage.

    >>> audit = AdvantageAudit()
    >>> same = Advantages([1.0, -1.0], [True, True], frozenset())
    >>> sorted(audit.check(same, {"rates": lambda: same}))
    ['rates']
    >>> audit.alarms
    ['rates never reaches the gradient: the advantages are the same without it']
    """

    def __init__(self, *, tolerance: float = 1e-3) -> None:
        if not (math.isfinite(tolerance) and tolerance >= 0):
            raise ConfigError(f"tolerance is a finite number from 0 on, not {tolerance!r}")
        self.tolerance = tolerance
        self.alarms: list[str] = []
        """One line a component, in the order in which they were noticed."""

    def check(
        self,
        actual: Advantages,
        without: Mapping[str, Variant],
        *,
        varies: Mapping[str, bool] | None = None,
    ) -> dict[str, AdvantageDifference]:
        """Returns the differences of one batch by name, and notes the alarms.

        Args:
            actual: what the trainer uses.
            without: by name of a component or correction, what it would use without that one.
            varies: by name, whether it had anything to say in this batch; True where not given.
        """
        differences = {}
        for name, variant in without.items():
            found = differences[name] = compare_advantages(actual, variant())
            if (varies or {}).get(name, True) and found.silent(self.tolerance):
                self._alarm(name)
        return differences

    def _alarm(self, name: str) -> None:
        text = f"{name} never reaches the gradient: the advantages are the same without it"
        if text not in self.alarms:
            self.alarms.append(text)
            _LOGGER.warning("%s", text)


def varies_within_groups(values: Sequence[float | None], groups: Sequence[Hashable]) -> bool:
    """Returns whether two decided values of one group differ.

    >>> varies_within_groups([1.0, 1.0, 0.0], ["a", "a", "b"])
    False
    """
    first: dict[Hashable, float] = {}
    return any(
        first.setdefault(group, value) != value
        for value, group in zip(values, groups, strict=True)
        if value is not None
    )
