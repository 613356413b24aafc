"""What is "I do not know" worth?"""

import re
from dataclasses import dataclass
from typing import Self

from rewardkit.completion import split_reasoning
from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_finite
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["Abstention"]

_PHRASES = (
    "I don't know",
    "I do not know",
    "I am not sure",
    "I'm not sure",
    "cannot be determined",
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention(CompletionShaper):
    """`right` for a right answer, `abstain` for saying that one does not know, `wrong` else.

    That the abstention reward sets which answers are worth trying is from Knowing When to Quit
    (arXiv:2604.18419), whose rule for stopping in the middle of a text is no reward and is not
    here. A completion that abstains and answers too abstains: hedging never pays.

    With `answerable`, a column of booleans, abstaining where there is no answer is worth `right`,
    and answering there is `wrong`.

    >>> Abstention.at_confidence(0.75)(["It is 4.", "It is 5.", "I don't know."], correct=[1, 0, 0])
    [1.0, -3.0, 0.0]
    """

    right: float = 1.0
    abstain: float = 0.0
    wrong: float = -1.0
    correct: str = "correct"
    """The component or column that says whether the answer is right."""
    answerable: str | None = None
    phrases: tuple[str, ...] = _PHRASES
    """A final part that holds one of these abstains; case and white space do not matter."""

    @classmethod
    def at_confidence(cls, confidence: float) -> Self:
        """Returns the reward under which answering pays from a probability of being right on.

        Right is 1, abstaining 0 and wrong -c / (1 - c): the expectation p - (1 - p) c / (1 - c) of
        an answer is above 0 where p is above c.

        Args:
            confidence: c, in [0, 1).
        """
        check_between(0, 1, confidence=confidence)
        if confidence == 1:
            raise ConfigError("confidence is below 1")
        return cls(wrong=-confidence / (1 - confidence))

    def __post_init__(self) -> None:
        check_finite(right=self.right, abstain=self.abstain, wrong=self.wrong)
        if not self.right >= self.abstain >= self.wrong:
            raise ConfigError("right >= abstain >= wrong does not hold")
        if not self.phrases or not all(self.phrases):
            raise ConfigError("phrases are texts, at least one, none empty")

    @property
    def range(self) -> Range:
        """`wrong` to `right`."""
        return Range(self.wrong, self.right)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    def shape(self, row: Row) -> float | None:
        """Returns one of the three."""
        can = True if self.answerable is None else row.column(self.answerable)
        score = row.score(self.correct) if can else 0.0
        if can is None or score is None:
            return None
        if self.abstains(row.text):
            return self.abstain if can else self.right
        return self.right if score >= 1 else self.wrong

    def abstains(self, text: str) -> bool:
        """Returns whether the final part of a text holds one of the phrases."""
        start, _ = split_reasoning(text)
        final = _SPACE.sub(" ", text[start:].replace("\u2019", "'")).lower()
        return any(phrase.lower() in final for phrase in self.phrases)
