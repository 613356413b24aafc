"""Labelled rows, counted: what an audit saw of a verifier."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from rewardkit.errors import ConfigError

__all__ = ["Audit"]


@dataclass(frozen=True, slots=True)
class Audit:
    """How many labelled rows a verifier accepted and rejected, of those right and those wrong.

    Where accepted and rejected rows were drawn separately, the two totals say from how many:
    without them P(accepted | wrong) cannot be had from P(wrong | accepted). A uniform draw leaves
    them None.

    >>> Audit(accepted_right=45, accepted_wrong=2, rejected_right=5, rejected_wrong=48).labelled
    100

    Raises:
        ConfigError: a count is negative, only one total is given, or more rows are labelled than
            there are.
    """

    accepted_right: int = 0
    accepted_wrong: int = 0
    """False positives."""
    rejected_right: int = 0
    """False negatives."""
    rejected_wrong: int = 0
    accepted_total: int | None = None
    """Accepted rows in all, labelled or not; None for a uniform draw."""
    rejected_total: int | None = None

    def __post_init__(self) -> None:
        negative = [f.name for f in fields(self) if (getattr(self, f.name) or 0) < 0]
        if negative:
            raise ConfigError(f"{negative[0]} is a count, not {getattr(self, negative[0])}")
        if (self.accepted_total is None) != (self.rejected_total is None):
            raise ConfigError("give both accepted_total and rejected_total, or neither")
        for name in ("accepted", "rejected"):
            total, labelled = getattr(self, f"{name}_total"), getattr(self, f"{name}_labelled")
            if total is not None and labelled > total:
                raise ConfigError(f"{labelled} {name} rows are labelled, of {total} in all")

    @property
    def accepted_labelled(self) -> int:
        """Labelled rows that the verifier accepted."""
        return self.accepted_right + self.accepted_wrong

    @property
    def rejected_labelled(self) -> int:
        """Labelled rows that the verifier rejected."""
        return self.rejected_right + self.rejected_wrong

    @property
    def labelled(self) -> int:
        """Labelled rows in all."""
        return self.accepted_labelled + self.rejected_labelled

    @property
    def right(self) -> int:
        """Labelled rows that are right."""
        return self.accepted_right + self.rejected_right

    @property
    def wrong(self) -> int:
        """Labelled rows that are wrong."""
        return self.accepted_wrong + self.rejected_wrong

    @property
    def is_by_verdict(self) -> bool:
        """True if accepted and rejected rows were drawn separately."""
        return self.accepted_total is not None

    def __add__(self, other: "Audit") -> "Audit":
        """Returns the two audits as one; both are by verdict, or neither is."""
        if self.is_by_verdict != other.is_by_verdict:
            raise ConfigError("an audit by verdict and a uniform one cannot be added up")
        mine, theirs = self.to_dict(), other.to_dict()
        return Audit(**{name: count + theirs[name] for name, count in mine.items()})

    def to_dict(self) -> dict[str, int]:
        """Returns the counts as plain JSON data; totals that are None are left out."""
        return {name: count for name, count in asdict(self).items() if count is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, int]) -> Self:
        """Returns the audit that `to_dict` wrote.

        Raises:
            ConfigError: a count has no such name, is no whole number, or is impossible.
        """
        known = {f.name for f in fields(cls)}
        for name, count in data.items():
            if name not in known or isinstance(count, bool) or not isinstance(count, int):
                raise ConfigError(f"an audit has no count {name!r} = {count!r}")
        return cls(**data)
