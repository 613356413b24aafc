"""From text to tokens, in one pass: LaTeX, plain text and Unicode share one token stream."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from rewardkit._braces import matching_brace
from rewardkit.verifiers.math._limits import MAX_TOKENS, NotMathError, TooLargeError
from rewardkit.verifiers.math._nodes import BaseNum, Call, Neg, Node, Num
from rewardkit.verifiers.math._symbols import (
    COMMAND_ALIASES,
    DROPPED_COMMANDS,
    FONT_COMMANDS,
    clean_characters,
)
from rewardkit.verifiers.math._units import is_unit_letter

__all__ = ["Reading", "Token", "clean", "read_decimal", "single_spaces", "tokenize"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How ambiguous number text is taken."""

    grouped: bool = True
    """`1,234` is one number (else a list of 1 and 234)."""
    decimal_comma: bool = False
    """`3,5` is 3.5 and `1.234` is 1234."""
    scientific: bool = True
    """`2e-5` is 0.00002 (else Euler's number doubled, less 5)."""


class Token(NamedTuple):
    kind: str
    """num, word, prose, cmd, op, begin, end_env or end."""
    value: str
    spaced: bool
    """True if white space stands before it."""
    node: Node | None = None
    """The number, for kind num."""


_COLOR = re.compile(
    r"\\(?:text)?color(?:box)?\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}|\\(?:label|tag)\*?\s*\{[^{}]*\}"
)
_WIDTH = re.compile(r"\\(?:[hv]space|[hv]?phantom|mspace)\*?\s*\{[^{}]*\}")
"""Room of a given width: white space, as `\\quad` is."""
_TEXT_DIGITS = re.compile(r"\\(?:text|mathrm)\s*\{\s*([0-9A-Za-z]+)\s*\}(?=\s*_)")
_BASE_WORDS_AFTER = re.compile(
    r"^\(?([0-9A-Fa-f]+)\)?\s*(?:\\text\s*\{)?\s*,?\s*\(?(?:in\s+)?base[\s}-]*(\d{1,2}|[a-z]+)[\s)}]*\.?$",
    re.IGNORECASE,
)
_BASE_INDEX = re.compile(
    r"_\s*\{\s*(?:\\(?:text|mathrm|rm)\s*\{?\s*)?base[\s~-]*\}?\s*(?:\\text\s*\{)?\s*(\d{1,2}|[a-z]+)\s*\}?\s*\}"
)
_APPROX_ASIDE = re.compile(
    r"\s*(?:\\left|\\text\s*\{\s*(?=[^{}]*\}\s*$))?[(\[]\s*\\approx\s*([^()\[\]{}]{1,60}?)\s*"
    r"(?:\\right)?[)\]]\s*\}?\s*$"
)
"""`(≈ 6.28)` behind a value."""
_APPROX_WORDS = re.compile(
    r"\\text\s*\{\s*,?\s*or\s+(?:approximately|about|roughly)\s*\}"
    r"|(?<=\()\s*(?:or\s+)?approximately\b\s*\}?"
    r"|\\text\s*\{\s*(?=\(\s*(?:or\s+)?approximately\s*\})"
)
_ROUNDING = re.compile(
    r"\\text\s*\{[\s,]*\(?\s*(?:rounded\s+|correct\s+)?to\s+(?:the\s+nearest\s+[a-z ]{2,20}|"
    r"(?:\d|one|two|three|four|five)\s+(?:decimal\s+places?|d\.?\s?p\.?|significant\s+(?:figures?|digits?)))"
    r"\s*\)?\s*\}\s*$",
    re.IGNORECASE,
)
_LONE_BRACKET = re.compile(r"\\text\s*\{\s*([()])\s*\}")
_UPRIGHT_E = re.compile(r"(?<=\d)\\(?:mathrm|text)\{[eE]\}(?=[+-]?\d)")
_SPACE_RUN = re.compile(r"\s{2,}")
_DOUBLED = re.compile(r"(?<!\\)\\{2,}(?=[A-Za-z])")
_DECIMAL_BRACE_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d{3}(?!\d))")
_THIN_GROUP = re.compile(r"(?<=\d)(?:\\[,;: ]|~)(?=\d{3}(?!\d))")
_LETTER_TIMES = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_DOLLAR = re.compile(r"(?<!\\)\$")
_WORDS_INSIDE = re.compile(r"(?<![\\A-Za-z{])[a-z]{3,}\b(?!\s*\()|^\s|\s$")
_WRAPPERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
_WRAPPER_STARTS = ("$", "\\", "*", "_", "`")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")


