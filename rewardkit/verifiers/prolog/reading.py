"""The engine's events, read: what it found for each query."""

from collections.abc import Sequence
from typing import Any

from rewardkit.verifiers.prolog.outcome import Answers
from rewardkit.verifiers.prolog.terms import Opaque, Term, decode

__all__ = ["find", "read_answers", "read_rows"]


def find(events: Sequence[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """Returns the first event of a kind, or None."""
    return next((event for event in events if event.get("k") == kind), None)


def read_answers(events: Sequence[dict[str, Any]], count: int) -> list[Answers]:
    """Returns the answers to each of `count` queries.

    A query that was not reached has the status with which the process ended.
    """
    rows: list[list[tuple[Term, ...]]] = [[] for _ in range(count)]
    ends: list[dict[str, Any] | None] = [None] * count
    ended = str(events[-1].get("how", "lost")) if events else "lost"
    load = find(events, "load")
    failed = load["v"] if load is not None and load.get("kind") == "error" else None
    for event in events:
        index = event.get("q", 0)
        if event.get("k") == "row" and index < count:
            rows[index].append(read_row(event.get("v")))
        elif event.get("k") == "asked" and index < count:
            ends[index] = event["v"]
    read = []
    for found, end in zip(rows, ends, strict=True):
        if end is None:
            end = {"how": "error", "error": failed} if failed else {"how": ended}
        error = end.get("error") or {}
        read.append(
            Answers(
                tuple(found),
                str(end.get("how")),
                str(error.get("class", "")),
                str(error.get("text", "")),
                int(end.get("inferences", 0)),
            )
        )
    return read


def read_rows(forms: Any) -> tuple[tuple[Term, ...], ...]:  # noqa: ANN401 - JSON
    """Returns rows of terms from rows of their JSON."""
    return tuple(map(read_row, forms)) if isinstance(forms, list) else ()


def read_row(form: Any) -> tuple[Term, ...]:  # noqa: ANN401 - JSON
    """Returns one row of terms."""
    return tuple(map(decode, form)) if isinstance(form, list) else (Opaque("unreadable"),)
