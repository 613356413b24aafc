"""What a reward says about a batch."""

from dataclasses import dataclass

from rewardkit.verdict import Verdict

__all__ = ["RewardResult", "RewardRow"]


@dataclass(frozen=True, slots=True)
class RewardRow:
    """What a reward says about one completion."""

    score: float | None
    """The total; None if it could not be decided."""
    components: dict[str, float | None]
    """The unweighted value of each component; `outer/inner` for a reward within a reward."""
    verdicts: dict[str, Verdict]
    """The verdict behind each component that is a verifier."""


@dataclass(frozen=True, slots=True)
class RewardResult:
    """What a reward says about a batch: every list has one entry per completion, in order."""

    scores: list[float | None]
    """The totals; None where it could not be decided, which a trainer masks."""
    components: dict[str, list[float | None]]
    """The unweighted values of each component; `outer/inner` for a reward within a reward."""
    verdicts: dict[str, list[Verdict]]
    """The verdicts behind each component that is a verifier."""

    def __len__(self) -> int:
        return len(self.scores)

    def row(self, index: int) -> RewardRow:
        """Returns what it says about one completion.

        Raises:
            IndexError: there is no such row.
        """
        return RewardRow(
            self.scores[index],
            {name: values[index] for name, values in self.components.items()},
            {name: verdicts[index] for name, verdicts in self.verdicts.items()},
        )
