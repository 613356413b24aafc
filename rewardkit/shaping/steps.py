"""A composite for worked solutions: right, close to the reference's steps, and going on there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_count
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["IrisParts", "IrisReward"]

_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_STEP = re.compile(r"\s{0,100}([0-9]{1,9})\.")
_COMMAND = re.compile(r"\\[A-Za-z]{1,24}")
_EXPRESSION = re.compile(r"[-+*/^=().,{}\s0-9A-Za-z$%]{1,200}")
_WORDS = re.compile(r"[A-Za-z]{2}")
_LENIENT = AnswerPolicy(last_expression=True)


class IrisParts(NamedTuple):
    """The four terms before they are weighted."""

    correctness: float
    """In [0, 1]."""
    alignment: float
    """In [0, 1]."""
    continuity: float
    """1, 0 or -0.5."""
    numeric: float
    """1 or 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IrisReward(CompletionShaper):
    r"""Correctness, step alignment, continuity and a numeric answer, in a weighted sum.

    - correctness: the score;
    - alignment: how close the completion is to the reference's steps, times 1 - `removed`;
    - continuity: 1 if the completion begins with the number of the step that it is to go on with
      (`3.`), -0.5 if it begins again with the first one, else 0;
    - numeric: 1 if the answer is a number or a symbolic expression.

    After the released code of IRIS (arXiv:2604.24114), `HorizontalAxis_GRPO.py`, with its weights;
    the paper's equations could not be read. The code measures closeness by (1 + cosine) / 2 of
    sentence embeddings: give that as `alignment`. Without it the value is ours: the share of the
    reference's steps that the completion's lines match in order (the longest common subsequence),
    where a step and a line match if the Jaccard similarity of their words and numbers is at least
    `similarity`. The code gives the numeric term to any text with a number in it; here the answer
    has to be one. Never falls with the score. The cost is bounded by `max_lines` and `max_chars`.

    >>> shaper = IrisReward(first_step="first")
    >>> texts = ["2. 4*3=12", "1. 2+2=4"]
    >>> shaper(texts, steps=[["4*3=12"]] * 2, correct=[1.0, 0.0], first=[2, 2])
    [6.0, 0.0]
    """

    correct: str = "correct"
    """The component or column with the score."""
    steps: str = "steps"
    """The column with the steps that are to be written: a list of texts."""
    first_step: str | None = None
    """The column with the number of the first of them; None for 1."""
    removed: str | None = None
    """The column with the stage of the curriculum as a share of the last one, in [0, 1]; None for
    0. In IRIS a stage removes more of the solution that the prompt shows."""
    weights: tuple[float, float, float, float] = (2.0, 2.5, 1.0, 0.5)
    """Of the terms in their order; not negative, with a sum above 0."""
    alignment: Callable[[str, str], float] | None = None
    """From the completion's text and the reference's steps, joined by newlines, to a number that is
    held to [0, 1]."""
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
        """Minus half the weight of continuity, to the sum of the weights."""
        return Range(-0.5 * self.weights[2], float(sum(self.weights)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    def shape(self, row: Row) -> float | None:
        """Returns the weighted sum of the terms."""
        parts = self.parts(row)
        if parts is None:
            return None
        return sum(weight * part for weight, part in zip(self.weights, parts, strict=True))

    def parts(self, row: Row) -> IrisParts | None:
        """Returns the four terms, or None where the score or the steps are not given.

        Raises:
            ConfigError: a column holds something else than its option says.
        """
        score, steps = row.score(self.correct), row.column(self.steps)
        if score is None or steps is None:
            return None
        if not isinstance(steps, list | tuple) or not all(isinstance(s, str) for s in steps):
            raise ConfigError(f"{self.steps!r} holds lists of texts, not {steps!r:.100}")
        removed = None if self.removed is None else row.score(self.removed)
        text = row.text
        aligned = self._aligned(steps, text[-self.max_chars :])
        return IrisParts(
            score,
            aligned * (1 - (removed or 0.0)),
            _continuity(text, self._first(row)),
            float(_is_expression(_answer(text[-self.max_chars :]))),
        )

    def _first(self, row: Row) -> int:
        first = 1 if self.first_step is None else row.column(self.first_step)
        if isinstance(first, bool) or not isinstance(first, int) or first < 1:
            raise ConfigError(f"{self.first_step!r} holds numbers of steps from 1, not {first!r}")
        return first

    def _aligned(self, steps: Sequence[str], text: str) -> float:
        if self.alignment is not None:
            return min(max(float(self.alignment(text, "\n".join(steps))), 0.0), 1.0)
        wanted = [words for step in steps if (words := _words(step))]
        if not wanted:
            return 1.0
        lines = [words for line in text.splitlines() if (words := _words(line))]
        lines = lines[-self.max_lines :]
        best = [0] * (len(lines) + 1)
        for step in wanted:
            before, best = best, [0]
            for place, line in enumerate(lines):
                matched = len(step & line) >= self.similarity * len(step | line)
                best.append(max(before[place + 1], best[-1], before[place] + matched))
        return best[-1] / len(wanted)


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line.lower()))


def _continuity(text: str, first: int) -> float:
    found = _STEP.match(text)
    number = int(found[1]) if found else 0
    if number == first:
        return 1.0
    return -0.5 if number == 1 else 0.0


def _answer(text: str) -> str:
    """Returns the last `<answer>`, else the answer as it is graded, else the last line."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    if start >= 0:
        return text[start + len("<answer>") : end].strip()
    graded = extract_answer(text, _LENIENT).text
    if graded is not None:
        return graded.strip()
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _is_expression(answer: str) -> bool:
    bare = _COMMAND.sub("", answer)
    return (
        _EXPRESSION.fullmatch(bare) is not None
        and any(map(str.isalnum, bare))
        and _WORDS.search(bare) is None
    )
