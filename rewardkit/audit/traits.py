"""What a reward claims of itself, and is held to."""

import re
from dataclasses import dataclass

__all__ = ["Traits", "read_traits"]


@dataclass(frozen=True, slots=True)
class Traits:
    """Claims of a reward. What is None is read from its documentation, or not tested."""

    range: tuple[float, float] | None = None
    """Smallest and largest value."""
    length_neutral: bool | None = None
    """Padding changes nothing. False: length counts on purpose."""
    group: bool | None = None
    """The value may depend on the other rows of the batch."""
    first_answer: bool | None = None
    """The first declared answer counts, not the last."""
    tool_turns: bool | None = None
    """Chats whose last message has no text are read."""


_NUMBER = r"(-?\d+(?:\.\d+)?)"
_RANGE = re.compile(
    rf"\b(?:in|range|within|between|values?|scores?|rewards?|returns?)\b[^.\n\[]{{0,30}}"
    rf"\[\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\]"
    rf"|\b(?:score|reward|value)s?\b[^.\n]{{0,20}}\b(?:between|from)\s+{_NUMBER}\s+(?:and|to)\s+{_NUMBER}(?=\s*(?:[.,;:)]|$))",
    re.I,
)
_ARGUMENTS = re.compile(r"^\s*(?:Args|Arguments|Parameters):?.*?(?=^\s*Returns?:?|\Z)", re.M | re.S)
_LENGTH = re.compile(
    r"length|\blong|short|concise|brev|brief|verbos|overlong|cosine|max_?len|token", re.I
)
_GROUP = re.compile(
    r"\bgroup|relative|divers|novel|major|rank(?:ed|ing)|compar\w+ (?:the )?completions|batch mean|other (?:rows|completions)",
    re.I,
)
_FIRST = re.compile(r"\bfirst\b", re.I)


def read_traits(name: str, documentation: str, given: Traits) -> Traits:
    """Returns the claims: those that are given, else what name and documentation say.

    >>> read_traits("f", "Returns a value in [0, 1].", Traits()).range
    (0.0, 1.0)
    """
    text = f"{name}\n{documentation}"
    bounds = _range(_ARGUMENTS.sub("", documentation))
    return Traits(
        range=given.range or bounds,
        length_neutral=_either(given.length_neutral, False if _LENGTH.search(text) else None),
        group=_either(given.group, True if _GROUP.search(text) else None),
        first_answer=_either(given.first_answer, True if _FIRST.search(documentation) else None),
        tool_turns=given.tool_turns,
    )


def _either(given: bool | None, read: bool | None) -> bool | None:
    return read if given is None else given


def _range(text: str) -> tuple[float, float] | None:
    """Returns the range that a text claims; None where it claims none, or several."""
    found = {tuple(float(n) for n in groups if n) for groups in _RANGE.findall(text)}
    if len(found) != 1:
        return None
    low, high = next(iter(found))
    return (low, high) if low < high else None
