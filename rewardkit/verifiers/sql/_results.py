"""Whether a prediction's rows are what a reference asks for, under a policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardkit.verifiers.sql._compare import contains, equal_bags, equal_rows, exact_key
from rewardkit.verifiers.sql._engines.base import (
    Data,
    Limits,
    QueryError,
    Result,
    Row,
    Store,
)
from rewardkit.verifiers.sql.reference import Policy

__all__ = ["Bench", "Difference", "Expected", "Group", "compare", "find_columns"]

_MAX_ARRANGEMENTS = 2_000


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that the reference's ORDER BY leaves equal, and how many of them the result holds.

    Fewer than there are only where a LIMIT or OFFSET cuts through the group: any of them will do.
    """

    rows: list[Row]
    take: int


@dataclass(frozen=True, slots=True)
class Expected:
    """What a reference gave on one database."""

    result: Result
    ordered: bool
    groups: tuple[Group, ...]
    """In order. One group of everything where no order is asked for."""

    @property
    def width(self) -> int:
        """How many columns it has."""
        return len(self.result.columns)


@dataclass(frozen=True, slots=True)
class Bench:
    """One database, and what each reference gives on it."""

    name: str
    store: Store
    data: Data | None
    """None for the given rows."""
    expected: tuple[Expected | None, ...]
    """None where a reference fails there, or leaves open what it gives."""

    def agrees(self, number: int, sql: str, policy: Policy, limits: Limits) -> bool:
        """Returns whether a trusted query gives what is expected of the reference `number`."""
        expected = self.expected[number]
        if expected is None:
            return True
        try:
            found = self.store.run(sql, limits, trusted=True)
        except QueryError:
            return False
        return compare(expected, found, policy) is None


@dataclass(frozen=True, slots=True)
class Difference:
    """How a prediction differs from a reference."""

    kind: str
    """wrong_columns, wrong_rows or wrong_order."""
    detail: str


def compare(
    expected: Expected, found: Result, policy: Policy, columns: tuple[int, ...] | None = None
) -> Difference | None:
    """Returns how a result differs from what is expected, or None if it does not.

    Args:
        expected: what the reference gave.
        found: what the prediction gave.
        policy: how they are compared.
        columns: positions in the prediction of the reference's columns; None for the same ones.
    """
    width = len(found.columns)
    if columns is None and width != expected.width:
        return Difference("wrong_columns", f"{width} columns where {expected.width} are asked for")
    rows = found.rows if columns is None else [tuple(r[i] for i in columns) for r in found.rows]
    if policy.duplicates == "ignore":
        return _compare_sets(expected.result.rows, rows, policy)
    total = sum(group.take for group in expected.groups)
    if len(rows) != total:
        return Difference("wrong_rows", f"{len(rows)} rows where {total} are asked for")
    if expected.ordered and _in_order(expected.groups, rows, policy.tolerance):
        return None
    same = _same_bag(expected.groups, rows, policy.tolerance)
    if not same:
        return Difference("wrong_rows", _first_difference(expected, rows, policy.tolerance))
    return (
        Difference("wrong_order", "the right rows in another order") if expected.ordered else None
    )


def find_columns(
    results: Sequence[tuple[Expected, Result]], policy: Policy
) -> tuple[int, ...] | None:
    """Returns which columns of a prediction are the reference's, so that all databases agree.

    Args:
        results: what was expected and found on each database so far.
        policy: `column_order` and `extra_columns` say which choices there are.

    Returns:
        Positions in the prediction, one for each column of the reference; None if no choice fits.
    """
    expected, found = results[-1]
    for choice in _arrangements(expected, found, policy):
        if all(compare(e, f, policy, choice) is None for e, f in results):
            return choice
    return None


def _arrangements(expected: Expected, found: Result, policy: Policy) -> Iterator[tuple[int, ...]]:
    width, wide = expected.width, len(found.columns)
    if wide < width or (wide > width and policy.extra_columns == "reject"):
        return
    fits = [
        [j for j in range(wide) if _columns_fit(expected, found, i, j, policy)]
        for i in range(width)
    ]
    in_order = policy.column_order == "positional"
    tried = 0
    stack: list[tuple[int, ...]] = [()]
    while stack:
        chosen = stack.pop()
        tried += 1
        if tried > _MAX_ARRANGEMENTS:
            return
        if len(chosen) == width:
            yield chosen
            continue
        last = chosen[-1] if chosen and in_order else -1
        places = [j for j in fits[len(chosen)] if j not in chosen and j > last]
        stack += [(*chosen, j) for j in reversed(places)]


def _columns_fit(expected: Expected, found: Result, i: int, j: int, policy: Policy) -> bool:
    wanted = [(row[i],) for group in expected.groups for row in group.rows]
    given = [(row[j],) for row in found.rows]
    if policy.duplicates == "ignore":
        return _compare_sets(wanted, given, policy) is None
    return contains(wanted, given, policy.tolerance)


def _in_order(groups: Sequence[Group], rows: Sequence[Row], tolerance: float) -> bool:
    start = 0
    for group in groups:
        part = rows[start : start + group.take]
        start += group.take
        if part == group.rows:
            continue
        if len(group.rows) == 1:
            if not equal_rows(group.rows[0], part[0], tolerance):
                return False
        elif not contains(group.rows, part, tolerance):
            return False
    return True


def _same_bag(groups: Sequence[Group], rows: Sequence[Row], tolerance: float) -> bool:
    if len(groups) == 1 and groups[0].take == len(groups[0].rows):
        return equal_bags(groups[0].rows, rows, tolerance)
    certain = [row for group in groups if group.take == len(group.rows) for row in group.rows]
    open_rows = [row for group in groups if group.take != len(group.rows) for row in group.rows]
    if not open_rows:
        return equal_bags(certain, rows, tolerance)
    return contains(rows, certain, tolerance) and contains([*certain, *open_rows], rows, tolerance)


def _compare_sets(wanted: Sequence[Row], rows: Sequence[Row], policy: Policy) -> Difference | None:
    by_key = [{tuple(map(exact_key, row)): row for row in side} for side in (wanted, rows)]
    if by_key[0].keys() == by_key[1].keys():
        return None
    left, right = (list(side.values()) for side in by_key)
    # As often as needed: noise may have split a value into several.
    enough = max(len(left), len(right), 1)
    if enough > 300 or not policy.tolerance:
        same = equal_bags(left, right, policy.tolerance)
    else:
        same = all(
            any(equal_rows(a, b, policy.tolerance) for b in others)
            for some, others in ((left, right), (right, left))
            for a in some
        )
    return None if same else Difference("wrong_rows", "other rows, repeats left out")


def _first_difference(expected: Expected, rows: Sequence[Row], tolerance: float) -> str:
    wanted = [row for group in expected.groups for row in group.rows]
    for row in rows[:200]:
        if not any(equal_rows(row, other, tolerance) for other in wanted[:2_000]):
            return f"the row {_shown(row)} is not asked for"
    for row in wanted[:200]:
        if not any(equal_rows(row, other, tolerance) for other in rows[:2_000]):
            return f"the row {_shown(row)} is missing"
    return "the rows do not come as often as asked for"


def _shown(row: Row) -> str:
    text = ", ".join(repr(value)[:40] for value in row[:6])
    return f"({text}{', …' if len(row) > 6 else ''})"
