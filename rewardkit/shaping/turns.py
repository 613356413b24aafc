"""Rewards for what happens between turns: how many tools are called, and whether one asks first."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardkit.completion import completion_text
from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_finite
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["ClarifyPause", "ToolTurns", "assistant_texts"]


def assistant_texts(row: Row) -> list[str]:
    """Returns what the model wrote in each of its turns; a string is one turn.

    Anything else that may stand in a chat is left out; nothing raises.
    """
    completion = row.completion
    if isinstance(completion, str) or not isinstance(completion, Sequence):
        return [completion_text(completion)]
    return [
        completion_text([message])
        for message in completion
        if isinstance(message, Mapping) and message.get("role") == "assistant"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTurns(CompletionShaper):
    """A Gaussian over the number of tool calls: exp(-(n - mean)^2 / (2 deviation^2)).

    1 at `mean`; rises up to it and falls after it. With `wrong_mean` or `wrong_deviation` a wrong
    answer has a curve of its own, as wide as is wanted where it should have searched on.

    DR-MMSearchAgent (arXiv:2604.19264) calibrates the tolerance for turns by "differentiated
    Gaussian rewards"; its equation could not be read. That right and wrong answers differ is our
    reading, and the means and deviations are yours to choose.

    In a chat a call is an entry of a message's `tool_calls`, or the text `mark`; in a string it is
    `mark`. A model that writes `mark` without a call is counted: gate this by the answer.

    >>> ToolTurns(mean=1, deviation=1.0)(["<tool_call>…", "4"])
    [1.0, 0.6065306597126334]
    """

    mean: float
    deviation: float
    correct: str = "correct"
    """Read only if one of the next two is given."""
    wrong_mean: float | None = None
    wrong_deviation: float | None = None
    mark: str = "<tool_call>"

    def __post_init__(self) -> None:
        check_finite(mean=self.mean, deviation=self.deviation)
        for value in (self.wrong_mean, self.wrong_deviation):
            if value is not None:
                check_finite(wrong=value)
        if self.deviation <= 0 or (self.wrong_deviation or 1) <= 0:
            raise ConfigError("a deviation is above 0")
        if not self.mark:
            raise ConfigError("mark is not empty")

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score, if right and wrong answers differ."""
        return (self.correct,) if self._differs else ()

    @property
    def _differs(self) -> bool:
        return self.wrong_mean is not None or self.wrong_deviation is not None

    def calls(self, row: Row) -> int:
        """Returns how many tools a completion calls."""
        count = sum(text.count(self.mark) for text in assistant_texts(row))
        if isinstance(row.completion, str) or not isinstance(row.completion, Sequence):
            return count
        for message in row.completion:
            listed = message.get("tool_calls") if isinstance(message, Mapping) else None
            count += len(listed) if isinstance(listed, list | tuple) else 0
        return count

    def shape(self, row: Row) -> float | None:
        """Returns the value of the number of calls."""
        mean, deviation = self.mean, self.deviation
        if self._differs:
            score = row.score(self.correct)
            if score is None:
                return None
            if score < 1:
                mean = mean if self.wrong_mean is None else self.wrong_mean
                deviation = self.wrong_deviation or deviation
        return math.exp(-(((self.calls(row) - mean) / deviation) ** 2) / 2)


_ASKS = ("[missing premise detected]", "insufficient information", "not enough information")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarifyPause(CompletionShaper):
    """Ask where a premise is missing, do not ask where none is, and solve it afterwards.

    Over the turns of a chat, with t the turn (from 1) that first asks, r the score of the answer, E
    different texts among the T turns that answer:

    - a premise is missing, and a turn asks: ask_weight * decay^(t-1) + (1 - ask_weight) * r -
      repeat * (1 - E/T); if a later turn asks again, the second term is -(1 - ask_weight) *
      ask_again, and the third is left out;
    - a premise is missing, and no turn asks: -unasked;
    - none is missing, and a turn asks: -needless;
    - none is missing, and no turn asks: r - repeat * (1 - E/T).

    The numbers are those of the environment that the authors of GRIL (arXiv:2604.19656) published;
    its first stage also ends at a limit of turns, which is your environment's here. Never falls
    with r, never rises with t.

    >>> shaper = ClarifyPause()
    >>> asks, solves = [
    ...     {"role": "assistant", "content": c} for c in ("Not enough information", "4")
    ... ]
    >>> shaper([[asks, solves], [solves]], premise_missing=[True, True], correct=[1.0, 1.0])
    [1.0, -1.0]
    """

    missing: str = "premise_missing"
    """The column that says whether a premise is missing: true or false."""
    correct: str = "correct"
    """The component or column with the score of the answer."""
    asks: tuple[str, ...] = _ASKS
    """A turn that holds one of these asks; case does not matter."""
    ask_weight: float = 0.3
    decay: float = 0.3
    ask_again: float = 2.0
    unasked: float = 1.0
    needless: float = 1.0
    repeat: float = 0.5

    def __post_init__(self) -> None:
        if not self.asks or not all(self.asks):
            raise ConfigError("asks are texts, at least one, none empty")
        check_between(0, 1, ask_weight=self.ask_weight, decay=self.decay)
        check_between(
            0,
            1e6,
            ask_again=self.ask_again,
            unasked=self.unasked,
            needless=self.needless,
            repeat=self.repeat,
        )

    @property
    def range(self) -> Range:
        """From the dearest mistake to 1."""
        again = (1 - self.ask_weight) * self.ask_again
        return Range(-max(again, self.unasked, self.needless, self.repeat), 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The score."""
        return (self.correct,)

    def shape(self, row: Row) -> float | None:
        """Returns the value of a whole exchange."""
        missing, score = row.column(self.missing), row.score(self.correct)
        if missing is None or score is None:
            return None
        turns = assistant_texts(row)
        asking = [place for place, text in enumerate(turns) if self._asks(text)]
        if not missing:
            return -self.needless if asking else score - self._repeated(turns)
        if not asking:
            return -self.unasked
        found = self.ask_weight * self.decay ** asking[0]
        if len(asking) > 1:
            return found - (1 - self.ask_weight) * self.ask_again
        answers = turns[asking[0] + 1 :]
        solved = score if answers else 0.0
        return found + (1 - self.ask_weight) * solved - self._repeated(answers)

    def _asks(self, text: str) -> bool:
        lowered = text.lower()
        return any(mark.lower() in lowered for mark in self.asks)

    def _repeated(self, answers: list[str]) -> float:
        different = {re.sub(r"\s+", "", text.lower()) for text in answers}
        return self.repeat * (1 - len(different) / len(answers)) if answers else 0.0
