"""What a query came to: its outcome, and how outcomes become a reason."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from rewardkit.verdict import Reason
from rewardkit.verifiers.prolog.terms import (
    Atom,
    Compound,
    List,
    Term,
    Text,
    Variable,
    same,
    same_answer,
    show,
)

__all__ = ["RAN", "REASONS", "Answers", "Expected", "Judged", "failure", "judge"]

_Row: TypeAlias = tuple[Term, ...]

REASONS: Mapping[str, Reason] = {
    "ok": Reason.MATCH,
    "no": Reason.MISMATCH,
    "wrong": Reason.MISMATCH,
    "unbound": Reason.UNEVALUATED,
    "unbounded": Reason.OUTPUT_LIMIT,
    "syntax_error": Reason.UNPARSABLE,
    "undefined": Reason.CRASH,
    "instantiation_error": Reason.CRASH,
    "type_error": Reason.CRASH,
    "error": Reason.CRASH,
    "crash": Reason.CRASH,
    "timeout": Reason.TIMEOUT,
    "resource": Reason.MEMORY,
    "size": Reason.SIZE_LIMIT,
    "unsafe": Reason.FORBIDDEN,
    "unread_query": Reason.UNPARSABLE,
}
"""The reason of each outcome; several different answers are `Reason.AMBIGUOUS`."""

_CONTEXT = re.compile(r"error\((.*),context\(.*\)\)", re.DOTALL)
_ERRORS = {
    "limit": "timeout",
    "resource": "resource",
    "size": "size",
    "files": "unsafe",
    "undefined": "undefined",
    "instantiation_error": "instantiation_error",
    "type_error": "type_error",
    "permission_error": "error",
}
_ENDINGS = {
    "cpu": "timeout",
    "wall": "timeout",
    "memory": "resource",
    "output": "unbounded",
}
RAN = ("ok", "no", "wrong", "unbound")
"""Outcomes of a program that ran to its end."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the engine found for one query."""

    rows: tuple[_Row, ...]
    how: str
    """"exhausted", "capped", "distinct", "error", or the status with which the process ended."""
    error: str = ""
    """The class of the error."""
    text: str = ""
    """The error as Prolog writes it."""
    inferences: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """What a query should give, as terms."""

    kind: str
    """"answer", "solutions", or "truth" for a query that only succeeds or fails."""
    mode: str
    rows: tuple[_Row, ...]
    """For an answer: rows of one term, any of which is right (a text may be read in two ways)."""
    width: int
    """How many variables are compared; -1 for all."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One query's outcome."""

    outcome: str
    share: float
    """How much of what was expected was found, in [0, 1]: the F1 of solutions."""
    detail: str
    sprayed: bool = False
    """Several different answers, where one was asked for."""

    @property
    def passed(self) -> bool:
        """True if the query gave what was expected."""
        return self.outcome == "ok"


def judge(answers: Answers, expected: Expected) -> Judged:
    """Returns what the answers to one query are worth."""
    if answers.how not in ("exhausted", "capped", "distinct"):
        return failure(answers)
    if expected.kind == "answer":
        return _judge_answer(answers, expected)
    if expected.kind == "truth":
        return _judge_truth(answers, expected)
    return _judge_solutions(answers, expected)


def failure(answers: Answers) -> Judged:
    """Returns the outcome of a query that did not run to its end."""
    if answers.how != "error":
        outcome = _ENDINGS.get(answers.how, "crash")
        return Judged(outcome, 0.0, f"the process ended: {answers.how}")
    outcome = _ERRORS.get(answers.error, "error")
    if answers.error == "limit":
        return Judged(outcome, 0.0, "did not end within the inference limit")
    if answers.error == "query_syntax":
        return Judged(outcome, 0.0, f"the query cannot be read: {answers.text}")
    # The context names a variable, by a number that differs from run to run.
    told = _CONTEXT.fullmatch(answers.text)
    return Judged(outcome, 0.0, told[1] if told else answers.text or answers.error)


