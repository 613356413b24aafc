"""Typed comparison of rows: what is equal, and whether two bags of rows can be paired up.

Numbers may differ by a tolerance, so equality is not transitive and rounding to a key would cut
between two equal values somewhere. Rows are paired by a matching instead.
"""

import bisect
import contextlib
import datetime
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

from rewardkit.verifiers.sql._engines.base import Row

__all__ = ["contains", "equal_bags", "equal_rows", "equal_values", "exact_key"]

_MAX_STEPS = 200_000
"""Pairs that one matching may look at."""


def exact_key(value: object) -> Hashable:
    """Returns a key that two values share if they are equal without tolerance.

    2 and 2.0 share one, '2' has another; a date is the timestamp at its midnight; NULL equals NULL.

    >>> exact_key(2) == exact_key(2.0), exact_key(2) == exact_key("2")
    (True, False)
    """
    if isinstance(value, bool):
        return ("number", int(value))
    if isinstance(value, int | float | Decimal):
        if value != value:  # NaN
            return ("number", "nan")
        return ("number", value)
    if value is None:
        return None
    return _other_key(value)


def _other_key(value: object) -> Hashable:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value))
    if isinstance(value, datetime.datetime):
        aware = value.tzinfo is not None
        return ("time", value.astimezone(datetime.UTC).replace(tzinfo=None) if aware else value)
    if isinstance(value, datetime.date):
        return ("time", datetime.datetime(value.year, value.month, value.day))
    if isinstance(value, dict):
        return ("map", tuple((exact_key(k), exact_key(v)) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return ("list", tuple(exact_key(v) for v in value))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(exact_key(v) for v in value))
    return (type(value).__name__, str(value))


def equal_values(left: object, right: object, tolerance: float) -> bool:
    """Returns whether two values are equal, numbers within a tolerance.

    Two integers are equal only if they are the same; with another number on a side,
    |a - b| <= tolerance * max(1, |a|, |b|).

    >>> equal_values(0.1 + 0.2, 0.3, 1e-9), equal_values(10**17, 10**17 + 1, 1e-9)
    (True, False)
    """
    if not (_is_number(left) and _is_number(right)):
        return exact_key(left) == exact_key(right)
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return _close(left, right, tolerance)


def equal_rows(left: Row, right: Row, tolerance: float) -> bool:
    """Returns whether two rows of one width are equal, value by value."""
    return all(equal_values(a, b, tolerance) for a, b in zip(left, right, strict=True))


def equal_bags(left: Sequence[Row], right: Sequence[Row], tolerance: float) -> bool:
    """Returns whether two bags hold the same rows as often."""
    return len(left) == len(right) and contains(left, right, tolerance)


def contains(whole: Sequence[Row], part: Sequence[Row], tolerance: float) -> bool:
    """Returns whether each row of `part` can be paired with an equal row of `whole` of its own.

    Args:
        whole: rows of one width.
        part: rows of the same width.
        tolerance: as in `equal_values`.
    """
    # Most right predictions: Python's equality of plain values is never laxer than ours.
    if len(whole) == len(part):
        if whole == part:
            return True
        with contextlib.suppress(TypeError):  # lists and maps have no hash
            if Counter(whole) == Counter(part):
                return True
    missing = Counter(map(_row_key, part))
    missing.subtract(Counter(map(_row_key, whole)))
    if not any(count > 0 for count in missing.values()):
        return True
    if len(part) > len(whole):
        return False
    inexact = _inexact_columns(whole, part)
    if not inexact:
        return False
    groups: dict[Hashable, tuple[list[Row], list[Row]]] = {}
    for side, rows in ((0, whole), (1, part)):
        for row in rows:
            key, numbers = _split(row, inexact)
            groups.setdefault(key, ([], []))[side].append(numbers)
    return all(_pair_up(whole, part, tolerance) for whole, part in groups.values())


def _row_key(row: Row) -> Hashable:
    return tuple(map(exact_key, row))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal)


def _close(left: Any, right: Any, tolerance: float) -> bool:  # noqa: ANN401
    if left == right:
        return True
    try:
        a, b = float(left), float(right)
    except OverflowError:  # an integer beyond the floats
        return False
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (a != a and b != b)
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def _inexact_columns(whole: Sequence[Row], part: Sequence[Row]) -> list[int]:
    width = len(part[0])
    return [
        i
        for i in range(width)
        if any(isinstance(row[i], float | Decimal) for rows in (whole, part) for row in rows)
    ]


def _split(row: Row, inexact: Sequence[int]) -> tuple[Hashable, Row]:
    """Returns a key of what must be the same, and the numbers that may differ a little."""
    numbers = tuple(row[i] for i in inexact if _is_number(row[i]))
    key = tuple(
        "number" if i in inexact and _is_number(value) else (i, exact_key(value))
        for i, value in enumerate(row)
    )
    return key, numbers


def _pair_up(whole: list[Row], part: list[Row], tolerance: float) -> bool:
    """Returns whether a matching covers `part`: augmenting paths over windows of the first number.

    One number a row needs no paths: paired in order is paired as well as can be if the counts are
    the same.
    """
    if len(part) > len(whole):
        return False
    if not part or not part[0]:
        return True
    whole, part = sorted(whole, key=_sort_key), sorted(part, key=_sort_key)
    if len(whole) == len(part) and all(
        _all_close(a, b, tolerance) for a, b in zip(whole, part, strict=True)
    ):
        return True
    if len(whole) == len(part) and len(part[0]) == 1:
        return False
    return _Matching(whole, part, tolerance).covers()


def _sort_key(row: Row) -> tuple[float, ...]:
    return tuple(_as_float(value) for value in row)


def _as_float(value: Any) -> float:  # noqa: ANN401
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return math.inf if number != number else number


def _all_close(left: Row, right: Row, tolerance: float) -> bool:
    return all(_close(a, b, tolerance) for a, b in zip(left, right, strict=True))


class _Matching:
    """A bipartite matching of rows that are near one another."""

    def __init__(self, whole: list[Row], part: list[Row], tolerance: float) -> None:
        self._whole, self._part, self._tolerance = whole, part, tolerance
        self._firsts = [_as_float(row[0]) for row in whole]
        self._owner: dict[int, int] = {}
        self._steps = 0

    def covers(self) -> bool:
        return all(self._place(i) for i in range(len(self._part)))

    def _place(self, start: int) -> bool:
        # Breadth first, without recursion: a path may be as long as there are rows.
        came_from: dict[int, int] = {}
        queue = [start]
        for row in queue:
            for place in self._near(row):
                self._steps += 1
                if self._steps > _MAX_STEPS:
                    return False
                if place in came_from:
                    continue
                came_from[place] = row
                if place not in self._owner:
                    self._flip(place, came_from, start)
                    return True
                queue.append(self._owner[place])
        return False

    def _flip(self, place: int, came_from: dict[int, int], start: int) -> None:
        places = {row: taken for taken, row in self._owner.items()}
        while True:
            row = came_from[place]
            self._owner[place] = row
            if row == start:
                return
            place = places[row]

    def _near(self, row: int) -> list[int]:
        numbers = self._part[row]
        first = _as_float(numbers[0])
        reach = self._tolerance * max(1.0, abs(first)) * 2 if math.isfinite(first) else 0.0
        low = bisect.bisect_left(self._firsts, first - reach)
        high = bisect.bisect_right(self._firsts, first + reach)
        return [i for i in range(low, high) if _all_close(self._whole[i], numbers, self._tolerance)]
