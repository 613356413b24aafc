"""Which options a text commits to."""

import itertools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from rewardkit._answer_hedges import is_corrected
from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.completion import split_reasoning
from rewardkit.verdict import Reason

__all__ = ["Chosen", "normalise_option", "read_choice"]

_POLICY = AnswerPolicy()
_LEAD = re.compile(
    r"[\s*_`$({\[\"']*(?:\\(?:text|mathrm|textbf|mathbf)\{)?"
    r"(?:(?:so|therefore|thus|hence)\b,?\s+)?"
    r"(?:(?:it is|it's|it must be|i (?:choose|pick|select|go with)|"
    r"i(?:'d| would) (?:say|pick))\s+)?"
    r"(?:(?:the |my )?(?:correct |right |final |best )?"
    r"(?:answer|option|choice|label)\s*(?:is)?\s*:?\s*)?[\s*_`$({\[\"']*",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"(?:is|must be)\s+(?:the\s+)?(?:right|correct|best|true)(?:\s+(?:answer|option|choice|one))?",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:answer|option|choice|label)\s+(?:is|should be|must be)\s*:?\s*(?=(.{1,80}))",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\\[^\W\d_](?![^\W_])|[-+]?\d+(?:[.,]\d+)*|[^\W_]+|[<>=±%°]")
"""A command of one letter is no letter: `\\d` of a pattern is not option D."""
_END = " \t\n*_`$(){}[]\"'.,:;!。"
_JOIN = re.compile(r"\s*(?:,|;|&|\band\b|\+|/)\s*", re.IGNORECASE)
_MAX_SPAN = 2_000
_MAX_WHOLE = 400
_MAX_PROSE = 20_000


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options of one commitment."""

    chosen: tuple[str, ...] = ()
    """Keys of the options, in the order of the text."""
    span: str | None = None
    """What was read."""
    reason: Reason | None = None
    """Why nothing is chosen."""
    detail: str = ""


def normalise_option(text: str) -> str:
    """Returns an option's words in lower case, without marks around and between them.

    >>> normalise_option(" **The  Eiffel-Tower**. ")
    'the eiffel tower'
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORDS.findall(plain))


def read_choice(text: str, choices: Mapping[str, str], *, several: bool = False) -> Chosen:
    """Returns the options that a text commits to.

    A commitment is what `extract_answer` finds (a box, an answer tag, an answer line, "the answer
    is …"), else the whole of a short text. It names an option by its key, by its text, or by both;
    where the two name different options, it is none.

    >>> read_choice("So the answer is (B).", {"A": "Oslo", "B": "Riga"}).chosen
    ('B',)
    >>> read_choice("B. Oslo", {"A": "Oslo", "B": "Riga"}).reason
    <Reason.AMBIGUOUS: 'ambiguous'>

    Args:
        text: a completion's text.
        choices: key -> option.
        several: several options joined by commas or "and" are one commitment.
    """
    found = extract_answer(text, _POLICY)
    start, closed = split_reasoning(text)
    whole = text[start:].strip()
    if found.text is not None:
        span = found.text
    elif found.reason is Reason.NO_ANSWER and closed and 0 < len(whole) <= _MAX_WHOLE:
        span = whole
    else:
        return Chosen(reason=found.reason or Reason.NO_ANSWER, detail=found.detail)
    if _says_otherwise(whole, choices):
        return Chosen(span=span, reason=Reason.AMBIGUOUS, detail="two answers in words")
    if len(span) > _MAX_SPAN:
        return Chosen(span=span[:_MAX_SPAN], reason=Reason.SIZE_LIMIT, detail="a long answer")
    one = _match(span, choices)
    if one.reason is None or not several:
        return one
    parts = [_match(part, choices) for part in _JOIN.split(span) if part.strip(_END)]
    if not parts or any(len(part.chosen) != 1 for part in parts):
        return one
    return Chosen(tuple(dict.fromkeys(part.chosen[0] for part in parts)), span)


def _says_otherwise(text: str, choices: Mapping[str, str]) -> bool:
    """Returns whether "the answer is …" stands there with two options, and nothing corrects it."""
    said: list[tuple[int, str]] = []
    for found in _SAID.finditer(text[-_MAX_PROSE:]):
        key = re.match(r"[\s*_`$({\[\"']*(\w+)", found[1])
        clause = re.split(r"[.;\n]", found[1])[0]
        words = f"{normalise_option(clause)} "
        for name, option in choices.items():
            is_key = key is not None and key[1] == name
            if is_key or words.startswith(f"{normalise_option(option)} "):
                said.append((found.start(), name))
                break
    return any(
        one != other and not is_corrected(text[-_MAX_PROSE:][start:end])
        for (start, one), (end, other) in itertools.pairwise(said)
    )


def _match(span: str, choices: Mapping[str, str]) -> Chosen:
    """Returns the one option that a span names."""
    words = normalise_option(span)
    by_text = [key for key, option in choices.items() if normalise_option(option) == words]
    if len(by_text) == 1:
        return Chosen((by_text[0],), span)
    lead = _LEAD.match(span)
    rest = span[lead.end() :] if lead else span
    for key in sorted(choices, key=len, reverse=True):
        if rest[: len(key)].casefold() != key.casefold() or _goes_on(rest, len(key)):
            continue
        after = rest[len(key) :].strip(_END + "-–—=")
        if len(key) == 1 and rest[0].islower() and after:
            continue  # "a city" is prose, not option A
        if not after or _PRAISE.fullmatch(after):
            return Chosen((key,), span)
        return _agree(key, after, span, choices)
    bare = normalise_option(rest.strip(_END))
    by_text = [key for key, option in choices.items() if normalise_option(option) == bare]
    if len(by_text) == 1:
        return Chosen((by_text[0],), span)
    named = [key for key, option in choices.items() if _holds(words, normalise_option(option))]
    reason = Reason.AMBIGUOUS if len(named) > 1 else Reason.NO_ANSWER
    detail = "several options" if len(named) > 1 else "prose, no commitment to an option"
    return Chosen(span=span, reason=reason, detail=detail)


def _agree(key: str, after: str, span: str, choices: Mapping[str, str]) -> Chosen:
    """Returns the option of a key that is followed by a text: the two must be of one option."""
    own = normalise_option(choices[key])
    words = normalise_option(after)
    if words == own or (own and words.startswith(f"{own} ") and not _others(words, key, choices)):
        return Chosen((key,), span)
    if len(words.split()) > 3 and not _others(f" {words} ", key, choices):
        return Chosen((key,), span)  # a letter and why
    return Chosen(span=span, reason=Reason.AMBIGUOUS, detail=f"{key} with another text")


def _others(words: str, key: str, choices: Mapping[str, str]) -> list[str]:
    """Returns the other options that a text names, by their texts or by their keys."""
    spoken = set(words.split())
    return [
        other
        for other, option in choices.items()
        if other != key
        and (
            _holds(words, normalise_option(option))
            or (other.casefold() in spoken and other.casefold() not in ("a", "i"))
        )
    ]


def _goes_on(text: str, at: int) -> bool:
    return at < len(text) and (text[at].isalnum() or text[at] == "_")


def _holds(words: str, option: str) -> bool:
    return bool(option) and f" {option} " in f" {words} "
