"""What a reference expects, as terms: values are read, right programs are run, once each."""

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.errors import InvalidReferenceError
from rewardkit.verifiers._pickled import PickledSettings
from rewardkit.verifiers.prolog.engine import Engine, LostError
from rewardkit.verifiers.prolog.outcome import Answers, Expected
from rewardkit.verifiers.prolog.reading import read_answers
from rewardkit.verifiers.prolog.reference import Expect, Query, Task
from rewardkit.verifiers.prolog.terms import Atom, List, Number, Term, Text, decode, read_number

__all__ = ["Asked", "Oracle"]

_Row: TypeAlias = tuple[Term, ...]
_KEPT = 1024
_ATTEMPTS = 3
_PLAIN_ATOM = re.compile(r"(?![A-Z_])[^\W\d]\w*")
_INTEGER = re.compile(r"-?\d{1,4000}")
_HIDDEN_INFERENCES = 1_000_000
_HIDDEN_ROWS = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that a submission is asked, and what it should give."""

    text: str
    expected: Expected
    hidden: bool = False
    """Not the reference's own: made up, or listed as hidden."""


class Oracle(PickledSettings):
    """Turns tasks into queries with expected terms, and keeps the last of them. Picklable."""

    def __init__(self, engine: Engine, *, hidden_queries: int, max_solutions: int) -> None:
        self.engine = engine
        self.hidden_queries = hidden_queries
        self.max_solutions = max_solutions
        self._reset()

    def asked(self, task: Task) -> tuple[Asked, ...]:
        """Returns what a submission is asked.

        Raises:
            InvalidReferenceError: a value cannot be read as a term, or the right program is none.
            LostError: the sandbox was lost again and again.
        """
        with self._lock:
            if task.key in self._kept:
                self._kept.move_to_end(task.key)
                return self._kept[task.key]
        found = self._prepare(task)
        with self._lock:
            self._kept[task.key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Asked, ...]] = OrderedDict()

    def _prepare(self, task: Task) -> tuple[Asked, ...]:
        own: list[Asked] = []
        hidden: list[Asked] = []
        programs: dict[tuple[str, str], list[Query]] = {}
        for query in task.queries:
            if query.expect.kind == "program":
                programs.setdefault((query.expect.source, query.expect.mode), []).append(query)
        answers = {
            key: self._run_program(key[0], queries, task) for key, queries in programs.items()
        }
        for query in task.queries:
            if query.expect.kind == "program":
                run = answers[query.expect.source, query.expect.mode]
                own.append(Asked(query.text, _from_answers(run.own[query.text], query.expect)))
                hidden += [
                    Asked(text, _from_answers(found, query.expect), hidden=True)
                    for text, found in run.hidden.get(query.text, {}).items()
                ]
            else:
                own.append(Asked(query.text, self._expected(query.expect, task)))
        return (*own, *hidden)

    def _expected(self, expect: Expect, task: Task) -> Expected:
        if expect.kind == "answer":
            return self._answer(expect.value)
        width = len(expect.rows[0]) if expect.rows else -1
        if task.variables is not None and expect.rows and width != len(task.variables):
            raise InvalidReferenceError(
                f"`vars` names {len(task.variables)} variables and a solution has {width} values"
            )
        if width == 0:
            return Expected("truth", "set", ((),), 0)
        return Expected("solutions", expect.mode, tuple(self._rows(expect.rows)), width)

    def _answer(self, value: Any) -> Expected:  # noqa: ANN401 - JSON
        if isinstance(value, bool):
            return Expected("truth", "set", ((),) if value else (), 0)
        readings: list[Term] = [_plain(value)]
        if isinstance(value, str) and isinstance(readings[0], Text):
            # A text may also be a term as Prolog writes it.
            parsed = self._parse([(value,)])[0]
            readings += [] if parsed is None else [parsed[0]]
        return Expected("answer", "set", tuple((term,) for term in readings), 1)

    def _rows(self, rows: Sequence[tuple[str, ...]]) -> list[_Row]:
        read: list[_Row | None] = [_simple_row(row) for row in rows]
        left = [index for index, row in enumerate(read) if row is None]
        for index, row in zip(left, self._parse([rows[i] for i in left]), strict=True):
            if row is None:
                cells = list(rows[index])
                raise InvalidReferenceError(
                    f"a solution's values are terms as Prolog writes them, not {cells!r:.120}"
                )
            read[index] = row
        return [row for row in read if row is not None]

    def _parse(self, rows: Sequence[tuple[str, ...]]) -> list[_Row | None]:
        """Returns the terms that texts spell, row by row; None for a row with one that does not."""
        if not rows:
            return []
        queries = []
        for row in rows:
            names = [f"Rewardkit{i}" for i in range(len(row))]
            goal = ", ".join(f"{n} = ({cell}\n)" for n, cell in zip(names, row, strict=True))
            queries.append({"text": goal, "wanted": names, "max_rows": 1, "max_distinct": 2})
        answers = self._ask("", queries)
        return [found.rows[0] if found.rows else None for found in answers]

    def _ask(self, program: str, queries: list[dict[str, Any]], **options: Any) -> list[Answers]:
        return read_answers(self._events(program, queries, **options), len(queries))

    def _events(
        self, program: str, queries: list[dict[str, Any]], **options: Any
    ) -> list[dict[str, Any]]:
        for attempt in range(_ATTEMPTS):
            try:
                with self.engine.talk() as talk:
                    return talk.request(program=program, queries=queries, **options)
            except LostError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def unread(self, task: Task) -> list[str]:
        """Returns the queries that Prolog cannot read, unless the program defines operators.

        Those of a reference program are not among them: it has answered them.
        """
        alone = [query for query in task.queries if query.expect.kind != "program"]
        if not alone:
            return []
        asked = [self._request(f"_ = ({query.text}\n)", 0, "first") for query in alone]
        answers = zip(alone, self._ask("", asked), strict=True)
        return [query.text for query, found in answers if found.error == "query_syntax"]

    def _run_program(self, source: str, queries: list[Query], task: Task) -> "_ProgramRun":
        wanted: int | list[str] = list(task.variables) if task.variables is not None else -1
        asks_more = any(query.expect.queries is None for query in queries) and self.hidden_queries
        asked = [self._request(query.text, wanted, query.expect.mode) for query in queries]
        events = self._events(source, asked, hidden=bool(asks_more))
        run = _ProgramRun({}, {})
        for query, found in zip(queries, read_answers(events, len(queries)), strict=True):
            if found.how not in ("exhausted", "capped") or (
                found.how == "capped" and query.expect.mode != "first"
            ):
                why = _syntax_error(events) or found.text or found.error or found.how
                raise InvalidReferenceError(f"`expect.source` does not answer {query.text}: {why}")
            run.own[query.text] = found
        for index, query in enumerate(queries):
            listed = query.expect.queries
            candidates = _made_up(events, index) if listed is None else list(listed)
            most = self.hidden_queries if listed is None else len(candidates)
            found_all = self._try_hidden(source, candidates, wanted, query.expect.mode)
            kept = dict(list(found_all.items())[:most])
            if listed is not None and len(kept) < len(listed):
                missing = next(text for text in listed if text not in kept)
                raise InvalidReferenceError(f"`expect.source` has no answer to {missing}")
            run.hidden[query.text] = kept
        return run

    def _request(self, text: str, wanted: int | list[str], mode: str) -> dict[str, Any]:
        most = 1 if mode == "first" else self.max_solutions
        return {"text": text, "wanted": wanted, "max_rows": most, "max_distinct": most + 1}

    def _try_hidden(
        self,
        source: str,
        candidates: list[str],
        wanted: int | list[str],
        mode: str,
    ) -> dict[str, Answers]:
        if not candidates:
            return {}
        asked = [self._request(text, wanted, mode) for text in candidates]
        answers = self._ask(source, asked, inferences=_HIDDEN_INFERENCES)
        ends = ("exhausted", "capped") if mode == "first" else ("exhausted",)
        return {
            text: found
            for text, found in zip(candidates, answers, strict=True)
            if found.rows and found.how in ends and len(found.rows) <= _HIDDEN_ROWS
        }


