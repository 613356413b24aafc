"""How much of a completion says what it has said already?"""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import islice

from rewardkit.shaping._checks import check_between, check_count, check_unit
from rewardkit.shaping.base import CompletionShaper, Range, Row, Unit

__all__ = ["RepetitionPenalty"]

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionPenalty(CompletionShaper):
    """The share of n-grams that are repetitions, times a penalty.

    (1 - different / all) * max_penalty, and 0 without an n-gram: TRL's
    `get_repetition_penalty_reward` over tokens, after Demystifying Long Chain-of-Thought
    (arXiv:2502.03373, appendix C.2), whose code counts lower-case words. A token that completes an
    n-gram which stands there already never raises the value.

    >>> RepetitionPenalty(ngram=2)(["…", "…"], completion_ids=[[1, 2, 3, 4], [5, 5, 5, 5, 5]])
    [0.0, -0.75]
    """

    ngram: int = 3
    max_penalty: float = -1.0
    """At most 0."""
    unit: Unit = "tokens"
    max_items: int = 1_000_000
    """Tokens, words or characters from the start that count, a bound on time and memory."""

    def __post_init__(self) -> None:
        check_count(1, ngram=self.ngram, max_items=self.max_items)
        check_between(float("-1e9"), 0, max_penalty=self.max_penalty)
        check_unit(self.unit)

    @property
    def range(self) -> Range:
        """`max_penalty` to 0."""
        return Range(self.max_penalty, 0.0)

    def shape(self, row: Row) -> float:
        """Returns the penalty."""
        items = self._numbered(row)
        total = len(items) - self.ngram + 1
        if total < 1:
            return 0.0
        shifted = (items[start : start + total] for start in range(self.ngram))
        different = len(set(zip(*shifted, strict=True)))
        return (1 - different / total) * self.max_penalty if different < total else 0.0

    def _numbered(self, row: Row) -> list[int]:
        """One small number an item: equal items, equal numbers."""
        numbers: dict[Hashable, int] = {}
        return [numbers.setdefault(item, len(numbers)) for item in self._items(row)]

    def _items(self, row: Row) -> Iterable[Hashable]:
        if self.unit == "tokens":
            return row.token_ids[: self.max_items]
        if self.unit == "characters":
            return row.text[: self.max_items]
        return (word[0].lower() for word in islice(_WORD.finditer(row.text), self.max_items))
