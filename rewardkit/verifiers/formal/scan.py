"""Reads program text as its checker does, as far as comments and strings go."""

import re
from dataclasses import dataclass

__all__ = ["DAFNY", "LEAN", "ROCQ", "Code", "Dialect", "read_code"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a language spells comments and strings."""

    line: str
    """What begins a comment to the end of the line; empty for none."""
    opening: str
    closing: str
    nested: bool
    """Block comments nest."""
    raw_strings: bool = False
    """`r"…"` and `r#"…"#` are strings without escapes."""
    escapes: bool = True
    """A backslash escapes in strings; else a doubled quote does."""
    strings_in_comments: bool = False
    """Strings are read inside block comments, too."""
    characters: bool = False
    """`'x'` is a character."""


LEAN = Dialect("--", "/-", "-/", nested=True, raw_strings=True, characters=True)
DAFNY = Dialect("//", "/*", "*/", nested=True, characters=True)
ROCQ = Dialect("", "(*", "*)", nested=True, escapes=False, strings_in_comments=True)


@dataclass(frozen=True, slots=True)
class Code:
    """A text, and its copy of the same length in which comments and strings are blank."""

    text: str
    bare: str
    """Comments are spaces; a string keeps its quotes and loses its content."""
    strings: tuple[str, ...]
    """The contents of the strings, as written."""
    closed: bool
    """False if the text ends inside a comment or a string."""

    def lines(self) -> list[tuple[int, str]]:
        """Returns (place, bare text) of every line."""
        found, place = [], 0
        for line in self.bare.split("\n"):
            found.append((place, line))
            place += len(line) + 1
        return found


_CHARACTER = re.compile(r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'")
_RAW = re.compile(r'r(#*)"')


def read_code(text: str, dialect: Dialect) -> Code:
    r"""Returns a text with its comments and strings told apart.

    >>> read_code('a -- b\n/- c /- d -/ -/ "e" f', LEAN).bare
    'a     \n                " " f'
    """
    bare: list[str] = []
    strings: list[str] = []
    at, closed = 0, True
    while at < len(text):
        end, content = _token(text, at, dialect)
        if end < 0:
            closed = False
            bare.append(_blank(text[at:]))
            break
        if content is None:
            bare.append(text[at:end])
        elif content.startswith('"'):
            strings.append(content[1:])
            quotes = (text.index('"', at) - at, text.rindex('"', at, end) - at)
            inside = _blank(text[at:end])
            bare.append("".join('"' if i in quotes else c for i, c in enumerate(inside)))
        else:
            bare.append(_blank(text[at:end]))
        at = end
    return Code(text, "".join(bare), tuple(strings), closed)


def _token(text: str, at: int, dialect: Dialect) -> tuple[int, str | None]:
    """Returns where the token ends (-1: never) and its content; None for plain text."""
    if dialect.line and text.startswith(dialect.line, at):
        end = text.find("\n", at)
        return (len(text) if end < 0 else end), ""
    if text.startswith(dialect.opening, at):
        return _block(text, at, dialect), ""
    previous = text[at - 1] if at else " "
    in_word = previous.isalnum() or previous in "_'!?"
    if dialect.raw_strings and text[at] == "r" and not in_word:
        raw = _RAW.match(text, at)
        if raw is not None:
            end = text.find('"' + raw[1], raw.end())
            done = end + 1 + len(raw[1]) if end >= 0 else -1
            return done, '"' + text[raw.end() : end]
    if text[at] == '"':
        end = _string(text, at, dialect)
        return end, '"' + text[at + 1 : end - 1]
    if dialect.characters and text[at] == "'" and not in_word:
        character = _CHARACTER.match(text, at)
        if character is not None:
            return character.end(), ""
    return at + 1, None


def _block(text: str, at: int, dialect: Dialect) -> int:
    depth, at = 1, at + len(dialect.opening)
    while at < len(text):
        if text.startswith(dialect.closing, at):
            depth -= 1
            at += len(dialect.closing)
            if depth == 0:
                return at
        elif dialect.nested and text.startswith(dialect.opening, at):
            depth += 1
            at += len(dialect.opening)
        elif dialect.strings_in_comments and text[at] == '"':
            at = _string(text, at, dialect)
            if at < 0:
                return -1
        else:
            at += 1
    return -1


def _string(text: str, at: int, dialect: Dialect) -> int:
    at += 1
    while at < len(text):
        if dialect.escapes and text[at] == "\\":
            at += 2
        elif text[at] == '"':
            if not dialect.escapes and text.startswith('""', at):
                at += 2
                continue
            return at + 1
        else:
            at += 1
    return -1


def _blank(text: str) -> str:
    return "".join(c if c == "\n" else " " for c in text)
