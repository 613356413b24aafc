"""What an audit finds: one entry for each root cause."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level"]


class Level(StrEnum):
    """How much a finding weighs; the order is from the heaviest."""

    CONTRACT = "contract"
    """Every reward must satisfy it: a failure is a bug."""
    DECLARED = "declared"
    """The reward claims it, by `Traits`, by its signature or by its documentation."""
    MEASURED = "measured"
    """A hole that pays or a right answer that is refused, where a reward may have its reasons."""

    @property
    def rank(self) -> int:
        """0 for the heaviest."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: what it breaks, why, the smallest input that shows it, and a test for it."""

    property: str
    """The property that does not hold, as `docs/audit.md` lists it."""
    level: Level
    root_cause: str
    """`slug: one sentence`. Symptoms of one cause are one finding."""
    example: str
    """The smallest input that was found, with what the reward said."""
    test: str
    """A test that fails now and passes once the fault is gone; empty where none can be written."""
    symptoms: tuple[str, ...] = ()
    """Other probes that fail for the same cause."""
    gain: float | None = None
    """Share of a right answer's pay that the hole pays, if it pays: 1 is as good as right."""

    def to_dict(self) -> dict[str, object]:
        """Returns plain JSON data."""
        return {
            "property": self.property,
            "level": self.level.value,
            "root_cause": self.root_cause,
            "example": self.example,
            "test": self.test,
            "symptoms": list(self.symptoms),
            "gain": self.gain,
        }
