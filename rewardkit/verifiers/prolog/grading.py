"""From one program's run to its verdict."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.prolog.audit import Audit, read_literals, score
from rewardkit.verifiers.prolog.engine import LostError, Talk
from rewardkit.verifiers.prolog.oracle import Asked
from rewardkit.verifiers.prolog.outcome import RAN, REASONS, Answers, Judged, judge
from rewardkit.verifiers.prolog.perturb import Variants, perturb
from rewardkit.verifiers.prolog.reading import find, read_answers
from rewardkit.verifiers.prolog.reference import Task
from rewardkit.verifiers.prolog.terms import Variable

if TYPE_CHECKING:
    from rewardkit.verifiers.prolog.verifier import PrologVerifier

__all__ = ["grade"]

_ENCODING = re.compile(r":-\s*encoding\(\s*\w+\s*\)")
_DETAIL_CHARS = 300
_SPRAY = 5


@dataclass(frozen=True, slots=True)
class _Whole:
    """What a program as a whole came to."""

    outcome: str
    detail: str
    share: float = 0.0
    sprayed: bool = False


def grade(verifier: "PrologVerifier", program: str, task: Task) -> Verdict:
    """Returns the verdict on a program.

    Raises:
        InvalidReferenceError: the reference's values or program cannot be used.
        LostError: the sandbox was lost.
    """
    asked = verifier.oracle.asked(task)
    unreadable = _unreadable(program)
    if unreadable:
        return _verdict(verifier, program, _Whole("syntax_error", unreadable), [], None, "")
    audited = _audited(verifier, asked)
    queries = [_request(verifier, one, task) for one in asked]
    text = _as_text(program)
    with verifier.engine.talk() as talk:
        events = talk.request(
            program=text,
            queries=queries,
            structure=True,
            literals=audited is not None,
            sandbox=verifier.sandbox_signal,
        )
        broken = find(events, "broken")
        if broken is not None:
            raise LostError(str(broken.get("v")))
        answers = read_answers(events, len(asked))
        whole = _whole(events, answers, asked)
        if any(found.error == "query_syntax" for found in answers):
            whole = _blame(whole, verifier.oracle.unread(task))
        audit = None
        if audited is not None and whole.outcome not in ("syntax_error", "unsafe"):
            found = answers[audited]
            variants = Variants(verifier.engine, text, queries[audited], found.inferences)
            audit = _audit(variants, events, found, text, task, talk)
        isolation = talk.session.isolation
    return _verdict(verifier, program, whole, events, audit, isolation)


def _as_text(program: str) -> str:
    """Returns a program as the engine reads it from memory, where no encoding can be declared."""
    text = program.removeprefix("\ufeff")
    return _ENCODING.sub(lambda m: ":- true".ljust(len(m[0])), text)


def _unreadable(program: str) -> str:
    if "\0" in program:
        return "a NUL character"
    if any("\ud800" <= c <= "\udfff" for c in program):
        return "a lone surrogate"
    return ""


def _request(verifier: "PrologVerifier", asked: Asked, task: Task) -> dict[str, Any]:
    expected = asked.expected
    wanted: Any = expected.width
    if task.variables is not None and expected.kind != "truth":
        wanted = list(task.variables)
    most = verifier.max_solutions
    rows, distinct = most, most + 1
    if expected.kind == "answer":
        distinct = _SPRAY
    elif expected.kind == "truth" or expected.mode == "first":
        rows = 1
    else:
        rows = max(most, 2 * len(expected.rows) + 10)
        distinct = rows + 1
    return {"text": asked.text, "wanted": wanted, "max_rows": rows, "max_distinct": distinct}


def _audited(verifier: "PrologVerifier", asked: Sequence[Asked]) -> int | None:
    """Returns which query is audited: the first whose answer is a number."""
    if not verifier.audit:
        return None
    for index, one in enumerate(asked):
        if one.expected.kind == "answer" and isinstance(
            one.expected.rows[0][0], int | float | Fraction
        ):
            return index
    return None


def _whole(
    events: Sequence[dict[str, Any]], answers: Sequence[Answers], asked: Sequence[Asked]
) -> _Whole:
    refused = find(events, "refused")
    if refused is not None:
        where = "while loading" if refused.get("kind") == "load" else "during a query"
        return _Whole("unsafe", f"refused {where}: {refused.get('v')}")
    for event in events:
        if event.get("k") == "note" and event.get("kind") == "syntax":
            return _Whole("syntax_error", f"syntax error: {event.get('v')}")
    load = find(events, "load")
    if load is None or load.get("kind") == "error":
        return _from_load(load, str(events[-1].get("how", "")))
    judged = [judge(found, one.expected) for found, one in zip(answers, asked, strict=True)]
    share = sum(one.share for one in judged) / len(judged)
    for one, query in zip(judged, asked, strict=True):
        if not one.passed:
            return _failed(one, query, share)
    return _Whole("ok", judged[0].detail, share)


def _failed(judged: Judged, asked: Asked, share: float) -> _Whole:
    name = f"hidden query {asked.text[:80]}: " if asked.hidden else ""
    return _Whole(judged.outcome, f"{name}{judged.detail}", share, judged.sprayed)


def _blame(whole: _Whole, unread: Sequence[str]) -> _Whole:
    """Returns the outcome where a query could not be read: the reference's, unless a program can.

    A query that Prolog itself cannot read either is no fault of the program, or one that cannot be
    told apart: a program that should define operators for it.
    """
    if not unread or whole.outcome in ("syntax_error", "unsafe"):
        return whole
    return _Whole("unread_query", f"the reference's query cannot be read: {unread[0][:100]}")


def _from_load(load: Mapping[str, Any] | None, how: str) -> _Whole:
    error = (load or {}).get("v") or {}
    kind = error.get("class", how)
    if kind in ("limit", "cpu", "wall"):
        # A directive without end is not what a query asked for.
        return _Whole("unsafe", "loading does not end")
    other = "error" if error else "crash"
    outcome = {"resource": "resource", "memory": "resource"}.get(kind, other)
    return _Whole(outcome, f"loading failed: {error.get('text', how)}")


def _audit(
    variants: Variants,
    events: Sequence[dict[str, Any]],
    found: Answers,
    program: str,
    task: Task,
    talk: Talk,
) -> Audit | None:
    literals = read_literals(find(events, "literals"), program)
    if not literals or found.how not in ("exhausted", "capped") or not _is_one_value(found):
        return None
    alive = talk if events[-1].get("how") == "done" else None
    report = perturb(variants, literals, found.rows, alive)
    if report is None:
        return Audit(0.0, "the program does not repeat its answer when it is run again", {})
    if not report.literals:
        return Audit(0.0, "no change of a number could be run to its end", {})
    return score(report, program, task.problem)


def _is_one_value(found: Answers) -> bool:
    values = {row[0] for row in found.rows if row}
    return len(values) == 1 and not isinstance(next(iter(values)), Variable)


def _verdict(
    verifier: "PrologVerifier",
    program: str,
    whole: _Whole,
    events: Sequence[dict[str, Any]],
    audit: Audit | None,
    isolation: str,
) -> Verdict:
    reason = Reason.AMBIGUOUS if whole.sprayed else REASONS[whole.outcome]
    value: float | None = float(whole.outcome == "ok")
    if whole.outcome == "unread_query":
        value = None
    detail = whole.detail
    if value and audit is not None and verifier.auditable:
        value = audit.value
        if value < 1:
            reason = Reason.CHEATED if value < 0.5 else Reason.PARTIAL
            detail = f"{detail}; {audit.why}"
    return Verdict(
        value,
        reason,
        answer=program,
        detail=_clean(f"engine: {detail}"),
        parts=_parts(whole, events, audit),
        evidence=_evidence(whole, events, audit, isolation),
    )


def _parts(
    whole: _Whole, events: Sequence[dict[str, Any]], audit: Audit | None
) -> dict[str, float]:
    parts = {
        "syntax": float(whole.outcome != "syntax_error"),
        "execution": float(whole.outcome in RAN),
        "semantics": whole.share if whole.outcome != "unsafe" else 0.0,
    }
    structure = _structure(events)
    if structure:
        reachable = structure["reachable"] / max(1, structure["clauses"])
        parts["structure"] = (reachable + min(max(structure["depth"], 0), 3) / 3) / 2
    if audit is not None:
        parts["auditability"] = audit.value
    return parts


def _structure(events: Sequence[dict[str, Any]]) -> dict[str, int]:
    event = find(events, "structure")
    if event is None or event.get("kind") != "row" or not isinstance(event.get("v"), dict):
        return {}
    return {key: int(value) for key, value in event["v"].items()}


def _evidence(
    whole: _Whole, events: Sequence[dict[str, Any]], audit: Audit | None, isolation: str
) -> dict[str, Json]:
    evidence: dict[str, Json] = {"outcome": whole.outcome, "isolation": isolation}
    structure = _structure(events)
    if structure:
        evidence["structure"] = dict(structure)
    if audit is not None:
        evidence["audit"] = {**audit.evidence, "why": audit.why}
    notes: list[Json] = [
        _clean(str(e.get("v"))) for e in events if e.get("k") == "note" and e.get("kind") == "load"
    ]
    if notes:
        evidence["load_messages"] = notes[:5]
    signal = find(events, "sandbox")
    if signal is not None:
        verdict = signal.get("v")
        text = verdict.get("text", "") if isinstance(verdict, dict) else verdict
        evidence["sandbox"] = _clean(str(text))
    if events and "cpu_s" in events[-1]:
        evidence["cpu_s"] = events[-1]["cpu_s"]
    if events and events[-1].get("denied"):
        evidence["denied_calls"] = events[-1]["denied"]
    return evidence


def _clean(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text[: 2 * _DETAIL_CHARS])
    return clean if len(clean) <= _DETAIL_CHARS else clean[:_DETAIL_CHARS] + "…"
