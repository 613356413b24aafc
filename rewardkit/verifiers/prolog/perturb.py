"""Runs a program's variants for the audit: which literals move the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.verifiers.prolog.audit import Literal, Report
from rewardkit.verifiers.prolog.engine import Engine, Talk
from rewardkit.verifiers.prolog.reading import read_answers, read_rows
from rewardkit.verifiers.prolog.terms import Term, as_number, numbers_equal, same

__all__ = ["perturb"]

_Rows: TypeAlias = tuple[tuple[Term, ...], ...]
_Edits: TypeAlias = list[list[int | str]]
_MAX_RESTARTS = 2
_ROWS = 8
_UNKNOWN, _SAME, _FAILED, _OTHER = range(4)
"""How far a change has moved the answer: not at all, away, to another one."""
_UNDECIDED = ("limit", "resource", "size", "broken")


@dataclass(frozen=True, slots=True)
class _Result:
    """What one variant gave; `rows` is None where that is not known."""

    rows: _Rows | None
    error: str = ""


class Variants:
    """Runs variants of one program on one query."""

    def __init__(
        self, engine: Engine, program: str, query: dict[str, Any], inferences: int
    ) -> None:
        self.engine = engine
        self.program = program
        self.query = {**query, "max_rows": _ROWS}
        # A variant may take somewhat longer than the program itself, and no more.
        self.inferences = min(engine.limits.inferences, 5 * inferences + 20_000)
        self.left_s = 2 * engine.limits.timeout_s
        """Processor seconds that are left for them all."""

    def quickly(self, variants: Sequence[_Edits], talk: Talk | None) -> list[_Result]:
        """Runs all where the program has been loaded, from the clauses as they were read."""
        if talk is None:
            return self.together(variants, None)
        events = self._ask(talk, list(variants), quick=True)
        results = [_read_variant(event) for event in events if event.get("k") == "variant"]
        return results + [_Result(None, "broken")] * (len(variants) - len(results))

    def together(self, variants: Sequence[_Edits], talk: Talk | None) -> list[_Result]:
        """Runs all in one process, each loaded into a module of its own."""
        results: list[_Result] = []
        restarts = 0
        while len(results) < len(variants) and restarts <= _MAX_RESTARTS and self.left_s > 0:
            left = list(variants[len(results) :])
            if talk is not None:
                events = self._ask(talk, left)
                talk = None
            else:
                with self.engine.talk() as fresh:
                    events = self._ask(fresh, left)
            results += [_read_variant(event) for event in events if event.get("k") == "variant"]
            if len(results) < len(variants):
                # What one variant breaks says nothing of the next.
                results.append(_Result(None, "broken"))
                restarts += 1
        results += [_Result(None, "broken")] * (len(variants) - len(results))
        return results

    def apart(self, variants: Sequence[_Edits], _talk: Talk | None) -> list[_Result]:
        """Runs each as the program itself was run, in a sandbox of its own."""
        return [
            self._run_alone(edits) if self.left_s > 0 else _Result(None, "broken")
            for edits in variants
        ]

    def _ask(
        self, talk: Talk, variants: list[_Edits], *, quick: bool = False
    ) -> list[dict[str, Any]]:
        events = talk.request(
            program=self.program,
            queries=[self.query],
            variants=variants,
            inferences=self.inferences,
            quick=quick,
        )
        self.left_s -= float(events[-1].get("cpu_s", 0.0))
        return events

    def _run_alone(self, edits: _Edits) -> _Result:
        text = self.program
        for start, end, new in sorted(edits, key=lambda edit: -int(edit[0])):
            text = f"{text[: int(start)]}{new}{text[int(end) :]}"
        with self.engine.talk() as talk:
            events = talk.request(program=text, queries=[self.query], inferences=self.inferences)
        self.left_s -= float(events[-1].get("cpu_s", 0.0))
        answers = read_answers(events, 1)[0]
        if answers.how in ("exhausted", "capped", "distinct"):
            return _Result(answers.rows[:_ROWS])
        return _Result(() if answers.how == "error" else None, answers.error or answers.how)


def perturb(
    variants: Variants, literals: Sequence[Literal], base: _Rows, talk: Talk | None
) -> Report | None:
    """Returns which literals move the answer; None if the program does not repeat its own answer.

    Args:
        variants: how variants are run.
        literals: what is changed, one at a time.
        base: the rows that the program gives as it is.
        talk: a sandbox in which the program has just run.
    """
    rows = base[:_ROWS]
    # Each way is nearer to how the program itself was run, and dearer, than the one before.
    for run in (variants.quickly, variants.together, variants.apart):
        report = _run(run, literals, rows, talk)
        if report is not None:
            return report
        talk = None
    return None


def _run(
    run: Callable[[Sequence[_Edits], Talk | None], list[_Result]],
    literals: Sequence[Literal],
    base: _Rows,
    talk: Talk | None,
) -> Report | None:
    repeats = [_is_answer(one, base) for one in literals]
    plan = [(i, 0) for i in range(len(literals))]
    plan += [(i, 1) for i, repeated in enumerate(repeats) if repeated]
    edits = [_edits(literals[i], which) for i, which in plan]
    # The program as it is comes last: it must still say what it said.
    *results, again = run([*edits, []], talk)
    if not _agree(again, base):
        return None
    moved: list[int] = [_UNKNOWN] * len(literals)
    follows = list(repeats)
    for (i, which), result in zip(plan, results, strict=True):
        moved[i] = max(moved[i], _move(result, base))
        follows[i] &= _follows(result, literals[i].changed(which)[1])
    # Where the answer is a literal, failing shows a check of it and no work.
    enough = _OTHER if any(follows) else _FAILED
    still = [i for i, far in enumerate(moved) if far < enough and not repeats[i]]
    if still:
        second = run([_edits(literals[i], 1) for i in still], None)
        for i, result in zip(still, second, strict=True):
            moved[i] = max(moved[i], _move(result, base))
    known = [i for i, far in enumerate(moved) if far != _UNKNOWN]
    return Report(
        tuple(literals[i] for i in known),
        tuple(moved[i] >= enough for i in known),
        tuple(follows[i] for i in known),
    )


def _edits(literal: Literal, which: int) -> _Edits:
    return [[literal.start, literal.end, literal.changed(which)[0]]]


def _read_variant(event: dict[str, Any]) -> _Result:
    error = event.get("error") or {}
    return _Result(read_rows(event.get("rows")), str(error.get("class", "")))


def _agree(result: _Result, base: _Rows) -> bool:
    return (
        result.rows is not None
        and not result.error
        and len(result.rows) == len(base)
        and all(
            len(a) == len(b) and all(map(same, a, b))
            for a, b in zip(result.rows, base, strict=True)
        )
    )


def _move(result: _Result, base: _Rows) -> int:
    # A variant that ran out of time or broke its process has shown nothing.
    if result.rows is None or result.error in _UNDECIDED:
        return _UNKNOWN
    if _agree(result, base):
        return _SAME
    return _OTHER if result.rows else _FAILED


def _is_answer(literal: Literal, base: _Rows) -> bool:
    return bool(base) and bool(base[0]) and _is(base[0][0], literal.value)


def _follows(result: _Result, value: Term) -> bool:
    rows = result.rows or ()
    return bool(rows) and bool(rows[0]) and _is(rows[0][0], value)


def _is(term: Term, value: Term) -> bool:
    # '49' turned into 49 is 49 all the same.
    one, other = as_number(term), as_number(value)
    if one is not None and other is not None:
        return numbers_equal(one, other)
    return same(term, value)
