"""The model's own confidence in its answer as a reward."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.shaping.base import GroupShaper, Range, Row, group_key

__all__ = ["Measure", "Preference", "SelfConfidence", "answer_confidence", "preferences"]


Measure: TypeAlias = Callable[[Sequence[Row]], Sequence[Sequence[float] | None]]
"""From rows to p(first) - p(second) for each token of each answer, or None."""


def answer_confidence(gaps: Sequence[float]) -> float:
    """Returns the mean gap between the likeliest and the second token over an answer's tokens.

    (1/|answer|) sum over its tokens of p(first) - p(second), the confidence of CoT-decoding
    (arXiv:2402.10200), in [0, 1].

    Args:
        gaps: one a token of the answer's span, in [0, 1].

    Raises:
        ConfigError: a gap is outside [0, 1].

    >>> answer_confidence([0.9, 0.5])
    0.7
    """
    if not all(0 <= gap <= 1 for gap in gaps):
        raise ConfigError("gaps of probabilities are numbers in [0, 1]")
    return math.fsum(gaps) / len(gaps) if gaps else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfConfidence(GroupShaper):
    """How sure the model was of the answer, or where that ranks in its group.

    RLSF (arXiv:2507.21931) computes the confidence of each final answer span with the frozen model
    that wrote it, and ranks the traces of a prompt by it; that much is from its abstract. The
    confidence here is `answer_confidence` over the column `gaps`; an answer of no tokens has 0.
    With `kind="rank"` the value is the share of the other decided rows that are less sure, ties
    half: 0 for the least sure of a group, 1 for the surest, 0.5 for a row alone. Never falls
    with the row's confidence.

    Nothing here checks the answer. A model can become sure of what is wrong; the reward is for data
    without references.

    >>> SelfConfidence()(["a", "b"], prompt=["p"] * 2, answer_gaps=[[0.9, 0.7], [0.1]])
    [1.0, 0.0]
    """

    gaps: str = "answer_gaps"
    """The column with p(first) - p(second) for each token of the answer's span; None where that was
    not computed. Not read if `measure` is given."""
    measure: Measure | None = None
    """Computes the gaps of the rows."""
    group: str = "prompt"
    """The column that tells groups apart."""
    kind: Literal["rank", "value"] = "rank"

    def __post_init__(self) -> None:
        if self.kind not in ("rank", "value"):
            raise ConfigError(f"kind is 'rank' or 'value', not {self.kind!r}")

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def group_column(self) -> str:
        """The option `group`."""
        return self.group

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row."""
        sure = [
            None if gaps is None else answer_confidence(_listed(gaps)) for gaps in self._gaps(rows)
        ]
        if self.kind == "value":
            return list(sure)
        decided = [one for one in sure if one is not None]
        return [None if one is None else _rank(one, decided) for one in sure]

    def _gaps(self, rows: Sequence[Row]) -> Sequence[object]:
        if self.measure is None:
            return [row.column(self.gaps) for row in rows]
        found = list(self.measure(rows))
        if len(found) != len(rows):
            raise ConfigError(f"measure returned {len(found)} entries for {len(rows)} rows")
        return found


def _listed(gaps: object) -> Sequence[float]:
    if isinstance(gaps, list | tuple) and all(isinstance(gap, int | float) for gap in gaps):
        return gaps
    raise ConfigError(f"gaps are a list of numbers, one a token, not {gaps!r:.100}")


def _rank(one: float, all_of_them: Sequence[float]) -> float:
    if len(all_of_them) < 2:
        return 0.5
    below = sum(other < one for other in all_of_them)
    equal = sum(other == one for other in all_of_them) - 1
    return (below + equal / 2) / (len(all_of_them) - 1)


class Preference(NamedTuple):
    """Two rows of one group, the better first."""

    chosen: int
    rejected: int


def preferences(
    values: Sequence[float | None], groups: Sequence[object], *, margin: float = 0.0
) -> list[Preference]:
    """Returns the best and the worst row of each group, for preference optimisation as in RLSF.

    Args:
        values: (B,); None is in no pair.
        groups: (B,) what tells groups apart.
        margin: groups whose best and worst are not further apart have no pair.

    >>> preferences([0.9, 0.1, 0.4, 0.5, 0.5], ["p", "p", "p", "q", "q"])
    [Preference(chosen=0, rejected=1)]
    """
    rows: dict[Hashable, list[tuple[float, int]]] = {}
    for index, (value, group) in enumerate(zip(values, groups, strict=True)):
        if value is not None:
            rows.setdefault(group_key(group), []).append((value, index))
    found = []
    for own in rows.values():
        best = max(own, key=lambda pair: (pair[0], -pair[1]))
        worst = min(own)
        if best[0] - worst[0] > margin:
            found.append(Preference(best[1], worst[1]))
    return found
