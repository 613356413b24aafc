"""Counterfactual sensitivity: is an answer worked out from the program's numbers, or written down?

Each literal is changed, alone, and the program is run again. A number that matters moves the
answer; a number that the answer merely repeats moves with it one to one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rewardkit.verdict import Json
from rewardkit.verifiers.prolog.terms import (
    Atom,
    Number,
    Term,
    Text,
    as_number,
    decode,
    numbers_equal,
)

__all__ = ["Audit", "Literal", "Report", "problem_numbers", "read_literals", "score"]

MAX_LITERALS = 40
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_PROBLEM_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_NEUTRAL = (0, 1)
_SEARCH = re.compile(
    r"\b(?:minimize|maximize|inf|sup|bb_inf|label|labeling|indomain|between|aggregate_all|findall"
    r"|min_list|max_list|min_member|max_member|#>|#<|#>=|#=<|>=|=<)"
)
_WORDS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "dozen": 12,
    "twice": 2,
    "double": 2,
    "half": 2,
}


@dataclass(frozen=True, slots=True)
class Literal:
    """A number in the program's text, or a text with digits."""

    start: int
    end: int
    value: Term

    @property
    def number(self) -> Number | None:
        """The number that it is or spells."""
        return as_number(self.value)

    def changed(self, which: int) -> tuple[str, Term]:
        """Returns its replacement in the text and as a value: v+1 first, then 2v+3."""
        if isinstance(self.value, Atom | Text):
            text = self.value.name if isinstance(self.value, Atom) else self.value.value
            new = _DIGITS.sub(lambda m: str(_change(_plain(m[0]), which)), text, count=1)
            mark = "'" if isinstance(self.value, Atom) else '"'
            quoted = new.replace("\\", "\\\\").replace(mark, "\\" + mark)
            quoted = quoted.replace("\n", "\\n")
            made: Term = Atom(new) if isinstance(self.value, Atom) else Text(new)
            return f"{mark}{quoted}{mark}", made
        assert isinstance(self.value, int | Fraction | float)
        number = _change(self.value, which)
        if isinstance(number, Fraction):
            text = f"{number.numerator}r{number.denominator}"
        else:
            text = repr(number)
            if "e" in text and "." not in text:
                text = text.replace("e", ".0e")
        # A sign must not run into an operator before it.
        return (f" {text}" if text.startswith("-") else text), number


@dataclass(frozen=True, slots=True)
class Report:
    """What changing the literals showed."""

    literals: tuple[Literal, ...]
    matters: tuple[bool, ...]
    passed_through: tuple[bool, ...]
    """Whether the answer is the literal, and moves exactly as it does."""


@dataclass(frozen=True, slots=True)
class Audit:
    """How far a program's answer rests on its numbers."""

    value: float
    """In [0, 1]; below 0.5 the answer is hard-coded."""
    why: str
    evidence: dict[str, Json]


def read_literals(event: dict[str, Any] | None, program: str) -> tuple[Literal, ...]:
    """Returns the literals that the engine lists; at most `MAX_LITERALS`, evenly taken."""
    forms = event["v"] if event is not None and event.get("kind") == "row" else None
    if not isinstance(forms, list):
        return ()
    found = [Literal(start, end, decode(value[0])) for start, end, value in forms]
    usable = [one for one in found if _is_usable(one, program)]
    if len(usable) <= MAX_LITERALS:
        return tuple(usable)
    step = len(usable) / MAX_LITERALS
    return tuple(usable[int(i * step)] for i in range(MAX_LITERALS))


def problem_numbers(problem: str) -> tuple[list[Number], list[Number]]:
    """Returns the numbers that a problem's text states in digits, and those it states in words.

    >>> problem_numbers("Six trays of 24 rolls, 1,095 sold.")
    ([24, 1095], [6])
    """
    digits: list[Number] = []
    for match in _PROBLEM_NUMBER.findall(problem):
        number = _plain(match.replace(",", ""))
        if number not in digits:
            digits.append(number)
    words = [_WORDS[word] for word in re.findall(r"[a-z]+", problem.lower()) if word in _WORDS]
    return digits, [number for number in dict.fromkeys(words) if number not in digits]


