"""What a judge's reply says: one allowed answer for each item, or why it cannot be read.

There is no third way: a reply that is cut, refused, empty, out of the set or of two minds is never
a zero and never a nearest value.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rewardkit.completion import split_reasoning
from rewardkit.verifiers.judge.query import Answers, Query

__all__ = ["PARSER_VERSION", "Reply", "Trouble", "parse_reply"]

PARSER_VERSION = 1
"""Part of the key of every cached reply: a new parser does not take over old verdicts unread."""

_MAX_CHARS = 200_000
_LINE = re.compile(r"[ \t>*_#`]*VERDICT-(?P<nonce>\w+)[ \t]*(?P<item>\w*)[ \t*_]*:(?P<value>.*)")
_FILTERED = ("content_filter", "safety", "refusal", "recitation")
_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "error", "abort", "cancelled")
"""What servers call it when a reply did not end by itself; `10` that is cut reads `1`."""
_MARKS = " \t*_`\"'.。"


class Trouble(StrEnum):
    """Why a reply has no verdict. The list is closed: metrics count by it."""

    EMPTY = "empty"
    CUT = "cut"
    """The reply ends at its token limit, or inside its reasoning or its JSON."""
    REFUSED = "refused"
    NO_VERDICT = "no_verdict"
    TWO_VERDICTS = "two_verdicts"
    OUT_OF_SET = "out_of_set"
    """An answer that is none of the allowed ones, a number outside the scale among them."""
    TOO_LONG = "too_long"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model sent back."""

    text: str
    finish: str = "stop"
    """Why it stopped, as the server says: `stop`, `length`, `content_filter`, …"""
    refusal: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _TwiceError(ValueError):
    """A JSON object says the same key twice."""


def parse_reply(reply: Reply, query: Query, nonce: str) -> Answers | Trouble:
    r"""Returns the answers of a reply, or why it has none.

    The marked lines at the end of a reply are read, and where it ends in none, the JSON object that
    is the whole of it. Of several lines for one item the last counts.

    >>> query = Query("", {}, {"verdict": ("YES", "NO")})
    >>> parse_reply(Reply("VERDICT-ab: NO\nNo, wait.\nVERDICT-ab: YES"), query, "ab")
    {'verdict': 'YES'}
    >>> parse_reply(Reply("VERDICT-ab: YES or NO"), query, "ab")
    <Trouble.TWO_VERDICTS: 'two_verdicts'>
    """
    finish = reply.finish.lower()
    if reply.refusal or finish in _FILTERED:
        return Trouble.REFUSED
    if finish in _CUT:
        return Trouble.CUT
    if not reply.text.strip():
        return Trouble.EMPTY
    if len(reply.text) > _MAX_CHARS:
        return Trouble.TOO_LONG
    start, closed = split_reasoning(reply.text)
    if not closed:
        return Trouble.CUT
    text = reply.text[start:].strip()
    lines = _read_lines(text, query, nonce)
    return _read_json(text, query) if lines is None else lines


def _read_lines(text: str, query: Query, nonce: str) -> Answers | Trouble | None:
    """Returns what the marked lines say; None if the text does not end in one."""
    lines = [_LINE.fullmatch(one.strip()) for one in text.splitlines() if one.strip()]
    if not lines or lines[-1] is None or lines[-1]["nonce"] != nonce:
        return None
    only = next(iter(query.items)) if len(query.items) == 1 else ""
    own = [found for found in lines if found is not None and found["nonce"] == nonce]
    said = {found["item"] or only: found["value"] for found in own}
    return _choose(said, query)


def _read_json(text: str, query: Query) -> Answers | Trouble:
    """Reads a reply that is one JSON object, and nothing beside it.

    An object at the end of prose may be one that the judge quotes.
    """
    fenced = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.S)
    text = fenced[1] if fenced else text
    if not text.startswith("{"):
        return _prose(text)
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
    try:
        found = decoder.decode(text)
    except _TwiceError:
        return Trouble.TWO_VERDICTS
    except (ValueError, RecursionError):
        return Trouble.NO_VERDICT if "}" in text else Trouble.CUT
    return _choose({name: found[name] for name in query.items if name in found}, query)


def _prose(text: str) -> Trouble:
    refusal = re.match(
        r"(?:I'm |I am )?(?:sorry|I can(?:'t|not)|I won't|I am unable)\b", text, re.I
    )
    return Trouble.REFUSED if refusal else Trouble.NO_VERDICT


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _choose(said: Mapping[str, object], query: Query) -> Answers | Trouble:
    answers = {}
    for name, allowed in query.items.items():
        if name not in said:
            return Trouble.NO_VERDICT
        value = said[name]
        if isinstance(value, bool) or not isinstance(value, str | int):
            return Trouble.OUT_OF_SET
        word = str(value).strip(_MARKS).upper()
        known = {one.upper(): one for one in allowed}
        if word not in known:
            spoken = [one for one in known if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", word)]
            return Trouble.TWO_VERDICTS if len(spoken) > 1 else Trouble.OUT_OF_SET
        answers[name] = known[word]
    return answers
