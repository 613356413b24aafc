"""The values that a column may take in generated data: around constants, and plain ones."""

import calendar
import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from rewardkit.verifiers.sql._checks import admitted
from rewardkit.verifiers.sql._clues import Clues, Constant
from rewardkit.verifiers.sql._schema import Column

__all__ = ["Domain", "make_domain"]

_INTS = (0, 1, 2, 3, 5, 7, -1)
_FINE = 2**-7
"""What rounding to few digits loses."""
_REALS = (0.0, 1.5, 0.25, 2.25, 3.0, -1.5, 10 + _FINE)
"""Sums of few powers of two, so that no order of adding them up makes noise."""
_LONG = "abcdefghijklmnopqrstuvwxyz"
_TEXTS = ("a", "b", "ab", "Ab", "", "B c")
_DATES = ("2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01", "2024-06-15", "2025-01-01")
_ISO = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2})?)?([ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?\W?")
_YEAR = re.compile(r"(?:18|19|20|21)\d{2}")
_INT_LIMIT = 2**31 - 1
_MAX_VALUES = 60


@dataclass(frozen=True, slots=True)
class Domain:
    """Values of one column."""

    focus: tuple[Any, ...]
    """Constants of the queries and their neighbours."""
    plain: tuple[Any, ...]
    """Others, with those of the given rows among them."""
    wanted: tuple[Any, ...] = ()
    """Values that satisfy the queries' comparisons."""


def make_domain(
    column: Column, samples: Sequence[Any], clues: Clues, tests: Sequence[str] = ()
) -> Domain:
    """Returns what a column may hold.

    Args:
        column: name and kind.
        samples: some given values.
        clues: the constants of the queries.
        tests: its CHECK constraints, in SQLite's words.
    """
    own = clues.of_column(column.name)
    # What a linked column meets, this one meets as well.
    own += [c for name in clues.linked(column.name) for c in clues.of_column(name)]
    known = [value for value in samples if value is not None]
    kind = _true_kind(column.kind, known, own)
    make = _MAKERS[kind]
    focus = make(own)
    if kind == "real":
        focus[1:1] = _between(own)
    wanted = _first_of(make, clues.wanted_of(column.name))
    loose = make([c for c in sorted(clues.loose, key=str) if _suits(kind, c)])
    plain = _unique([*_plain(kind, known), *loose[:6]])
    if column.size is not None:
        focus = [v[: column.size] if isinstance(v, str) else v for v in focus]
        plain = [v[: column.size] if isinstance(v, str) else v for v in plain]
    if tests:
        allowed = admitted([*focus, *plain], column.name, tests)
        focus, plain, wanted = ([v for v in vs if v in allowed] for vs in (focus, plain, wanted))
    return Domain(
        tuple(_unique(focus)[:_MAX_VALUES]), tuple(_unique(plain)[:_MAX_VALUES]), tuple(wanted)
    )


def _first_of(
    make: Callable[[Iterable[Constant]], list[Any]], constants: Sequence[Constant]
) -> list[Any]:
    """Returns the constants themselves, as the column writes them."""
    return _unique(made[0] for constant in constants if (made := make([constant])))


def _true_kind(kind: str, samples: Sequence[Any], own: Sequence[Constant]) -> str:
    """Returns the kind that a column's values have, where its type says text or nothing."""
    if kind in ("int", "real") and samples and all(isinstance(v, str) for v in samples):
        kind = "text"
    if kind == "real" and samples and all(type(v) is int for v in samples):
        kind = "real"
    if kind != "text":
        return kind
    texts = [v for v in samples if isinstance(v, str)] or [v for v in own if isinstance(v, str)]
    dated = [m for v in texts if (m := _ISO.fullmatch(v)) and m[3]]
    if texts and len(dated) * 5 >= len(texts) * 3:
        return "timestamp_text" if all(m[4] for m in dated) else "date_text"
    if samples and not texts and all(isinstance(v, int | float) for v in samples):
        return "real"
    return "text"


def _suits(kind: str, constant: Constant) -> bool:
    if kind in ("int", "real"):
        return not isinstance(constant, str)
    if kind == "text":
        return isinstance(constant, str)
    return isinstance(constant, str) and _ISO.match(constant) is not None


def _plain(kind: str, samples: Sequence[Any]) -> list[Any]:
    seen = _unique(samples)[:5]
    if kind == "int":
        return [*_INTS, *(v for v in seen if isinstance(v, int))]
    if kind == "real":
        return [*_REALS, *(v for v in seen if isinstance(v, int | float))]
    if kind == "text":
        return [*_TEXTS, *(v[:100] for v in seen if isinstance(v, str))]
    if kind == "bool":
        return [True, False]
    if kind == "blob":
        return [b"", b"a", b"\x00\xff"]
    return _dates([*_DATES, *map(str, seen)], kind, around=False)


def _around_ints(constants: Iterable[Constant]) -> list[Any]:
    found: list[Any] = []
    for constant in constants:
        number = _as_number(constant)
        if number is None or abs(number) > _INT_LIMIT - 2:
            continue
        whole = int(number)
        found += [whole, whole + 1, whole - 1]
        if abs(whole) > 9:
            found += [whole // 2, whole * 2 if abs(whole) < 2**29 else whole - 2]
    return found


def _around_reals(constants: Iterable[Constant]) -> list[Any]:
    found: list[Any] = []
    for constant in constants:
        number = _as_number(constant)
        if number is None or abs(number) > 1e15:
            continue
        found += [float(number), number + 1.0, number - 1.0]
        found += [number + 0.25 + _FINE, number - 0.5]
        if abs(number) > 9:
            found += [number / 2, number * 2.0]
    return found


def _between(constants: Iterable[Constant]) -> list[Any]:
    """Returns what lies between two constants that are near one another, as 6.99 and 7."""
    numbers = sorted({n for one in constants if (n := _as_number(one)) is not None})
    return [(a + b) / 2 for a, b in pairwise(numbers) if 0 < b - a < 1.5]


def _around_texts(constants: Iterable[Constant]) -> list[Any]:
    found: list[Any] = []
    for constant in sorted(constants, key=lambda one: not isinstance(one, str)):
        text = str(constant)
        if isinstance(constant, int):  # a length or a place, more often than not
            found += [text, *(_LONG[:n] for n in (constant, constant + 1) if n > 0), _LONG]
            continue
        found += [text, text.swapcase(), f"{text}x", text[:-1], f"x{text}"]
        if _YEAR.fullmatch(text):
            found += [f"{text}-01-01", f"{text}-12-31"]
    return found


def _as_number(constant: Constant) -> int | float | None:
    if not isinstance(constant, str):
        return constant
    try:
        return float(constant) if "." in constant else int(constant)
    except ValueError:
        return None


def _dates(constants: Iterable[Constant], kind: str, *, around: bool) -> list[Any]:
    days: list[tuple[datetime.date, str]] = []
    for constant in constants:
        text = str(constant)
        found = _ISO.match(text)
        if found:
            days += _days_of(found, around=around)
        elif around and _YEAR.fullmatch(text):
            year = int(text)
            days += [
                (datetime.date(y, m, d), "")
                for y, m, d in ((year, 1, 1), (year, 12, 31), (year - 1, 12, 31), (year + 1, 1, 1))
            ]
            days.append((datetime.date(year, 6, 15), ""))
        elif around and text.isdigit() and 1 <= int(text) <= 12:
            days += [
                (datetime.date(2024, int(text), 1), ""),
                (datetime.date(2023, int(text), 28), ""),
            ]
    return [text for day, clock in days for text in _write(day, clock, kind)]


def _days_of(found: re.Match[str], *, around: bool) -> list[tuple[datetime.date, str]]:
    year, month, clock = int(found[1]), int(found[2]), found[4] or ""
    if not (1 < year < 9998 and 1 <= month <= 12):
        return []
    last = calendar.monthrange(year, month)[1]
    day = datetime.date(year, month, min(max(int(found[3] or 1), 1), last))
    if not around:
        return [(day, clock)]
    one = datetime.timedelta(days=1)
    end = datetime.date(year, month, last)
    days = [day, day + one, day - one, end, day.replace(day=1), end + one, day.replace(day=15)]
    return [(d, clock) for d in days]


def _write(day: datetime.date, clock: str, kind: str) -> list[str]:
    if kind in ("date", "date_text"):
        return [day.isoformat()]
    times = [clock.strip(" T")] if clock else ["12:00:00", "00:00:00", "23:59:59"]
    return [f"{day.isoformat()} {time}" for time in times]


def _unique(values: Iterable[Any]) -> list[Any]:
    return list({(type(value).__name__, value): value for value in values}.values())


_MAKERS: dict[str, Callable[[Iterable[Constant]], list[Any]]] = {
    "int": _around_ints,
    "real": _around_reals,
    "text": _around_texts,
    "bool": lambda constants: [],
    "blob": lambda constants: [],
    **{
        kind: partial(_dates, kind=kind, around=True)
        for kind in ("date", "timestamp", "date_text", "timestamp_text")
    },
}