def score(report: Report, program: str, problem: str) -> Audit:
    """Returns how auditable a program is.

    With m of n literals that matter, and c the share of the problem's numbers among those that
    matter (m/n where the problem states none):

    - not hard-coded: 1/2 + max(m/n, c)/2;
    - hard-coded: 2c/5, which is below 1/2.

    It is hard-coded if no literal matters; if the answer is one literal repeated and fewer than
    half of the problem's numbers matter; or if none of the numbers that the problem writes in
    digits matters. Where the problem is not known: if the answer is one literal repeated, and no
    other literal matters but 0 and 1, and nothing is searched for.
    """
    count = len(report.literals)
    moving = [one for one, m in zip(report.literals, report.matters, strict=True) if m]
    through = [one for one, p in zip(report.literals, report.passed_through, strict=True) if p]
    share = len(moving) / count
    digits, words = problem_numbers(problem)
    numbers = [one.number for one in moving]
    covered = [number for number in [*digits, *words] if _is_covered(number, numbers)]
    stated = len(digits) + len(words)
    coverage = len(covered) / stated if stated else None
    why = ""
    if not moving:
        why = "no number of the program moves the answer"
    elif coverage is not None and through and coverage < 0.5:
        why = "the answer is a literal of the program, and the problem's numbers do not matter"
    elif digits and not any(_is_covered(number, numbers) for number in digits):
        why = "none of the problem's numbers matters"
    elif coverage is None and through and _only_repeats(moving, through, program):
        why = "the answer is a literal of the program"
    basis = share if coverage is None else coverage
    value = 0.4 * (coverage or 0.0) if why else 0.5 + 0.5 * max(share, basis)
    unexplained = [n for n in numbers if n is not None and not _is_explained(n, digits, words)]
    evidence: dict[str, Json] = {
        "literals": count,
        "matter": len(moving),
        "repeated": len(through),
        "hardcoded": bool(why),
    }
    if coverage is not None:
        evidence["problem_numbers"] = stated
        evidence["problem_share"] = round(coverage, 4)
        evidence["unexplained"] = len(unexplained)
    return Audit(value, why or "worked out from its numbers", evidence)


def _is_usable(literal: Literal, program: str) -> bool:
    if isinstance(literal.value, Atom | Text):
        if program[literal.start : literal.start + 1] not in ("'", '"'):
            return False  # a plain atom such as box1 is a name
        text = literal.value.name if isinstance(literal.value, Atom) else literal.value.value
        return len(text) <= 1000 and _DIGITS.search(text) is not None
    if isinstance(literal.value, int):
        return literal.value.bit_length() <= 10_000
    return isinstance(literal.value, float | Fraction)


def _plain(text: str) -> Number:
    return float(text) if "." in text else int(text[:4000])


def _change(number: Number, which: int) -> Number:
    return number + 1 if which == 0 else 2 * number + 3


def _is_covered(number: Number, moving: Sequence[Number | None]) -> bool:
    forms: list[Number] = [number, Fraction(number) / 100]
    if number:
        forms.append(1 / Fraction(number))
        forms.append(1 - Fraction(number) / 100)
        forms.append(1 + Fraction(number) / 100)
    return any(
        one is not None and any(numbers_equal(one, form) for form in forms) for one in moving
    )


def _is_explained(number: Number, digits: Sequence[Number], words: Sequence[Number]) -> bool:
    return number in _NEUTRAL or any(_is_covered(one, [number]) for one in [*digits, *words])


def _only_repeats(moving: Sequence[Literal], through: Sequence[Literal], program: str) -> bool:
    others = [one for one in moving if one not in through]
    return all(one.number in _NEUTRAL for one in others) and not _SEARCH.search(program)
