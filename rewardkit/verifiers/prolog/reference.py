"""What a task asks: a reference, read and checked once."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers._names import check_keys

__all__ = ["MODES", "TYPES", "Expect", "Query", "Task", "read_reference"]

TYPES = ("answer", "solutions", "program")
MODES = ("set", "bag", "list", "first")
_QUERY = "solve(X)"
_KEYS = ("query", "expect", "vars", "problem")
_EXPECT_KEYS = ("type", "value", "mode", "source", "queries")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a query should give."""

    kind: str
    """"answer", "solutions" or "program"."""
    value: Any = None
    """For an answer: a number, a text, a truth value or a list of these."""
    rows: tuple[tuple[str, ...], ...] = ()
    """For solutions: the values of the query's variables, as Prolog writes them."""
    mode: str = "set"
    source: str = ""
    """For a program: a right one."""
    queries: tuple[str, ...] | None = None
    """For a program: hidden queries that are asked too; None makes some up."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query and what it should give."""

    text: str
    expect: Expect


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A reference in readable form."""

    queries: tuple[Query, ...]
    variables: tuple[str, ...] | None = None
    """Names of the variables that are compared; None for the first ones that the query names."""
    problem: str = ""
    """The problem's own text, if the reference has it: which numbers it states."""
    key: str = field(default="", compare=False)
    """Identifies the task: equal references have equal keys."""


def read_reference(reference: Json) -> Task:
    """Returns the task that a reference describes.

    Raises:
        InvalidReferenceError: a key is missing or has another shape than documented; it is named.
    """
    if not isinstance(reference, Mapping):
        raise InvalidReferenceError(
            "a Prolog reference is an object with `query` and `expect`, not "
            f"{type(reference).__name__}"
        )
    check_keys("a Prolog reference", reference, _KEYS)
    texts = _queries(reference.get("query", _QUERY))
    expects = _expects(reference.get("expect"), len(texts))
    named = reference.get("vars")
    variables = None if named is None else _texts("vars", named)
    problem = reference.get("problem")
    return Task(
        queries=tuple(map(Query, texts, expects)),
        variables=variables,
        problem=problem if isinstance(problem, str) else "",
        key=json.dumps(reference, sort_keys=True, default=str),
    )


def _queries(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    texts = (value,) if isinstance(value, str) else _texts("query", value)
    clean = tuple(re.sub(r"^\s*\?-|\.\s*$", "", text).strip() for text in texts)
    if not all(clean):
        raise InvalidReferenceError("`query` is a Prolog goal such as solve(X), not an empty text")
    return clean


def _texts(name: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise InvalidReferenceError(f"`{name}` is a non-empty list of texts, not {value!r:.80}")
    for item in value:
        if not isinstance(item, str):
            raise InvalidReferenceError(f"`{name}` is a list of texts; {item!r:.80} is none")
    return tuple(value)


def _expects(value: Any, count: int) -> tuple[Expect, ...]:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        # One right program answers any number of queries.
        repeat = count if value.get("type") == "program" else 1
        given: Sequence[Any] = [value] * repeat
    elif isinstance(value, Sequence) and not isinstance(value, str):
        given = value
    else:
        raise InvalidReferenceError(
            "`expect` is an object with `type`, or a list of them, one for each query, not "
            f"{value!r:.80}"
        )
    if len(given) != count:
        raise InvalidReferenceError(f"`expect` has {len(given)} entries for {count} queries")
    return tuple(_expect(one) for one in given)


def _expect(value: Any) -> Expect:  # noqa: ANN401 - JSON
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in TYPES:
        raise InvalidReferenceError(f"`expect.type` is one of {', '.join(TYPES)}, not {kind!r:.80}")
    check_keys("`expect`", value, _EXPECT_KEYS)
    if kind == "answer":
        return Expect(kind="answer", value=_answer(value.get("value")))
    mode = value.get("mode", "set")
    if mode not in MODES:
        raise InvalidReferenceError(f"`expect.mode` is one of {', '.join(MODES)}, not {mode!r:.80}")
    if kind == "solutions":
        return Expect(kind="solutions", rows=_rows(value.get("value")), mode=mode)
    source = value.get("source")
    if not isinstance(source, str) or not source.strip():
        raise InvalidReferenceError("`expect.source` is the text of a right program")
    queries = value.get("queries")
    if queries is not None:
        queries = () if queries == [] else _queries(queries)
    return Expect(kind="program", source=source, mode=mode, queries=queries)


def _answer(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, list) and depth < 20:
        return [_answer(item, depth + 1) for item in value]
    if not isinstance(value, bool | int | float | str):
        raise InvalidReferenceError(
            "`expect.value` of an answer is a number, a text, true, false or a list, not "
            f"{value!r:.80}"
        )
    return value


def _rows(value: Any) -> tuple[tuple[str, ...], ...]:  # noqa: ANN401 - JSON
    if not isinstance(value, list):
        raise InvalidReferenceError(
            f"`expect.value` of solutions is a list of solutions, not {value!r:.80}"
        )
    rows = []
    for row in value:
        cells = row if isinstance(row, list) else [row]
        if not all(isinstance(cell, str | int | float) for cell in cells):
            raise InvalidReferenceError(
                "a solution is a list of values as Prolog writes them, such as "
                f'["ann", "f(X)"], not {row!r:.80}'
            )
        rows.append(tuple(str(cell) for cell in cells))
    if len({len(row) for row in rows}) > 1:
        raise InvalidReferenceError("the solutions of `expect.value` have different lengths")
    return tuple(rows)