def _syntax_error(events: Sequence[dict[str, Any]]) -> str:
    for event in events:
        if event.get("k") == "note" and event.get("kind") == "syntax":
            return f"syntax error: {event.get('v')}"
    return ""


@dataclass(frozen=True, slots=True)
class _ProgramRun:
    own: dict[str, Answers]
    hidden: dict[str, dict[str, Answers]]


def _from_answers(answers: Answers, expect: Expect) -> Expected:
    if not answers.rows:
        return Expected("solutions", expect.mode, (), -1)
    width = len(answers.rows[0])
    if width == 0:
        return Expected("truth", "set", ((),), 0)
    return Expected("solutions", expect.mode, answers.rows, -1)


def _made_up(events: list[dict[str, Any]], index: int) -> list[str]:
    for event in events:
        if event.get("k") == "hidden" and event.get("q") == index and event.get("kind") == "row":
            read = decode((event["v"] or [None])[0])
            if isinstance(read, List):
                return [item.value for item in read.items if isinstance(item, Text)]
    return []


def _plain(value: Any) -> Term:  # noqa: ANN401 - JSON
    if isinstance(value, list):
        return List(tuple(_plain(item) for item in value))
    if isinstance(value, str):
        number: Number | None = read_number(value)
        return Text(value.strip()) if number is None else number
    if isinstance(value, bool):
        return Atom("true" if value else "false")
    assert isinstance(value, int | float)
    return value


def _simple_row(row: tuple[str, ...]) -> _Row | None:
    read: list[Term] = []
    for cell in row:
        text = cell.strip()
        if _INTEGER.fullmatch(text):
            read.append(int(text))
        elif _PLAIN_ATOM.fullmatch(text) and text[0].islower():
            read.append(Atom(text))
        else:
            return None
    return tuple(read)
