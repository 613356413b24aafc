"""Makes characters visible that hide, reorder or control text: what a model can use to deceive."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Piece", "split_visible", "visible_text"]

# Controls but tab and newline; soft hyphen; zero-width, bidi and invisible operators; fillers;
# annotation marks; lone surrogates; variation-selector and tag planes.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of plain text, or one hidden character."""

    text: str
    name: str = ""
    """For a hidden character its name, as a person should read it; else empty."""

    @property
    def code(self) -> str:
        """The code point of a hidden character: `U+202E`."""
        return f"U+{ord(self.text):04X}"


def split_visible(text: str) -> Iterator[Piece]:
    r"""Yields the text in pieces; each hidden character is a piece of its own.

    >>> [piece.name or piece.text for piece in split_visible("a\u202eb")]
    ['a', 'RIGHT-TO-LEFT OVERRIDE', 'b']
    """
    at = 0
    for match in _HIDDEN.finditer(text):
        if match.start() > at:
            yield Piece(text[at : match.start()])
        yield Piece(match[0], _name(match[0]))
        at = match.end()
    if at < len(text):
        yield Piece(text[at:])


def visible_text(text: str) -> str:
    r"""Returns the text with each hidden character as its code point, so that it is safe to print.

    >>> visible_text("4\x1b[2J\ud800")
    '4<U+001B>[2J<U+D800>'
    """
    return "".join(f"<{p.code}>" if p.name else p.text for p in split_visible(text))


def _name(character: str) -> str:
    if 0xD800 <= ord(character) <= 0xDFFF:
        return "lone surrogate"
    return unicodedata.name(character, "control character")
