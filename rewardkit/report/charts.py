"""Charts as inline SVG: plain functions from numbers to markup, with labelled axes."""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Bar", "Marker", "bar_chart", "format_seconds", "latency_chart", "nice_step"]

_WIDTH = 460
_ROW = 30
_PLOT_HEIGHT = 190
_LEFT = 52
_RIGHT = 14


@dataclass(frozen=True, slots=True)
class Bar:
    """A named bar in three parts."""

    name: str
    passed: int
    failed: int
    """Not passed, and not an abstention."""
    abstained: int

    @property
    def total(self) -> int:
        """Its whole length."""
        return self.passed + self.failed + self.abstained


@dataclass(frozen=True, slots=True)
class Marker:
    """A vertical line in the latency chart."""

    label: str
    seconds: float


def nice_step(largest: float, ticks: int = 4) -> int:
    """Returns the step of an axis from 0 to `largest`: 1, 2 or 5 times a power of ten, at least 1.

    >>> nice_step(1234), nice_step(3)
    (500, 1)
    """
    raw = max(largest / ticks, 1.0)
    power = 10 ** math.floor(math.log10(raw))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= raw))


def format_seconds(seconds: float) -> str:
    """Returns a latency in a few characters, with its unit; a dash for none.

    >>> format_seconds(0.0123), format_seconds(1e-5)
    ('12.3 ms', '10 µs')
    """
    if seconds <= 0.0:
        return "–"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale:
            return f"{_three_digits(seconds / scale)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def _three_digits(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def _svg(height: float, title: str, body: Sequence[str]) -> str:
    name = html.escape(title)
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{''.join(body)}</svg>"
    )


def _text(x: float, y: float, text: str, kind: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
        f"{html.escape(text)}</text>"
    )


def _rect(x: float, y: float, width: float, height: float, kind: str, tip: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" height="{max(height, 0):.2f}" '
        f'class="{kind}"><title>{html.escape(tip)}</title></rect>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def bar_chart(title: str, bars: Sequence[Bar], *, axis: str) -> str:
    """Returns horizontal bars, each split into passed, not passed and abstained.

    Args:
        title: read aloud by screen readers.
        bars: in the order in which they are drawn; names are plain text without hidden characters.
        axis: what the length means.
    """
    left = 22 + 7.2 * max((min(len(bar.name), 22) for bar in bars), default=0)
    right = _WIDTH - 48
    largest = max((bar.total for bar in bars), default=0) or 1
    scale = (right - left) / largest
    bottom = 8 + _ROW * len(bars)
    body = []
    step = nice_step(largest)
    for tick in range(0, largest + 1, step):
        x = left + tick * scale
        body += [_line(x, 4, x, bottom, "grid"), _text(x, bottom + 16, f"{tick:,}", "tick")]
    for row, bar in enumerate(bars):
        y = 8 + row * _ROW
        name = bar.name if len(bar.name) <= 22 else f"{bar.name[:21]}…"
        body.append(_text(left - 8, y + 16, name, "label", "end"))
        x = left
        for kind, count in (
            ("passed", bar.passed),
            ("failed", bar.failed),
            ("abstained", bar.abstained),
        ):
            if count:
                tip = f"{bar.name}: {count:,} {'not passed' if kind == 'failed' else kind}"
                body.append(_rect(x, y + 2, count * scale, _ROW - 10, f"fill-{kind}", tip))
                x += count * scale
        body.append(_text(x + 6, y + 16, f"{bar.total:,}", "value", "start"))
    body.append(_line(left, 4, left, bottom, "axis"))
    body.append(_text((left + right) / 2, bottom + 34, axis, "axis-name"))
    return _svg(bottom + 42, title, body)


def latency_chart(
    title: str, bars: Sequence[tuple[float, float, int]], markers: Sequence[Marker]
) -> str:
    """Returns a histogram of latencies over a logarithmic axis.

    Args:
        title: read aloud by screen readers.
        bars: (from seconds, to seconds, rows), without a gap between them.
        markers: quantiles.
    """
    first = math.floor(math.log10(bars[0][0]) + 1e-9)
    last = max(math.ceil(math.log10(bars[-1][1]) - 1e-9), first + 1)
    top, bottom = 34.0, 34.0 + _PLOT_HEIGHT
    largest = max(count for _, _, count in bars)
    step = nice_step(largest)
    height = _PLOT_HEIGHT / (math.ceil(largest / step) * step)
    width = (_WIDTH - _LEFT - _RIGHT) / (last - first)

    def place(seconds: float) -> float:
        power = math.log10(max(seconds, 1e-9))
        return _LEFT + (min(max(power, first), last) - first) * width

    body = []
    for tick in range(0, math.ceil(largest / step) * step + 1, step):
        y = bottom - tick * height
        body.append(_line(_LEFT, y, _WIDTH - _RIGHT, y, "grid"))
        body.append(_text(_LEFT - 7, y + 4, f"{tick:,}", "tick", "end"))
    for low, high, count in bars:
        if count:
            tip = f"{format_seconds(low)} to {format_seconds(high)}: {count:,} rows"
            x, end = place(low), place(high)
            y = bottom - count * height
            body.append(_rect(x + 0.5, y, end - x - 1, bottom - y, "fill-latency", tip))
    every = max(1, math.ceil((last - first) / 7))
    for power in range(first, last + 1):
        x = _LEFT + (power - first) * width
        body.append(_line(x, bottom, x, bottom + 5, "axis"))
        if (power - first) % every == 0:
            anchor = "end" if power == last else "middle"
            at = min(x + 6, _WIDTH - 2) if power == last else x
            body.append(_text(at, bottom + 19, format_seconds(10.0**power), "tick", anchor))
    body.append(_line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "axis"))
    body += _markers(markers, place, top, bottom)
    body.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 38, _LATENCY_AXIS, "axis-name"))
    body.append(_text(_LEFT - 7, 14, "rows", "axis-name", "end"))
    return _svg(bottom + 46, title, body)


_LATENCY_AXIS = "time for one verdict, logarithmic"


def _markers(
    markers: Sequence[Marker], place: Callable[[float], float], top: float, bottom: float
) -> list[str]:
    """Returns the lines and their labels: the last one's to its right, the others' to the left."""
    body = []
    for number, marker in enumerate(markers):
        x = place(marker.seconds)
        body.append(_line(x, top - 12, x, bottom, "marker"))
        is_last = number == len(markers) - 1
        # A label that would leave the picture goes to the other side of its line.
        rightwards = (is_last and x < _WIDTH - 110) or x < _LEFT + 110
        anchor, shift = ("start", 5) if rightwards else ("end", -5)
        label = f"{marker.label} {format_seconds(marker.seconds)}"
        y = top - 4 - (14 if rightwards and not is_last else 0)
        body.append(_text(x + shift, y, label, "marker-name", anchor))
    return body