def single_spaces(text: str) -> str:
    """Returns the text with its runs of white space as one space.

    Two parts of a pattern that both take white space are quadratic in a run, three are cubic.
    """
    return _SPACE_RUN.sub(" ", text)


def clean(text: str) -> str:
    r"""Returns the text of one answer in the lexer's alphabet, without math delimiters around it.

    >>> clean("$$\\boxed{12{,}500}$$")
    '12,500'
    """
    text = single_spaces(clean_characters(text))
    if "\\" in text:
        if "\\\\" in text and "\\begin" not in text:
            text = _DOUBLED.sub(r"\\", text)
        text = _UPRIGHT_E.sub("e", text.replace("\\text{,}", "{,}"))
        if any(name in text for name in ("color", "\\label", "\\tag")):
            text = _COLOR.sub("", text)
        if any(name in text for name in ("space", "phantom")):
            text = _WIDTH.sub(" ", text)
        text = _TEXT_DIGITS.sub(r"\1", text.replace("\\!", ""))
    if "\\" in text or "~" in text:
        text = _THIN_GROUP.sub(" ", text)
    if "10" in text and ("x" in text or "X" in text):
        text = _LETTER_TIMES.sub("\\\\times ", text)
    if "{:}" in text:
        text = text.replace("{:}", ":")
    if "{,}" in text:
        text = _DECIMAL_BRACE_COMMA.sub(",", text).replace("{,}", ".")
    text = _unwrap(text.strip())
    if "$" in text:
        text = _without_inner_dollars(text)
    if text.endswith("\\") and not text.endswith("\\\\"):
        text = text[:-1].rstrip()
    if "approx" in text or "\\text" in text:
        text = _without_remarks(text)
    if "per cent" in text:
        text = text.replace("per cent", "percent")
    if "base" in text:
        text = _BASE_WORDS_AFTER.sub(r"(\1)_{\2}", _BASE_INDEX.sub(r"_{\1}", text))
    return text


def _without_remarks(text: str) -> str:
    """Returns the text with `(≈ 6.28)` and `or approximately 6.28` as ≈, and without `(to 2 d.p.)`."""
    text = _ROUNDING.sub("", text)
    if "approx" in text:
        text = _APPROX_WORDS.sub(" \\\\approx ", text)
        text = _APPROX_ASIDE.sub(r" \\approx \1", text)
    return _LONE_BRACKET.sub(r"\1", text)


def _without_inner_dollars(text: str) -> str:
    """Returns `$2$ and $-5$` without its math delimiters; in `$2 and $5` they are currency."""
    places = [m.start() for m in _DOLLAR.finditer(text)]
    if not places or len(places) % 2:
        return text
    inside = [text[a + 1 : b] for a, b in zip(places[::2], places[1::2], strict=True)]
    if any(not part.strip() or _WORDS_INSIDE.search(part) for part in inside):
        return text
    return _DOLLAR.sub(" ", text).strip()


def _unwrap(text: str) -> str:
    """Strips math delimiters, boxes, bold marks and sentence ends that enclose the whole text."""
    for _ in range(8):
        if not text.startswith(_WRAPPER_STARTS):
            break
        before = text
        for opening, closing in _WRAPPERS:
            if (
                text.startswith(opening)
                and text.endswith(closing)
                and len(text) > len(opening) + len(closing) - 1
                and not text.endswith("\\" + closing)
            ):
                inner = text[len(opening) : len(text) - len(closing)]
                if closing not in inner.replace("\\$", ""):
                    text = inner.strip()
        box = _BOX.match(text)
        if box and matching_brace(text, box.end() - 1) == len(text) - 1:
            text = text[box.end() : -1].strip()
        for mark in ("**", "__", "`", "*"):
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
                text = text[len(mark) : -len(mark)].strip()
        if text == before:
            break
    return text


