"""The one result type: what a verifier says about a completion, and why."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self, TypeAlias

from rewardkit.errors import ConfigError

__all__ = ["Json", "Reason", "StepVerdict", "Verdict"]

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
"""Plain JSON data: what a dataset column can hold."""


class Reason(StrEnum):
    """Why a verdict is what it is. The list is closed: metrics and policies may switch on it."""

    MATCH = "match"
    """The answer agrees with the reference."""
    PARTIAL = "partial"
    """Some of what was asked holds: a score strictly between 0 and 1."""
    MISMATCH = "mismatch"
    """The answer was read and is not the reference."""
    NO_ANSWER = "no_answer"
    """Nothing in the completion commits to an answer."""
    AMBIGUOUS = "ambiguous"
    """Several different final answers, where one was asked for."""
    TRUNCATED = "truncated"
    """The completion stops inside its reasoning or inside its answer."""
    UNPARSABLE = "unparsable"
    """An answer was found and cannot be read."""
    UNEVALUATED = "unevaluated"
    """The answer restates the task instead of solving it."""
    TIMEOUT = "timeout"
    """The time limit ran out."""
    MEMORY = "memory"
    """The memory limit was reached."""
    OUTPUT_LIMIT = "output_limit"
    """More output than the limit allows."""
    SIZE_LIMIT = "size_limit"
    """The answer is larger, deeper or costlier than the documented limits."""
    CRASH = "crash"
    """The submitted program died."""
    FORBIDDEN = "forbidden"
    """The submission uses something that its policy does not allow."""
    CHEATED = "cheated"
    """The submission tried to pass without doing the work."""
    UNPROVED = "unproved"
    """Neither shown right nor shown wrong."""
    ENGINE_MISSING = "engine_missing"
    """The engine that would decide is not installed: an abstention."""
    ENGINE_FAILURE = "engine_failure"
    """The engine that would decide broke: an abstention."""


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """The verdict on one step of a completion."""

    start: int
    """First character of the step in the completion's text."""
    end: int
    """One past the last character of the step."""
    score: float | None
    """In [0, 1], or None for an abstention."""
    reason: Reason
    detail: str = ""
    """One line for a person."""

    def __post_init__(self) -> None:
        _check("step's", self.score, self.reason)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a completion is worth, why, and what was graded.

    `score` is in [0, 1]. None means that the verifier abstains: it could not decide, which is not
    the same as wrong, and it stays None up to the trainer, where it is masked.

    >>> Verdict(1.0, Reason.MATCH, answer="42").passed
    True
    >>> Verdict.from_json(Verdict(None, Reason.TIMEOUT).to_json()).score is None
    True
    """

    score: float | None
    reason: Reason
    answer: str | None = None
    """The span that was graded, as the completion spells it."""
    detail: str = ""
    """One line for a person; it begins with the tier that decided."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Partial credit by name: tests passed, syntax, structure, …"""
    steps: tuple[StepVerdict, ...] = ()
    """For process rewards: one entry a step, in order."""
    evidence: Mapping[str, Json] = field(default_factory=dict)
    """What a program may want to read of the why: tier, witness, signals, isolation, usage."""
    seconds: float = 0.0
    """Wall time spent on this verdict."""

    def __post_init__(self) -> None:
        _check("verdict's", self.score, self.reason)

    @property
    def passed(self) -> bool:
        """True if the score is exactly 1."""
        return self.score == 1.0

    @property
    def abstained(self) -> bool:
        """True if the verifier could not decide."""
        return self.score is None

    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict as plain JSON data; `from_dict` reads it back."""
        return {
            "score": self.score,
            "reason": self.reason.value,
            "answer": self.answer,
            "detail": self.detail,
            "parts": dict(self.parts),
            "steps": [
                {
                    "start": s.start,
                    "end": s.end,
                    "score": s.score,
                    "reason": s.reason.value,
                    "detail": s.detail,
                }
                for s in self.steps
            ],
            "evidence": dict(self.evidence),
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Returns the verdict that `to_dict` wrote. Missing optional fields take their defaults.

        Raises:
            KeyError: the score or the reason of the verdict or of a step is missing.
            ValueError: a reason is not in the list, or a score outside [0, 1].
        """
        return cls(
            score=data["score"],
            reason=Reason(data["reason"]),
            answer=data.get("answer"),
            detail=data.get("detail", ""),
            parts=dict(data.get("parts") or {}),
            steps=tuple(
                StepVerdict(
                    s["start"], s["end"], s["score"], Reason(s["reason"]), s.get("detail", "")
                )
                for s in data.get("steps") or ()
            ),
            evidence=dict(data.get("evidence") or {}),
            seconds=data.get("seconds", 0.0),
        )

    def to_json(self) -> str:
        """Returns one line of JSON. Lone surrogates are escaped, so the line is valid UTF-8.

        Two surrogates that make a pair are read back as the character that the pair spells: JSON
        has one spelling for both.
        """
        return json.dumps(self.to_dict(), ensure_ascii=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Returns the verdict that `to_json` wrote.

        Raises:
            KeyError: the score or the reason is missing.
            ValueError: the text is not JSON, or a value is outside its range.
        """
        return cls.from_dict(json.loads(text))


def _check(whose: str, score: float | None, reason: Reason) -> None:
    try:
        in_range = score is None or 0.0 <= score <= 1.0
    except TypeError:
        in_range = False
    if not in_range:
        raise ConfigError(f"a {whose} score is in [0, 1] or None, not {score!r}")
    if not isinstance(reason, Reason):
        raise ConfigError(f"a {whose} reason is one of Reason, as in Reason.MATCH, not {reason!r}")
