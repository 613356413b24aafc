"""A value in two ways, and another value."""

from dataclasses import dataclass
from random import Random

__all__ = ["Spelled", "spelled"]


@dataclass(frozen=True, slots=True)
class Spelled:
    """`reference` and `right` are one value, `wrong` is another; each may be the reference."""

    reference: str
    right: str
    wrong: str


def spelled(ways: list[str], others: list[str], random: Random) -> Spelled:
    """Returns two ways to write a value, and one way to write another."""
    reference, right = random.choice(ways), random.choice(ways)
    return Spelled(reference, right, random.choice(others))