_NUMBER = re.compile(
    r"""
    (?P<repeat>\d*\.(?P<pre>\d*)(?:
        \\(?:overline|bar)\{(?P<over>\d+)\}
      | (?:\\(?:left|[bB]igg?l?)\s*)?\((?P<paren>\d+)(?:\\(?:right|[bB]igg?r?)\s*)?\)(?![\d^!])))
    | (?P<dots>\d*\.(?P<dpre>\d*?)\\dot\{?(?P<d1>\d)\}?(?:(?P<dmid>\d*)\\dot\{?(?P<d2>\d)\}?)?)
    | (?P<group>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?)
    | (?P<indian>\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?)
    | (?P<space>\d{1,3}(?:\ \d{3})+(?![\d])(?:[.,]\d+)?)
    | (?P<swiss>\d{1,3}(?:'\d{3})+(?!\d)(?:\.\d+)?)
    | (?P<euro>\d{1,3}(?:\.\d{3})+,\d+(?!\d) | \d{1,3}(?:\.\d{3}){2,}(?!\d))
    | (?P<plain>\d+(?:\.\d+)?|\.\d+)(?P<dot>\.(?![\d.]))?
    """,
    re.VERBOSE,
)
_PLAIN_INTEGER = re.compile(r"(?!0[xXbB])\d{1,18}(?![\dA-Fa-fCP.,'_eE~( ]|\\[,;: ]|\s+\d)")
"""A whole number that nothing after it can change."""
_EURO_PLAIN = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d)|\d+(?:,\d+)?")
_EXPONENT = re.compile(r"[eE]([+-]?\d+)(?![\d.A-Za-z_(])")
_TRAIL = re.compile(r"\s*(?:\\ldots|\\dots|\\cdots|\.{3})")
_BASED = re.compile(
    r"(?P<open>\(\s*)?(?P<digits>[0-9A-Fa-f]{1,4096}+)(?(open)\s*\))\s*_\s*"
    r"(?:\{\s*(?:\\(?:text|mathrm|rm)\s*\{?\s*)?\(?\s*(?P<b1>\d{1,2}|[a-z]+)\s*\)?\s*\}?\s*\}|(?P<b2>\d))(?!\d)"
)
_BASE_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "sixteen": 16, "bin": 2, "oct": 8, "dec": 10, "hex": 16,
}  # fmt: skip
_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+(?![^\W\d_A-Za-z])")
_OTHER_WORD = re.compile(r"[^\W\d_]+")
_GROUP_COMMANDS = FONT_COMMANDS | {
    "text",
    "mathrm",
    "rm",
    "operatorname",
    "mbox",
    "hbox",
    "mathcal",
    "mathbb",
}
_TEXT_COMMANDS = {"text", "mathrm", "rm", "operatorname", "mbox", "hbox", "textbf", "textit", "textrm", "textsf",
                  "mathbf", "mathsf", "mathit", "textnormal", "textup", "emph", "texttt", "mathtt"}  # fmt: skip
_ENVIRONMENT = re.compile(r"\s*\{([a-zA-Z]+\*?)\}")


def _integer(digits: str) -> int:
    """Returns `int(digits)` for strings of any length.

    Python refuses strings of more than 4,300 digits; halves are converted one by one.
    """
    if len(digits) <= 4_000:
        return int(digits)
    half = len(digits) // 2
    shift: int = 10 ** (len(digits) - half)
    return _integer(digits[:half]) * shift + _integer(digits[half:])


def _exact(digits: str) -> int | Fraction:
    if len(digits) > 20_000:
        raise TooLargeError("a number of more than 20,000 digits")
    whole, _, decimals = digits.partition(".")
    if not decimals:
        return _integer(whole or "0")
    value = Fraction(_integer((whole or "0") + decimals), 10 ** len(decimals))
    return value if value.denominator != 1 else value.numerator


def _decimal(digits: str, exponent: int = 0) -> Num:
    """Returns the number that `digits` (with '.') and a power of ten spell."""
    if abs(exponent) > 5_000:
        raise TooLargeError("a decimal exponent of more than four digits")
    whole, dot, decimals = digits.partition(".")
    value = _exact(digits)
    if exponent:
        value = Fraction(value) * Fraction(10) ** exponent
        value = value if value.denominator != 1 else value.numerator
    if not dot and exponent == 0:
        return Num(value)
    significant = len((whole + decimals).lstrip("0")) or 1
    return Num(value, len(decimals) - exponent, significant)


