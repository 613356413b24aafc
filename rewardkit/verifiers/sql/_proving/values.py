"""Values and conditions as formulas of z3: each value with whether it is NULL.

Integers are exact integers and reals exact reals, so overflow and rounding are left out. Texts and
dates are places in an order without gaps, which is more than texts have: what holds for all places
holds for all texts. Functions are symbols that give the same for the same, and nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

from rewardkit.verifiers.sql._proving.blocks import Occurrence, Unsupported
from rewardkit.verifiers.sql._schema import Column

__all__ = [
    "Formula",
    "Term",
    "Truth",
    "choose",
    "compare",
    "number",
    "same_value",
    "symbol",
    "variable",
]

Formula: TypeAlias = Any
"""An expression of z3, whose types no checker can read."""

_KINDS = {"int": "int", "real": "real", "text": "text", "date": "text", "timestamp": "text"}


@dataclass(frozen=True, slots=True)
class Term:
    """A value: its kind (int, real, text), what it is, and whether it is NULL."""

    kind: str
    value: Formula
    null: Formula


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition of three values: whether it is true, and whether it is false."""

    true: Formula
    false: Formula


def variable(slot: int, occurrence: Occurrence, column: Column) -> Term:
    """Returns the variable of a column of the row in a slot.

    Raises:
        Unsupported: the column's type.
    """
    kind = _KINDS.get(column.kind)
    if kind is None:
        raise Unsupported(f"a column of {column.kind}")
    name = f"{slot}.{occurrence.table.name}.{column.name}"
    value = z3.Int(name) if kind == "int" else z3.Real(name)
    return Term(kind, value, z3.Bool(f"{name}?") if column.nullable else z3.BoolVal(False))


def symbol(name: str, terms: Sequence[Term], kind: str) -> Term:
    """Returns a function of which nothing is known but that it is one."""
    name = f"{name}({','.join(term.kind for term in terms)})"
    given = [part for term in terms for part in (_canonical(term), term.null)]
    sorts = [part.sort() for part in given]
    result = z3.IntSort() if kind == "int" else z3.RealSort()
    value = z3.Function(name, *sorts, result)(*given)
    return Term(kind, value, z3.Function(f"{name}?", *sorts, z3.BoolSort())(*given))


def _canonical(term: Term) -> Formula:
    # 0 for every NULL, so that equal terms are equal formulas.
    zero = z3.IntVal(0) if term.value.sort() == z3.IntSort() else z3.RealVal(0)
    return z3.If(term.null, zero, term.value)


def compare(sign: str, left: Term, right: Term) -> Truth:
    """Returns a comparison of two values of kinds that can be compared.

    Raises:
        Unsupported: a number with a text.
    """
    a, b = _aligned(left, right)
    known = z3.And(z3.Not(left.null), z3.Not(right.null))
    holds = {
        "eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
    }[sign]  # fmt: skip
    return Truth(z3.And(known, holds), z3.And(known, z3.Not(holds)))


def same_value(left: Term, right: Term) -> Formula:
    """Returns that two values are equal or both NULL.

    Raises:
        Unsupported: a number with a text.
    """
    a, b = _aligned(left, right)
    both = z3.And(z3.Not(left.null), z3.Not(right.null), a == b)
    return z3.Or(z3.And(left.null, right.null), both)


def _aligned(left: Term, right: Term) -> tuple[Formula, Formula]:
    kinds = {left.kind, right.kind} - {"null"}
    if "text" in kinds and len(kinds) > 1:
        raise Unsupported("a number beside a text")
    if left.value.sort() == right.value.sort():
        return left.value, right.value
    return _as_real(left), _as_real(right)


def _as_real(term: Term) -> Formula:
    return z3.ToReal(term.value) if term.value.sort() == z3.IntSort() else term.value


def number(term: Term) -> Term:
    """Returns a value that is a number.

    Raises:
        Unsupported: it is none.
    """
    if term.kind not in ("int", "real"):
        raise Unsupported("arithmetic on what is no number")
    return term


def choose(branches: Sequence[tuple[Formula, Term]], last: Term) -> Term:
    """Returns the value of the first branch whose condition holds, else the last.

    Raises:
        Unsupported: the values are of several kinds.
    """
    terms = [*(term for _, term in branches), last]
    kinds = {term.kind for term in terms} - {"null"}
    if len(kinds) > 1 or not kinds:
        # A choice of an integer or a real is printed and divided as what it is.
        raise Unsupported("branches of several kinds")
    kind = kinds.pop()
    value, null = (_as_real(last) if kind != "int" else last.value), last.null
    for when, term in reversed(branches):
        given = _as_real(term) if kind != "int" else term.value
        value, null = z3.If(when, given, value), z3.If(when, term.null, null)
    return Term(kind, value, null)
