"""What a trainer is told of a batch: scores under its policy, a status a row, figures to log."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.reward import RewardResult
from rewardkit.verdict import Verdict

__all__ = ["ERROR", "SCORED", "UNDECIDED", "Scored", "ScoredRow", "row_status"]

SCORED, UNDECIDED, ERROR = "scored", "undecided", "error"
"""Statuses beside the reasons of verdicts: a number; None without a verdict behind it; a raise."""


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """What a trainer is told of one completion."""

    score: float | None
    """Under the policy: None only where it masks."""
    status: str
    """`scored`, the reason of the verdict that abstained, `undecided`, or `error`."""
    detail: str
    """One line for a person; empty where there is a score."""
    components: dict[str, float | None]
    """The unweighted values."""
    verdicts: dict[str, Verdict]
    """The verdicts behind the components that are verifiers."""

    @property
    def answer(self) -> str | None:
        """The first span that a verifier graded, if any."""
        return next((v.answer for v in self.verdicts.values() if v.answer is not None), None)

    def metrics(self) -> dict[str, float]:
        """Returns the components that have a value, and whether the total has one."""
        values = {name: value for name, value in self.components.items() if value is not None}
        return {**values, "decided": float(self.status == SCORED)}


@dataclass(frozen=True, slots=True)
class Scored:
    """What a trainer is told of a batch: every list has one entry a completion, in order."""

    scores: list[float | None]
    """Under the policy: None only where it masks."""
    statuses: list[str]
    """`scored`, the reason of the verdict that abstained, `undecided`, or `error`."""
    details: list[str]
    """One line for a person; empty where there is a score."""
    result: RewardResult
    """What the reward said; its `scores` are before the policy."""

    def __len__(self) -> int:
        return len(self.scores)

    def row(self, index: int) -> ScoredRow:
        """Returns what it says about one completion."""
        row = self.result.row(index)
        return ScoredRow(
            self.scores[index],
            self.statuses[index],
            self.details[index],
            row.components,
            row.verdicts,
        )

    def metrics(self) -> dict[str, float]:
        """Returns figures to log.

        `<component>/mean` over the rows with a value, `status/<status>` as the share of rows with
        each status that is not `scored`, `reason/<component>/<reason>` as the share of verdicts.
        """
        figures = {}
        for name, values in self.result.components.items():
            if present := [value for value in values if value is not None]:
                figures[f"{name}/mean"] = math.fsum(present) / len(present)
        for status, share in _shares(self.statuses).items():
            if status != SCORED:
                figures[f"status/{status}"] = share
        for name, verdicts in self.result.verdicts.items():
            for reason, share in _shares([v.reason.value for v in verdicts]).items():
                figures[f"reason/{name}/{reason}"] = share
        return figures


def row_status(result: RewardResult, index: int) -> tuple[str, str]:
    """Returns the status and the detail of a row that was scored without an exception."""
    if result.scores[index] is not None:
        return SCORED, ""
    for name, verdicts in result.verdicts.items():
        if (verdict := verdicts[index]).abstained:
            return verdict.reason.value, f"{name}: {verdict.detail or verdict.reason.value}"
    names = [name for name, values in result.components.items() if values[index] is None]
    return UNDECIDED, f"no value from {', '.join(names) or 'any component'}"


def _shares(values: Sequence[str]) -> dict[str, float]:
    return {value: count / len(values) for value, count in sorted(Counter(values).items())}