def read_decimal(digits: str) -> Node:
    """Returns the number that `-12.50` and its like spell.

    Digits, at most one dot, a leading minus.
    """
    return Neg(_decimal(digits[1:])) if digits.startswith("-") else _decimal(digits)


def _repeating(pre_digits: str, repeated: str) -> Num:
    """Returns a repeating decimal as its fraction. `pre_digits` holds the dot."""
    if len(pre_digits) + len(repeated) > 2_000:
        raise TooLargeError("a repeating decimal of more than 2,000 digits")
    shift = len(pre_digits.partition(".")[2])
    tail = Fraction(int(repeated), (10 ** len(repeated) - 1) * 10**shift)
    value = _exact(pre_digits) + tail
    return Num(value if value.denominator != 1 else value.numerator)


def _with_ellipsis(digits: str) -> Node:
    """Reads `0.333…`: a repeating decimal if a block repeats, else a cut irrational."""
    whole, _, decimals = digits.partition(".")
    if len(decimals) > 200:
        return Call("approx", (_decimal(digits),))
    # The block that accounts for most digits; of two, the shorter one.
    covered, block = 0, ""
    for size in range(1, len(decimals) // 2 + 1):
        tail = decimals[-size:]
        times = 1
        while decimals[: len(decimals) - size * times].endswith(tail):
            times += 1
        if times * size >= max(3, 2 * size, covered + 1):
            covered, block = times * size, tail
    if block:
        return _repeating(f"{whole or '0'}.{decimals[:-covered]}", block)
    return Call("approx", (_decimal(digits),))


def _scan_number(text: str, at: int, reading: Reading) -> tuple[Node, int] | None:
    """Returns the number that begins at `at` and where it ends."""
    if reading.decimal_comma:
        euro = _EURO_PLAIN.match(text, at)
        if euro:
            return _decimal(euro.group().replace(".", "").replace(",", ".")), euro.end()
    found = _NUMBER.match(text, at)
    if not found:
        return None
    raw, end = found.group(), found.end()
    if found["repeat"]:
        digits = raw[: raw.index(".")] + "." + found["pre"]
        return _repeating(digits, found["over"] or found["paren"]), end
    if found["dots"]:
        digits = raw[: raw.index(".")] + "." + found["dpre"]
        repeated = found["d1"] + (found["dmid"] or "") + (found["d2"] or "")
        if found["dmid"] and not found["d2"]:
            raise NotMathError("an unclosed repeating block")
        return _repeating(digits, repeated), end
    if found["group"] or found["indian"]:
        if reading.grouped and text[at - 1 : at] != "/":
            return _decimal(raw.replace(",", "")), end
        raw = raw.partition(",")[0]
        return _decimal(raw), at + len(raw)
    if found["swiss"]:
        return _decimal(raw.replace("'", "")), end
    if found["space"]:
        return _decimal(raw.replace(" ", "").replace(",", ".")), end
    if found["euro"]:
        return _decimal(raw.replace(".", "").replace(",", ".")), end
    digits = found["plain"]
    end = found.end("plain")
    trail = _TRAIL.match(text, end)
    if trail and "." in digits:
        return _with_ellipsis(digits), trail.end()
    if found["dot"]:
        # `128.` is a number with its sentence's full stop; `1..5` is not.
        end = found.end()
    exponent = _EXPONENT.match(text, end)
    if exponent and not found["dot"] and reading.scientific:
        if len(exponent[1]) > 6:
            raise TooLargeError("a decimal exponent of more than four digits")
        return _decimal(digits, int(exponent[1])), exponent.end()
    return _decimal(digits), end


def _scan_based(text: str, at: int) -> tuple[Node, int] | None:
    r"""Returns a number with its base (`1011_2`, `2A_{16}`, `(1101)_{\text{two}}`).

    If one begins at `at`.
    """
    if at and (text[at - 1].isalnum() or text[at - 1] in "._"):
        return None
    found = _BASED.match(text, at)
    if not found:
        return None
    digits = found["digits"]
    word = found["b1"] or found["b2"]
    base = int(word) if word.isdigit() else _BASE_WORDS.get(word, 0)
    if not 2 <= base <= 36:
        return None
    if not digits[0].isdigit() and (base < 11 or len(digits) < 2):
        return None
    if any(int(c, 36) >= base for c in digits):
        return None
    return BaseNum(digits.upper().lstrip("0") or "0", base), found.end()


_UNIT_LETTERS = re.compile(r"~?[A-Za-z](?:[A-Za-z0-9^{}/*~·\\, .-]*)?")
_SIZES = frozenset("left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr".split())
"""Commands that are no space: C\\left(7,3\\right) is C(7,3)."""
_SIGNS = ("\\$", "$", "\\%", "%", "€", "£")
_PREFIXED = re.compile(r"0(?:[xX]([0-9A-Fa-f]{1,4096})|[bB]([01]{1,4096}))(?![0-9A-Za-z])")


def _scan_prefixed(text: str, at: int) -> tuple[Node, int] | None:
    """Returns `0x3F` or `0b101` as a number with its base."""
    found = _PREFIXED.match(text, at)
    if not found:
        return None
    digits, base = (found[1], 16) if found[1] else (found[2], 2)
    return BaseNum(digits.upper().lstrip("0") or "0", base), found.end()


_OPERATORS = frozenset("+-*/^_=<>()[]{}|,;:!&'.%$€£¥₹¢")
_PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "*": (("**", "^"),),
    "<": (("<=", "leq"),),
    ">": ((">=", "geq"),),
    "!": (("!=", "neq"),),
    "=": (("==", "="), ("=<", "leq"), ("=>", "geq")),
    ".": (("...", "ldots"),),
    "-": (("->", "to"),),
    "+": (("+/-", "pm"), ("+-", "pm")),
}
"""What two or three characters stand for, by the first."""


