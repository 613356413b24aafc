"""Values that the arithmetic of a condition makes of its constants: where `x / 100 = 5` turns."""

import calendar
import datetime
import re
from collections.abc import Sequence
from typing import TypeAlias

from sqlglot import exp

from rewardkit.verifiers.sql._guard import list_nodes

__all__ = ["Constant", "derive"]

Constant: TypeAlias = int | float | str

_SHIFT = re.compile(r"([+-]?\d{1,6})\s*(day|week|month|year)s?", re.I)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?!\d)")
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "year": 12}
_MAX_DAYS = 40_000
_MAX_FOUND = 24


def derive(place: exp.Expr | None, value: Constant) -> list[Constant]:
    """Returns where a condition turns, if arithmetic stands between a column and a constant.

    Args:
        place: the condition.
        value: one constant in it; the others are read from the condition.

    Returns:
        For numbers, products, sums, differences and quotients with the others; for dates, those
        that the condition's intervals and numbers of days lead to.

    >>> import sqlglot
    >>> derive(sqlglot.parse_one("x / 100 >= 5"), 5)
    [500]
    """
    if place is None:
        return []
    nodes = list_nodes(place)
    others = [one for one in _numbers(nodes) if one != value]
    if isinstance(value, str):
        found = _DATE.match(value)
        return [] if found is None else _moved(found, place, others)[:_MAX_FOUND]
    made: list[Constant] = []
    kinds = {type(node) for node in nodes}
    if exp.Mul in kinds and value != 0:
        made += [1, 2, 5, 10, *(_whole(value / d) for d in (1, 2, 5, 10))]
    if not kinds.isdisjoint((exp.Div, exp.IntDiv)):
        made += [value * other for other in others]
    if exp.Mod not in kinds and not kinds.isdisjoint((exp.Add, exp.Sub)):
        made += [one for other in others for one in (other - value, other + value)]
    if exp.Mod in kinds:
        made += [other * times + value for other in others for times in (1, 2)]
    return made[:_MAX_FOUND]


def _numbers(nodes: Sequence[exp.Expr]) -> list[int | float]:
    texts = [n.name for n in nodes if isinstance(n, exp.Literal) and not n.is_string]
    return [
        int(text) if text.isdigit() else float(text)
        for text in texts
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text)
    ]


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number


def _moved(found: re.Match[str], place: exp.Expr, numbers: Sequence[int | float]) -> list[Constant]:
    try:
        day = datetime.date(*map(int, found.groups()))
    except ValueError:
        return []
    moved: list[datetime.date | None] = []
    for count, unit in _shifts(place):
        if unit in _DAYS:
            moved += [_by_days(day, sign * count * _DAYS[unit]) for sign in (1, -1)]
        else:
            moved += [_by_months(day, sign * count * _MONTHS[unit]) for sign in (1, -1)]
    if place.find(exp.Sub, exp.DateDiff) is not None:
        moved += [_by_days(day, sign * int(n)) for n in numbers for sign in (1, -1)]
    return [one.isoformat() for one in moved if one is not None]


def _shifts(place: exp.Expr) -> list[tuple[int, str]]:
    """Returns the intervals of a condition: SQLite's modifiers and INTERVALs."""
    texts = [one.name for one in place.find_all(exp.Literal) if one.is_string]
    for one in place.find_all(exp.Interval):
        amount = "" if one.this is None else one.this.name
        texts.append(f"{amount} {one.args.get('unit') or ''}")
    found = [_SHIFT.fullmatch(text.strip()) for text in texts]
    return [(abs(int(m[1])), m[2].lower()) for m in found if m is not None]


def _by_days(day: datetime.date, count: int) -> datetime.date | None:
    if abs(count) > _MAX_DAYS:
        return None
    try:
        return day + datetime.timedelta(days=count)
    except OverflowError:
        return None


def _by_months(day: datetime.date, count: int) -> datetime.date | None:
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    if not 1 < year < 9998:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return datetime.date(year, month + 1, min(day.day, last))
