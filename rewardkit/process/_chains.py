"""Chains of equalities in prose: `… so 2 + 3 = 5 = …`, found without a grammar of the prose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Chain", "Member", "find_chains"]

Relation: TypeAlias = Literal["=", "≈"]

_FUNCTIONS = frozenset(
    "sqrt sin cos tan cot sec csc log ln exp pi abs min max gcd lcm mod floor ceil".split()
)
_BREAKING_COMMANDS = frozenset(
    "text textbf textit mbox mathrm boxed implies Rightarrow rightarrow to iff Leftrightarrow quad"
    " qquad le leq ge geq ne neq lt gt approx sim equiv in notin subset cup cap begin end because"
    " therefore Longrightarrow longrightarrow mid parallel perp angle triangle".split()
)
_APPROXIMATE = frozenset(("approx", "sim"))
_OPERATOR_WORDS = frozenset("of times plus minus by over per than multiplied divided from".split())
_SCALE_WORDS = frozenset(
    "hundred thousand million billion trillion dozen dozens percent percentage half halves third"
    " thirds quarter quarters mod modulo times plus minus over to remainder".split()
)
_SPACED_DIGITS = re.compile(r"\d[ \u00a0\u202f]\d{3}(?!\d)")
_ARTICLES = frozenset(("a", "A", "I"))

_TOKEN = re.compile(
    r"(?P<space>\s+|\\[,;:! ]|\\(?:left|right|displaystyle|[()\[\]])(?![A-Za-z])|\$|&|\\\\)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<arrow>=>|==+>|-+>|⇒|→|⟹|==|[!<>:+*/-]=|≠|[<>≤≥])"
    r"|(?P<equal>=)|(?P<near>[≈≃≅])"
    r"|\\(?P<command>[A-Za-z]{1,24})"
    r"|(?P<operator>\*\*|[-+*/^·×÷−–]|[²³⁴⁵⁶⁷⁸⁹⁰¹√½⅓¼¾⅔!%])"
    r"|(?P<word>(?:(?![²³⁴⁵⁶⁷⁸⁹⁰¹½⅓¼¾⅔])[^\W\d_])+(?:['’][^\W\d_]+)*)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|(?P<subscript>_(?:\d+|[A-Za-z]\b|\{[A-Za-z0-9,]{1,12}\}))"
    r"|(?P<other>.)",
    re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Member:
    """One side of an equality."""

    text: str
    start: int
    """First character in the step."""
    end: int
    alone: bool = True
    """False where prose runs into it, so that it may be part of something longer."""


@dataclass(slots=True)
class Chain:
    """Members that are said to be equal: `members[i] relations[i] members[i + 1]`."""

    members: list[Member] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def find_chains(text: str) -> list[Chain]:
    """Returns the chains of equalities of a step, from left to right: two members or more each.

    A member is what reads as an expression between relation signs, words and punctuation.
    """
    tokens = list(_tokens(text))
    chains: list[Chain] = []
    chain, place = Chain(), 0
    while place < len(tokens):
        if tokens[place].kind in ("equal", "near"):
            left = _before(text, tokens, place)
            right, stop = _after(text, tokens, place)
            relation: Relation = "=" if tokens[place].kind == "equal" else "≈"
            joined = bool(chain.members) and chain.members[-1].end == (left.end if left else -1)
            if not joined:
                chain = Chain([left] if left else [])
                chains.append(chain)
            if right is None:
                chain = Chain()
            elif chain.members:
                chain.members.append(right)
                chain.relations.append(relation)
            else:
                chain.members.append(right)
            place = max(stop, place + 1)
        else:
            place += 1
    return [found for found in chains if len(found.members) > 1]


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        kind, value = found.lastgroup or "other", found[0]
        if kind == "word":
            kind = _word_kind(text, found.start(), found.end(), value)
        elif kind == "command":
            name = value[1:]
            kind = "near" if name in _APPROXIMATE else "expression"
            kind = "word" if name in _BREAKING_COMMANDS - _APPROXIMATE else kind
        elif kind in ("number", "operator", "open", "close", "subscript"):
            kind = "expression"
        yield _Token(kind, value, found.start(), found.end())


def _word_kind(text: str, start: int, end: int, word: str) -> str:
    if word in _FUNCTIONS or word == "π":
        return "expression"
    if len(word) > 1 or not word.isascii():
        return "word"
    if word in _ARTICLES and text[end : end + 1] == " " and text[end + 1 : end + 2].isalnum():
        return "word"
    return "expression"


def _before(text: str, tokens: list[_Token], place: int) -> Member | None:
    """Returns the member that ends at a relation sign."""
    first = place
    while first > 0 and tokens[first - 1].kind in ("expression", "space"):
        first -= 1
    start, end = _trim(text, tokens[first].start, tokens[place].start)
    if start == end:
        return None
    start = _after_unmatched(text, start, end)
    end = max(start, end)
    body = text[start:end]
    alone = True
    if first > 0 and tokens[first - 1].kind == "word" and start == _lead(tokens, first):
        word = tokens[first - 1].text.lower()
        bare = re.fullmatch(r"[\d.,%\s]+", body) is not None
        alone = not (bare or word in _OPERATOR_WORDS or body[0] in "+-*/^·×÷−–!%²³)")
    if not body.strip():
        return None
    before = text[max(start - 2, 0) : start]
    clock = before[-1:] == ":" and before[:1].isdigit() and body[0].isdigit()
    alone = alone and not clock and body[0] not in "+*/·×÷" and not _SPACED_DIGITS.search(body)
    return Member(body, start, end, alone)


def _lead(tokens: list[_Token], first: int) -> int:
    while tokens[first].kind == "space":
        first += 1
    return tokens[first].start


def _after(text: str, tokens: list[_Token], place: int) -> tuple[Member | None, int]:
    """Returns the member that begins after a relation sign, and the token that ends it."""
    last = place + 1
    while last < len(tokens) and tokens[last].kind in ("expression", "space"):
        last += 1
    start, end = _trim(text, tokens[place].end, tokens[last - 1].end)
    if start >= end:
        return None, last
    stopped_by = tokens[last].kind if last < len(tokens) else "end"
    if stopped_by not in ("equal", "near"):
        end = _before_unmatched(text, start, end)
        start, end = _trim(text, start, end)
        if start >= end:
            return None, last
    alone = text[end - 1] not in "+-*/^·×÷−–([" and not _SPACED_DIGITS.search(text, start, end)
    alone = alone and not (text[end : end + 1] == ":" and text[end + 1 : end + 2].isdigit())
    if stopped_by == "word" and not text[end : tokens[last].start].strip():
        after = last + 1
        while after < len(tokens) and tokens[after].kind in ("space", "word"):
            after += 1
        following = tokens[after].text if after < len(tokens) else ""
        scaled = tokens[last].text.lower() in _SCALE_WORDS
        alone = alone and not scaled and following[:1] not in tuple("+*/^·×÷")
    return Member(text[start:end], start, end, alone), last


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in "$&"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "$&"):
        end -= 1
    return start, end


def _after_unmatched(text: str, start: int, end: int) -> int:
    """Returns where the text after its last unmatched closing bracket begins."""
    level, begin = 0, start
    for place in range(start, end):
        if text[place] in _OPENING:
            level += 1
        elif text[place] in _CLOSING:
            level -= 1
            if level < 0 and place < end - 1:
                level, begin = 0, place + 1
            level = max(level, 0)
    while begin < end and text[begin].isspace():
        begin += 1
    return begin


def _before_unmatched(text: str, start: int, end: int) -> int:
    """Returns where the text before its first unmatched closing bracket ends."""
    level = 0
    for place in range(start, end):
        if text[place] in _OPENING:
            level += 1
        elif text[place] in _CLOSING:
            level -= 1
            if level < 0:
                return place
    return end