class _Lexer:
    def __init__(self, text: str, reading: Reading, *, prose: bool = False) -> None:
        self.text = text
        self.reading = reading
        self.word_kind = "prose" if prose else "word"
        self.tokens: list[Token] = []
        self.at = 0
        self.spaced = False

    def emit(self, kind: str, value: str, node: Node | None = None) -> None:
        self.tokens.append(Token(kind, value, self.spaced, node))
        self.spaced = False
        if len(self.tokens) > MAX_TOKENS:
            raise TooLargeError(f"more than {MAX_TOKENS} tokens")

    def run(self) -> list[Token]:
        text, size = self.text, len(self.text)
        while self.at < size:
            char = text[self.at]
            if char in " ~":
                self.spaced = True
                self.at += 1
            elif char.isdigit() or (char == "." and text[self.at + 1 : self.at + 2].isdigit()):
                self.scan_number()
            elif char == "\\":
                self.scan_command()
            elif char.isalpha():
                self.scan_word()
            elif char == "(" and (based := _scan_based(text, self.at)):
                self.emit("num", "", based[0])
                self.at = based[1]
            else:
                self.scan_operator(char)
        self.emit("end", "")
        return self.tokens

    def scan_number(self) -> None:
        plain = _PLAIN_INTEGER.match(self.text, self.at)
        if plain and not self.reading.decimal_comma:
            self.emit("num", plain.group(), Num(int(plain.group())))
            self.at = plain.end()
            return
        based = _scan_based(self.text, self.at) or _scan_prefixed(self.text, self.at)
        scanned = based or _scan_number(self.text, self.at, self.reading)
        if scanned is None:
            raise NotMathError(f"no number at {self.text[self.at : self.at + 10]!r}")
        self.emit("num", self.text[self.at : scanned[1]], scanned[0])
        self.at = scanned[1]

    def scan_word(self) -> None:
        found = _WORD.match(self.text, self.at)
        if not found:
            other = _OTHER_WORD.match(self.text, self.at)
            if not other:
                raise NotMathError(f"a letter outside the grammar: {self.text[self.at]!r}")
            self.emit("prose", other.group())
            self.at = other.end()
            return
        if found.group()[0] in "ABCDEFabcdef" and (based := _scan_based(self.text, self.at)):
            self.emit("num", "", based[0])
            self.at = based[1]
            return
        self.emit(self.word_kind, found.group())
        self.at = found.end()

    def scan_operator(self, char: str) -> None:
        for pair, value in _PAIRS.get(char, ()):
            if self.text.startswith(pair, self.at):
                if pair == "!=" and not self.spaced and self.follows_number():
                    continue  # 5!=120 is a factorial.
                self.emit("op" if value in ("^", "=") else "cmd", value)
                self.at += len(pair)
                return
        if char not in _OPERATORS:
            raise NotMathError(f"a character outside the grammar: {char!r}")
        self.emit("op", char)
        self.at += 1

    def follows_number(self) -> bool:
        return bool(self.tokens) and self.tokens[-1].kind == "num"

    def scan_command(self) -> None:
        found = _COMMAND.match(self.text, self.at)
        if not found:
            raise NotMathError("a lone backslash at the end")
        name = found[1]
        self.at = found.end()
        if name in DROPPED_COMMANDS or name.isspace():
            self.spaced = self.spaced or name not in _SIZES
        elif name in ("{", "}"):
            self.emit("op", name + "set")
        elif name in ("(", ")", "[", "]"):
            return
        elif name in ("%", "$", "#", "&", "_"):
            self.emit("op", name)
        elif name == "|":
            self.emit("op", "norm")
        elif name == "\\":
            self.emit("cmd", "newline")
        elif name in _GROUP_COMMANDS:
            self.scan_group_command(name)
        elif name in ("begin", "end"):
            environment = _ENVIRONMENT.match(self.text, self.at)
            if not environment:
                raise NotMathError("an environment without a name")
            self.at = environment.end()
            self.emit("begin" if name == "begin" else "end_env", environment[1].rstrip("*"))
        else:
            self.emit_alias(COMMAND_ALIASES.get(name, name))

    def emit_alias(self, name: str) -> None:
        if not name[0].isalpha():
            self.emit("op", name)
        else:
            self.emit("cmd", name)

    def scan_group_command(self, name: str) -> None:
        r"""Reads `\text{…}`, `\mathbb{R}`, `\mathbf{27}`.

        Words become a text token, mathematics stays itself.
        """
        at = self.at
        while at < len(self.text) and self.text[at] == " ":
            at += 1
        if at >= len(self.text) or self.text[at] != "{":
            if name in ("mathbb", "mathcal", "mathrm", "mathbf", "rm", "text") and at < len(
                self.text
            ):
                self.text_group(name, self.text[at])
                self.at = at + 1
            return
        close = matching_brace(self.text, at)
        if close < 0:
            raise NotMathError(f"an unclosed \\{name}")
        content = self.text[at + 1 : close]
        if self.text_group(name, content):
            self.at = close + 1
        else:
            self.at = at  # A transparent group: its braces and content are read as mathematics.

    def text_group(self, name: str, content: str) -> bool:
        bare = content.strip()
        if not bare:
            self.spaced = True
            return True
        if name in ("mathbb", "mathcal"):
            self.emit("cmd", f"{name}:{bare}")
            return True
        if name in _TEXT_COMMANDS:
            if bare in _SIGNS:
                self.emit("op", bare[-1])
                return True
            if bare == "d" and name not in ("mathbf", "textbf"):
                self.emit("cmd", "diff")
                return True
            if len(bare) == 1 and bare in "ijk" and name in ("mathbf", "textbf"):
                self.emit("cmd", f"unit:{bare}")
                return True
            if self.follows_number() and _UNIT_LETTERS.fullmatch(bare) and is_unit_letter(bare[0]):
                self.scan_prose(content)
                return True
            if re.search(r"[A-Za-z]{2}", bare) or (name == "text" and re.search(r"[A-Za-z]", bare)):
                self.spaced = self.spaced or content[:1] == " "
                self.scan_prose(content)
                return True
        return False

    def scan_prose(self, content: str) -> None:
        """Adds the tokens of a text command: its words are prose, never products of symbols."""
        inner = _Lexer(content, self.reading, prose=True).run()[:-1]
        first = self.spaced
        for token in inner:
            self.spaced = token.spaced or first
            first = False
            self.emit(token.kind, token.value, token.node)


def tokenize(text: str, reading: Reading) -> list[Token]:
    """Returns the tokens of a cleaned text, ending with kind `end`.

    Raises:
        NotMathError: a character or command that no answer has.
        TooLargeError: more tokens or digits than the limits allow.
    """
    return _Lexer(text, reading).run()
