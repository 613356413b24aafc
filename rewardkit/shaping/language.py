"""Is a completion written in the script of its language?"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from rewardkit.completion import split_reasoning
from rewardkit.errors import ConfigError
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["LanguageConsistency", "script_of"]

_SCRIPTS = {
    "LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "BENGALI", "TAMIL", "TELUGU",
    "THAI", "HANGUL", "HIRAGANA", "KATAKANA", "CJK", "GEORGIAN", "ARMENIAN", "ETHIOPIC", "KHMER",
    "LAO", "MYANMAR", "GUJARATI", "GURMUKHI", "KANNADA", "MALAYALAM", "SINHALA", "TIBETAN",
}  # fmt: skip
_TAG = re.compile(r"</?[a-z_][\w-]{0,30}>", re.ASCII | re.IGNORECASE)
_WIDE = ("FULLWIDTH ", "HALFWIDTH ")


def script_of(letter: str) -> str:
    """Returns the script of a letter as Unicode's name of it has it, or the empty string.

    >>> script_of("a"), script_of("я"), script_of("字"), script_of("7")
    ('LATIN', 'CYRILLIC', 'CJK', '')
    """
    if not unicodedata.category(letter).startswith("L"):
        return ""
    name = unicodedata.name(letter, "")
    for prefix in _WIDE:
        name = name.removeprefix(prefix)
    return name.partition(" ")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageConsistency(CompletionShaper):
    """The share of letters in the given scripts; 1 for a text without letters.

    DeepSeek-R1 (arXiv:2501.12948, section 2.3.2) rewards the share of words in the target language.
    Languages are told apart here by their script alone, which needs no model and no dictionary: it
    finds Chinese in an English text, and cannot tell French from English. Formulas and code are
    Latin letters too: allow `LATIN` beside another script where they are expected. Tags such as
    `<think>` do not count. Never falls when a letter of an allowed script is added, never rises
    when one of another script is.

    >>> LanguageConsistency(scripts=("LATIN",))(["so it is 4", "so 是 4"])
    [1.0, 0.6666666666666666]
    """

    scripts: tuple[str, ...]
    """Unicode's names: `LATIN`, `CYRILLIC`, `CJK`, `HANGUL`, `DEVANAGARI` and others."""
    part: Literal["text", "reasoning", "final"] = "text"
    """What counts: all, what comes before the final part, or that."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.scripts if name not in _SCRIPTS]
        if not self.scripts or unknown:
            raise ConfigError(f"scripts are of {', '.join(sorted(_SCRIPTS))}; not {self.scripts!r}")
        if self.part not in ("text", "reasoning", "final"):
            raise ConfigError(f"part is 'text', 'reasoning' or 'final', not {self.part!r}")

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns the share."""
        text = row.text
        if self.part != "text":
            start, _ = split_reasoning(text)
            text = text[start:] if self.part == "final" else text[:start]
        # A text has few different characters, so each is looked up once.
        letters = Counter[str]()
        for character, count in Counter(_TAG.sub("", text)).items():
            letters[script_of(character)] += count
        del letters[""]
        total = letters.total()
        return sum(letters[name] for name in self.scripts) / total if total else 1.0
