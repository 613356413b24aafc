"""What a row is judged against, and the job that it makes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.completion import Completion, completion_text, split_reasoning
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers.judge.rubric import Rubric

__all__ = ["Job", "JudgeReference", "Subgoal", "read_job", "read_reference"]

_KEYS = ("answer", "choices", "criteria", "guideline", "question", "rival", "subgoals", "wrong")
_QUESTION_COLUMNS = ("question", "problem", "prompt")
_MAX_QUESTION = 20_000
_CHOICE = re.compile(r"[^\W_](?:[\w .-]{0,30}\w)?")


@dataclass(frozen=True, slots=True)
class Subgoal:
    """A part of a task that one skill is for."""

    text: str
    skill: str | None = None
    """The prototype's name; None lets the router find it."""


@dataclass(frozen=True, slots=True)
class JudgeReference:
    """A reference, read. Which of its parts a mode needs, the mode says."""

    answer: str | None = None
    wrong: tuple[str, ...] = ()
    """Answers that look right and are not, for contrastive scoring."""
    rival: str | None = None
    """Another response to the same question, for pairwise comparison."""
    question: str | None = None
    guideline: str | None = None
    """What to heed in this row, in words."""
    rubric: Rubric | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    """Letter -> option."""
    subgoals: tuple[Subgoal, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One response with what it is judged on."""

    response: str
    """The final part of the completion."""
    reasoning: str
    """What stands before it, tags included; empty where there is none."""
    closed: bool
    """False if the reasoning never ends."""
    question: str | None
    reference: JudgeReference


def read_reference(value: Json) -> JudgeReference:
    """Returns a reference: None, an answer, or an object with the keys that the modes read.

    Raises:
        InvalidReferenceError: it is of another shape, or has an unknown key.
    """
    if value is None or value == "":
        return JudgeReference()
    if isinstance(value, str | int | float):
        return JudgeReference(answer=_text("answer", value))
    if not isinstance(value, Mapping):
        raise InvalidReferenceError(
            f"a reference is an answer, or an object with some of {', '.join(_KEYS)}"
        )
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        raise InvalidReferenceError(
            f"a reference has no key {unknown[0]!r}; there are: {', '.join(_KEYS)}"
        )
    texts = {
        name: None if value.get(name) is None else _text(name, value[name])
        for name in ("answer", "rival", "question", "guideline")
    }
    wrong = value.get("wrong") or []
    return JudgeReference(
        **texts,
        wrong=tuple(_text("wrong", one) for one in (wrong if isinstance(wrong, list) else [wrong])),
        rubric=_rubric(value.get("criteria")),
        choices=_choices(value.get("choices")),
        subgoals=_subgoals(value.get("subgoals")),
    )


def read_job(completion: Completion, reference: JudgeReference, context: Mapping[str, Any]) -> Job:
    """Returns what a mode judges: the completion's final part, the question, the reference.

    The question is the reference's own, else the first of the columns `question`, `problem` and
    `prompt` that holds a text or a chat.
    """
    text = completion_text(completion)
    start, closed = split_reasoning(text)
    question = reference.question
    for name in _QUESTION_COLUMNS:
        if question is None and context.get(name) is not None:
            question = _asked(context[name])
    if question is not None:
        question = question[:_MAX_QUESTION]
    choices = context.get("choices")
    if choices and not reference.choices:
        reference = replace(reference, choices=_choices(choices))
    return Job(text[start:].strip(), text[:start], closed, question, reference)


def _asked(value: object) -> str | None:
    """Returns the question that a column holds: of a chat, the last turn of the user."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, list | tuple):
        users = [m for m in value if isinstance(m, Mapping) and m.get("role") == "user"]
        return completion_text(users or list(value)) or None
    return None


def _text(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidReferenceError(f"{name!r} is a text, not {type(value).__name__}")
    text = str(value).strip()
    if not text:
        raise InvalidReferenceError(f"{name!r} is empty")
    return text


def _rubric(value: Json) -> Rubric | None:
    if value is None:
        return None
    try:
        return Rubric.from_json(value)
    except ConfigError as error:
        raise InvalidReferenceError(f"'criteria': {error}") from None


def _choices(value: object) -> dict[str, str]:
    if not value:
        return {}
    if isinstance(value, Mapping):
        for key in map(str, value):
            # A key becomes an allowed answer, which stands among the instructions.
            if not _CHOICE.fullmatch(key) or key.upper() == "NONE":
                raise InvalidReferenceError(
                    f"a key of 'choices' is a letter or a short word other than NONE, not {key!r}"
                )
        if len({str(key).upper() for key in value}) < len(value):
            raise InvalidReferenceError("two keys of 'choices' differ only in case, or not at all")
        return {str(key): _text("choices", one) for key, one in value.items()}
    if isinstance(value, list | tuple) and len(value) <= 26:
        return {chr(65 + i): _text("choices", one) for i, one in enumerate(value)}
    raise InvalidReferenceError("'choices' is an object letter -> option, or a list of options")


def _subgoals(value: Json) -> tuple[Subgoal, ...]:
    if not value:
        return ()
    if not isinstance(value, list):
        raise InvalidReferenceError("'subgoals' is a list of texts or of {subgoal, skill} objects")
    found = []
    for one in value:
        if isinstance(one, Mapping):
            skill = one.get("skill")
            named = None if skill is None else _text("skill", skill)
            found.append(Subgoal(_text("subgoal", one.get("subgoal")), named))
        else:
            found.append(Subgoal(_text("subgoal", one)))
    return tuple(found)
