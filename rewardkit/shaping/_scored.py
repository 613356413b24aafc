"""What the shapers have in common that compare a group's completions by whether they are right."""

from dataclasses import dataclass

from rewardkit.shaping.base import GroupShaper

__all__ = ["ScoredGroup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredGroup(GroupShaper):
    """A group by a column, and the score of its completions."""

    correct: str = "correct"
    """The component or column that says whether the answer is right."""
    group: str = "prompt"
    """The column that tells groups apart."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    @property
    def group_column(self) -> str:
        """The option `group`."""
        return self.group
