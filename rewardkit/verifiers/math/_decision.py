"""What a comparison says: equal, different, or neither shown."""

from dataclasses import dataclass

__all__ = ["NO_TOLERANCE", "Decision", "Tolerance", "different", "equal", "oversized", "undecided"]


@dataclass(frozen=True, slots=True)
class Decision:
    """`same` is True, False, or None where this tier can show neither."""

    same: bool | None
    tier: str
    why: str = ""
    too_large: bool = False
    """True if the answer is over the limits, so that nothing was computed."""

    def __bool__(self) -> bool:
        return self.same is True


def equal(tier: str, why: str = "") -> Decision:
    return Decision(True, tier, why)


def different(tier: str, why: str = "") -> Decision:
    return Decision(False, tier, why)


def undecided(tier: str, why: str = "") -> Decision:
    return Decision(None, tier, why)


def oversized(why: str) -> Decision:
    return Decision(None, "guard", why, too_large=True)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How near a decimal must come.

    Exact references need exact answers, or decimals with `approximation_digits` correct significant
    digits. `significant_figures` turns on a plain relative tolerance of half a unit in that figure.
    """

    approximation_digits: int = 6
    significant_figures: int | None = None


NO_TOLERANCE = Tolerance()
