"""Cuts long text down to what a reader needs: the graded span, its surroundings, and the end."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Excerpt", "Segment", "cut_excerpt", "find_span"]

_WHOLE_CHARS = 2400
_AROUND_CHARS = 500
_EDGE_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text; the graded span; or how many characters are left out."""

    kind: Literal["text", "graded", "gap"]
    text: str = ""
    left_out: int = 0
    """Characters that a gap stands for."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text, cut down."""

    segments: tuple[Segment, ...]
    length: int
    """Characters of the whole text."""


def find_span(text: str, answer: str | None, hint: object = None) -> tuple[int, int] | None:
    """Returns where the graded answer stands in a text, or None where it does not.

    Args:
        text: the completion.
        answer: the span as the verdict spells it; its last occurrence counts.
        hint: `[start, end]`, where the verifier says where it looked.
    """
    if isinstance(hint, list) and len(hint) == 2 and all(isinstance(i, int) for i in hint):
        start, end = hint
        if 0 <= start < end <= len(text):
            return start, end
    if not answer:
        return None
    start = text.rfind(answer)
    return (start, start + len(answer)) if start >= 0 else None


def cut_excerpt(
    text: str, span: tuple[int, int] | None = None, *, keep_start: bool = False
) -> Excerpt:
    """Returns a text cut to a few thousand characters at most.

    Args:
        text: of any length.
        span: the graded part; it stays, with what surrounds it.
        keep_start: keep the beginning as well as the end, as for a prompt.
    """
    if len(text) <= _WHOLE_CHARS:
        windows = [(0, len(text))]
    else:
        windows = [(len(text) - _EDGE_CHARS, len(text))]
        if keep_start:
            windows.append((0, _EDGE_CHARS))
        if span is not None:
            windows += _span_windows(span, len(text))
    segments: list[Segment] = []
    at = 0
    for start, end in _merge(windows):
        if start > at:
            segments.append(Segment("gap", left_out=start - at))
        segments += _mark(text, start, end, span)
        at = end
    return Excerpt(tuple(segments), len(text))


def _span_windows(span: tuple[int, int], length: int) -> list[tuple[int, int]]:
    start, end = span
    if end - start <= 2 * _AROUND_CHARS:
        return [(max(start - _AROUND_CHARS, 0), min(end + _AROUND_CHARS, length))]
    # A span that is itself huge: its two ends.
    return [
        (max(start - _AROUND_CHARS, 0), start + _AROUND_CHARS),
        (end - _AROUND_CHARS, min(end + _AROUND_CHARS, length)),
    ]


def _merge(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(windows):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _mark(text: str, start: int, end: int, span: tuple[int, int] | None) -> list[Segment]:
    first, last = span or (end, end)
    first, last = max(first, start), min(last, end)
    if first >= last:
        return [Segment("text", text[start:end])] if end > start else []
    parts = [
        Segment("text", text[start:first]),
        Segment("graded", text[first:last]),
        Segment("text", text[last:end]),
    ]
    return [part for part in parts if part.text]
