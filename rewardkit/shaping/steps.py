"""A composite for worked solutions: right, along the reference's steps, connected, with numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_count
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["IrisParts", "IrisReward"]

_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class IrisParts(NamedTuple):
    """The four terms, each in [0, 1]."""

    correctness: float
    alignment: float
    continuity: float
    numeric: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IrisReward(CompletionShaper):
    r"""Correctness, step alignment, continuity and numbers, in a weighted mean.

    - correctness: the score;
    - alignment: the share of the reference's steps that the completion's lines match in order (the
      longest common subsequence), where a step and a line match if the Jaccard similarity of their
      words and numbers is at least `similarity`;
    - continuity: the share of neighbouring lines with a number or a word in common; 1 for a single
      line;
    - numeric: F1 of the numbers of the text and those of the reference's steps, as multisets, so
      that a list of all numbers does not earn it.

    The four terms are named in the abstract of IRIS (arXiv:2604.24114); its equations could not be
    read, so each term and the weights are ours. Never falls with the score. The cost is bounded by
    `max_lines` and `max_chars`.

    >>> shaper = IrisReward()
    >>> shaper(["2+2=4\n4*3=12"], steps=[["2+2=4", "4*3=12"]], correct=[1.0])
    [1.0]
    """

    correct: str = "correct"
    """The component or column with the score."""
    steps: str = "steps"
    """The column with the reference's steps: a list of texts."""
    weights: tuple[float, float, float, float] = (0.4, 0.2, 0.2, 0.2)
    """Of the terms in their order; not negative, with a sum above 0."""
    similarity: float = 0.5
    max_lines: int = 64
    """Lines of the completion, from its end, that are compared."""
    max_chars: int = 100_000
    """Characters of the completion, from its end, that are read."""

    def __post_init__(self) -> None:
        if len(tuple(self.weights)) != 4:
            raise ConfigError(f"weights are four numbers, not {self.weights!r}")
        for weight in self.weights:
            check_between(0, 1e9, weight=weight)
        if not sum(self.weights):
            raise ConfigError("one of the weights is above 0")
        check_between(0, 1, similarity=self.similarity)
        check_count(1, max_lines=self.max_lines, max_chars=self.max_chars)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    def shape(self, row: Row) -> float | None:
        """Returns the weighted mean of the terms."""
        parts = self.parts(row)
        if parts is None:
            return None
        pairs = zip(self.weights, parts, strict=True)
        return min(1.0, sum(weight * part for weight, part in pairs) / sum(self.weights))

    def parts(self, row: Row) -> IrisParts | None:
        """Returns the four terms, or None where the score or the steps are not given."""
        score, steps = row.score(self.correct), row.column(self.steps)
        if score is None or steps is None:
            return None
        if not isinstance(steps, list | tuple) or not all(isinstance(s, str) for s in steps):
            raise ConfigError(f"{self.steps!r} holds lists of texts, not {steps!r:.100}")
        text = row.text[-self.max_chars :]
        lines = [words for line in text.splitlines() if (words := _words(line))]
        lines = lines[-self.max_lines :]
        wanted = [words for step in steps if (words := _words(step))]
        return IrisParts(
            score,
            self._alignment(wanted, lines),
            _continuity(lines),
            _f1(Counter(_NUMBER.findall(text)), Counter(_NUMBER.findall("\n".join(steps)))),
        )

    def _alignment(self, wanted: Sequence[set[str]], lines: Sequence[set[str]]) -> float:
        if not wanted:
            return 1.0
        best = [0] * (len(lines) + 1)
        for step in wanted:
            before, best = best, [0]
            for place, line in enumerate(lines):
                matched = len(step & line) >= self.similarity * len(step | line)
                best.append(max(before[place + 1], best[-1], before[place] + matched))
        return best[-1] / len(wanted)


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line.lower()))


def _continuity(lines: Sequence[set[str]]) -> float:
    pairs = list(pairwise(lines))
    if not pairs:
        return float(bool(lines))
    return sum(bool(one & other) for one, other in pairs) / len(pairs)


def _f1(found: Counter[str], wanted: Counter[str]) -> float:
    if not wanted:
        return 1.0
    shared = (found & wanted).total()
    return 2 * shared / (found.total() + wanted.total())