def _judge_answer(answers: Answers, expected: Expected) -> Judged:
    found = [row[0] if row else Variable(0) for row in answers.rows]
    right = [any(same_answer(term, row[0]) for row in expected.rows) for term in found]
    if not found:
        return Judged("no", 0.0, "no solution")
    if all(right) and answers.how == "capped":
        return Judged("unbounded", 0.0, f"the answer again and again, {len(found)} times")
    if all(right):
        return Judged("ok", 1.0, f"answered {show(found[0])}")
    shown = ", ".join(dict.fromkeys(show(term, 30) for term in found[:5]))
    if any(isinstance(term, Variable) for term in found):
        return Judged("unbound", 0.0, f"unbound: {shown}")
    distinct = len(dict.fromkeys(map(show, found)))
    if distinct > 1:
        return Judged("wrong", 0.0, f"several answers: {shown}", sprayed=True)
    return Judged("wrong", 0.0, f"answered {shown}, expected {show(expected.rows[0][0])}")


def _judge_truth(answers: Answers, expected: Expected) -> Judged:
    wanted = expected.rows != ()
    if bool(answers.rows) == wanted:
        return Judged("ok", 1.0, "succeeded" if wanted else "failed, as expected")
    return Judged("no" if wanted else "wrong", 0.0, "failed" if wanted else "succeeded")


def _judge_solutions(answers: Answers, expected: Expected) -> Judged:
    found, wanted = list(answers.rows), list(expected.rows)
    if expected.mode == "first":
        found, wanted = found[:1], wanted[:1]
    elif expected.mode == "set":
        found, wanted = _distinct(found), _distinct(wanted)
    matched = _count_matches(found, wanted, ordered=expected.mode in ("list", "first"))
    total = len(found) + len(wanted)
    share = 2 * matched / total if total else 1.0
    shown = f"{len(answers.rows)} solutions, {matched} of {len(wanted)} expected ones"
    if answers.how == "capped" and expected.mode != "first":
        return Judged("unbounded", share, f"{shown}, and more to come")
    if matched == len(found) == len(wanted):
        return Judged("ok", 1.0, shown)
    if not found:
        return Judged("no", 0.0, "no solution")
    if any(_is_open(term) for row in found for term in row):
        return Judged("unbound", share, f"{shown}; unbound variables")
    return Judged("wrong", share, shown)


def _distinct(rows: Sequence[_Row]) -> list[_Row]:
    kept: dict[Any, list[_Row]] = {}
    exact = not _has_float(rows)
    for row in rows:
        bucket = kept.setdefault(_coarse(row, exact), [])
        if not any(_same_row(row, other) for other in bucket):
            bucket.append(row)
    return [row for bucket in kept.values() for row in bucket]


def _count_matches(found: Sequence[_Row], wanted: Sequence[_Row], *, ordered: bool) -> int:
    if ordered:
        return sum(map(_same_row, found, wanted))
    exact = not _has_float([*found, *wanted])
    left: dict[Any, list[_Row]] = {}
    for row in wanted:
        left.setdefault(_coarse(row, exact), []).append(row)
    matched = 0
    for row in found:
        bucket = left.get(_coarse(row, exact), [])
        place = next((i for i, other in enumerate(bucket) if _same_row(row, other)), None)
        if place is not None:
            bucket.pop(place)
            matched += 1
    return matched


def _same_row(found: _Row, wanted: _Row) -> bool:
    return len(found) == len(wanted) and all(map(same, found, wanted))


def _has_float(rows: Sequence[_Row]) -> bool:
    return any(_find_float(term) for row in rows for term in row)


def _find_float(term: Term) -> bool:
    match term:
        case List():
            return any(map(_find_float, term.items))
        case Compound():
            return any(map(_find_float, term.arguments))
    return isinstance(term, float)


def _coarse(row: _Row, exact: bool) -> tuple[Any, ...]:
    """Returns what rows that are the same have in common, to find them without comparing all."""
    return tuple(_shape(term, exact) for term in row)


def _shape(term: Term, exact: bool) -> Any:  # noqa: ANN401 - a key
    match term:
        case List():
            return ("l", len(term.items), tuple(_shape(item, exact) for item in term.items[:8]))
        case Compound():
            inner = tuple(_shape(item, exact) for item in term.arguments[:8])
            return ("c", term.name, len(term.arguments), inner)
        case Variable():
            return ("v",)
        case Atom():
            return term.name
        case Text():
            return term.value
    return term if exact and isinstance(term, int | Fraction) else ("n",)


def _is_open(term: Term) -> bool:
    match term:
        case Variable():
            return True
        case List():
            return any(map(_is_open, term.items)) or (term.tail is not None and _is_open(term.tail))
        case Compound():
            return any(map(_is_open, term.arguments))
    return False
