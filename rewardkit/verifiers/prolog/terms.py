"""Prolog terms as Python values, and when two of them are the same answer."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

__all__ = [
    "Atom",
    "Compound",
    "List",
    "Number",
    "Opaque",
    "Term",
    "Text",
    "Variable",
    "as_number",
    "decode",
    "numbers_equal",
    "read_number",
    "same",
    "same_answer",
    "show",
]

Number: TypeAlias = int | Fraction | float
_EXACT = 1 << 53
_LONG = 1 << 200
_MAX_DIGITS = 100_000
_INTEGER = re.compile(r"[+-]?\d+")
_RATIO = re.compile(r"([+-]?\d+)\s*[r/]\s*(\d+)")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.\d+|\d+)(?:[eE][+-]?\d{1,4})?")


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom, such as `ann`."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string, such as `"ann"`."""

    value: str


@dataclass(frozen=True, slots=True)
class Variable:
    """An unbound variable, with or without constraints, numbered by first occurrence."""

    number: int


@dataclass(frozen=True, slots=True)
class List:
    """A list; `tail` is None for a proper one."""

    items: "tuple[Term, ...]"
    tail: "Term | None" = None


@dataclass(frozen=True, slots=True)
class Compound:
    """A compound term, such as `f(X, 1)`."""

    name: str
    arguments: "tuple[Term, ...]"


@dataclass(frozen=True, slots=True)
class Opaque:
    """What has no value outside the engine: a stream, a cyclic term."""

    kind: str


Term: TypeAlias = int | Fraction | float | Atom | Text | Variable | List | Compound | Opaque


def decode(form: Any) -> Term:  # noqa: ANN401 - JSON
    """Returns the term that the engine wrote as JSON; `Opaque` for what it never writes."""
    if not isinstance(form, Mapping):
        return Opaque("unreadable")
    match next(iter(form), ""):
        case "i":
            return int(str(form["i"]), 16)
        case "r":
            return Fraction(int(str(form["r"][0]), 16), int(str(form["r"][1]), 16))
        case "f":
            return float(form["f"])
        case "a":
            return Atom(form["a"])
        case "s":
            return Text(form["s"])
        case "v":
            return Variable(form["v"])
        case "l":
            tail = decode(form["t"]) if "t" in form else None
            return List(tuple(map(decode, form["l"])), tail)
        case "c":
            return Compound(form["c"], tuple(map(decode, form["x"])))
        case kind:
            return Opaque(str(form.get(kind, "unreadable")))


def read_number(text: str) -> Number | None:
    """Returns the number that a text spells: `49`, `70r3`, `70/3`, `2.5`, `1e6`; None without one.

    >>> read_number("70r3"), read_number("49 rolls")
    (Fraction(70, 3), None)
    """
    text = text.strip()
    if len(text) > _MAX_DIGITS:
        return None
    if _INTEGER.fullmatch(text):
        return _whole(text)
    if (ratio := _RATIO.fullmatch(text)) is not None and int(ratio[2][:50] or 0):
        return Fraction(_whole(ratio[1]), _whole(ratio[2]))
    if _DECIMAL.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else None
    return None


def _whole(text: str) -> int:
    # In pieces: int() refuses more digits than a process-wide limit.
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    value = 0
    for start in range(0, len(digits), 4000):
        piece = digits[start : start + 4000]
        value = value * 10 ** len(piece) + int(piece)
    return sign * value


def as_number(term: Term) -> Number | None:
    """Returns a term's number: its own, or the one that an atom or a string spells."""
    if isinstance(term, int | Fraction | float):
        return term
    if isinstance(term, Atom | Text):
        return read_number(term.name if isinstance(term, Atom) else term.value)
    return None


def numbers_equal(found: Number, expected: Number, tolerance: float = 1e-9) -> bool:
    """Returns whether two numbers are the same answer.

    Exact numbers are compared exactly. Where one is a float they may differ by `tolerance`,
    absolutely or relative to the larger one; not where the exact one is beyond 2^53, which a float
    cannot tell from its neighbours.
    """
    if not isinstance(found, float) and not isinstance(expected, float):
        return found == expected
    if not (_is_finite(found) and _is_finite(expected)):
        return False
    for exact in (found, expected):
        if not isinstance(exact, float) and not -_EXACT <= exact <= _EXACT:
            return Fraction(found) == Fraction(expected)
    return math.isclose(float(found), float(expected), rel_tol=tolerance, abs_tol=tolerance)


def _is_finite(number: Number) -> bool:
    return not isinstance(number, float) or math.isfinite(number)


def same(found: Term, expected: Term, tolerance: float = 1e-9) -> bool:
    """Returns whether two terms are equal: up to the names of variables, and 12.0 is 12.

    An atom and a string of the same characters are equal; a text is never a number.
    """
    if isinstance(found, int | Fraction | float):
        if not isinstance(expected, int | Fraction | float):
            return False
        return numbers_equal(found, expected, tolerance)
    if isinstance(found, Atom | Text) and isinstance(expected, Atom | Text):
        return _characters(found) == _characters(expected)
    if isinstance(found, List) and isinstance(expected, List):
        return _same_all(found.items, expected.items, tolerance) and (
            found.tail is expected.tail
            or (
                found.tail is not None
                and expected.tail is not None
                and same(found.tail, expected.tail, tolerance)
            )
        )
    if isinstance(found, Compound) and isinstance(expected, Compound):
        return found.name == expected.name and _same_all(
            found.arguments, expected.arguments, tolerance
        )
    return isinstance(found, Variable) and found == expected


def _same_all(found: Sequence[Term], expected: Sequence[Term], tolerance: float) -> bool:
    return len(found) == len(expected) and all(
        same(one, other, tolerance) for one, other in zip(found, expected, strict=True)
    )


def same_answer(found: Term, expected: Term, tolerance: float = 1e-9) -> bool:
    """Returns whether a term answers with the expected value.

    As `same`, and where a number is expected, a text that spells it will do.
    """
    if isinstance(expected, int | Fraction | float):
        number = as_number(found)
        return number is not None and numbers_equal(number, expected, tolerance)
    return same(found, expected, tolerance)


def _characters(term: Atom | Text) -> str:
    return term.name if isinstance(term, Atom) else term.value


def show(term: Term, limit: int = 80) -> str:
    """Returns a term in one short line for a person."""
    text = _show(term, 6)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _show(term: Term, depth: int) -> str:
    if depth == 0:
        return "…"
    match term:
        case int():
            return str(term) if abs(term) < _LONG else f"an integer of {term.bit_length()} bits"
        case Fraction():
            return f"{_show(term.numerator, 2)}r{_show(term.denominator, 2)}"
        case float():
            return repr(term)
        case Atom():
            return _printable(term.name)
        case Text():
            return f'"{_printable(term.value)}"'
        case Variable():
            return f"_{term.number}"
        case List():
            items = ",".join(_show(item, depth - 1) for item in term.items[:20])
            return f"[{items}{'|…' if term.tail is not None or len(term.items) > 20 else ''}]"
        case Compound():
            inner = ",".join(_show(item, depth - 1) for item in term.arguments[:20])
            return f"{_printable(term.name)}({inner})"
        case Opaque():
            return f"<{term.kind}>"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:200])
