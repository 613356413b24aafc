"""The order that a reference asks for, read from its top-level ORDER BY.

The reference is run a second time with its sort keys as further columns and without its LIMIT. From
that it is known which rows are equal under the ORDER BY, and so which other results are as good.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rewardkit.verifiers.sql._compare import exact_key
from rewardkit.verifiers.sql._engines.base import QueryError, Result, Row
from rewardkit.verifiers.sql._results import Expected, Group
from rewardkit.verifiers.sql.reference import Policy

__all__ = ["Ordering", "expect", "read_ordering"]


@dataclass(frozen=True, slots=True)
class Ordering:
    """How the rows of a reference are ordered and cut."""

    asked: bool
    """It has a top-level ORDER BY."""
    keyed_sql: str | None = None
    """The reference with its keys as last columns and without LIMIT; None if there is no such."""
    keys: tuple[int, ...] = ()
    """Columns of `keyed_sql` that are keys."""
    folded: frozenset[int] = frozenset()
    """Keys that compare without case."""
    skip: int = 0
    take: int | None = None
    """Rows after `skip`; None for all."""


def read_ordering(tree: exp.Expr | None, dialect: str) -> Ordering:
    """Returns what the ORDER BY, LIMIT and OFFSET of a reference say.

    Args:
        tree: the reference; None if it could not be parsed, and then no order is asked for.
        dialect: in which it is written again.
    """
    if not isinstance(tree, exp.Query):
        return Ordering(False)
    order, limit, offset = tree.args.get("order"), tree.args.get("limit"), tree.args.get("offset")
    take = _number(limit)
    skip = _number(offset) or 0
    if isinstance(limit, exp.Limit) and limit.args.get("offset") is not None:
        skip = _number(exp.Offset(expression=limit.args["offset"])) or 0
    readable = (limit is None or take is not None) and not isinstance(limit, exp.Fetch)
    if not readable or (offset is not None and _number(offset) is None):
        return Ordering(order is not None)
    if order is None and limit is None and offset is None:
        return Ordering(False)
    copy = tree.copy()
    copy.set("limit", None)
    copy.set("offset", None)
    found = _add_keys(copy, [] if order is None else order.expressions)
    if found is None:
        return Ordering(order is not None)
    keys, folded = found
    return Ordering(
        order is not None, copy.sql(dialect=dialect), tuple(keys), frozenset(folded), skip, take
    )


def _number(node: exp.Expr | None) -> int | None:
    value = node.args.get("expression") if isinstance(node, exp.Limit | exp.Offset) else None
    if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
        return int(value.name)
    return None


def _add_keys(query: exp.Query, ordered: list[exp.Expr]) -> tuple[list[int], list[int]] | None:
    width = len(query.selects)
    if any(isinstance(one, exp.Star) or one.is_star for one in query.selects):
        return _add_to_star(query, ordered)
    keys: list[int] = []
    folded: list[int] = []
    for one in ordered:
        key = one.this if isinstance(one, exp.Ordered) else one
        if isinstance(key, exp.Collate):
            key = key.this
            folded.append(len(keys))
        place = _place_of(key, query.selects)
        if place is None:
            # A further column changes what DISTINCT and set operations do.
            if not isinstance(query, exp.Select) or query.args.get("distinct"):
                return None
            query.append("expressions", exp.alias_(key.copy(), f"_rewardkit_key_{len(keys)}"))
            place = width
            width += 1
        keys.append(place)
    return keys, [keys[i] for i in folded]


def _add_to_star(query: exp.Query, ordered: list[exp.Expr]) -> tuple[list[int], list[int]] | None:
    """Keys behind a star: their columns are counted from the end."""
    if not isinstance(query, exp.Select) or query.args.get("distinct"):
        return None
    keys = [one.this if isinstance(one, exp.Ordered) else one for one in ordered]
    if any(isinstance(key, exp.Literal | exp.Collate) for key in keys):
        return None
    for number, key in enumerate(keys):
        query.append("expressions", exp.alias_(key.copy(), f"_rewardkit_key_{number}"))
    return list(range(-len(keys), 0)), []


def _place_of(key: exp.Expr, selects: list[exp.Expr]) -> int | None:
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
        return int(key.name) - 1 if 0 < int(key.name) <= len(selects) else None
    for place, select in enumerate(selects):
        if select.unalias() == key:
            return place
    if isinstance(key, exp.Column) and not key.table:
        aliases = [s.alias.lower() if isinstance(s, exp.Alias) else "" for s in selects]
        if key.name.lower() in aliases:
            return aliases.index(key.name.lower())
    return None


def expect(
    result: Result,
    ordering: Ordering,
    policy: Policy,
    run: Callable[[str], Result],
) -> Expected:
    """Returns what a reference's result asks of a prediction.

    Args:
        result: what the reference gave.
        ordering: its order.
        policy: whether order matters, and whether ties may change places.
        run: runs a query on the same data.
    """
    ordered = ordering.asked if policy.order_matters is None else policy.order_matters
    whole = Expected(result, ordered, _plain_groups(result.rows, ordered))
    if policy.ties == "exact":
        return whole
    if policy.tie_key is not None:
        if any(i >= len(result.columns) for i in policy.tie_key):
            return whole
        return Expected(result, ordered, tuple(_by_key(result.rows, policy.tie_key, frozenset())))
    if ordering.keyed_sql is None or (not ordered and ordering.take is None):
        return whole
    try:
        keyed = run(ordering.keyed_sql)
    except QueryError:
        return whole
    groups = _cut(keyed.rows, ordering, len(result.columns))
    found = Expected(result, ordered, groups)
    # What was derived must accept the reference itself, or it was derived wrongly.
    from rewardkit.verifiers.sql._results import compare

    return found if compare(found, result, policy) is None else whole


def _plain_groups(rows: list[Row], ordered: bool) -> tuple[Group, ...]:
    if ordered:
        return tuple(Group([row], 1) for row in rows)
    return (Group(rows, len(rows)),)


def _by_key(rows: list[Row], keys: tuple[int, ...], folded: frozenset[int]) -> list[Group]:
    groups: list[list[Row]] = []
    last: object = None
    for row in rows:
        key = tuple(
            exact_key(row[i].lower() if i in folded and isinstance(row[i], str) else row[i])
            for i in keys
        )
        if not groups or key != last:
            groups.append([])
        groups[-1].append(row)
        last = key
    return [Group(group, len(group)) for group in groups]


def _cut(rows: list[Row], ordering: Ordering, width: int) -> tuple[Group, ...]:
    end = len(rows) if ordering.take is None else ordering.skip + ordering.take
    groups, start = [], 0
    for group in _by_key(rows, ordering.keys, ordering.folded):
        stop = start + len(group.rows)
        take = min(stop, end) - max(start, ordering.skip)
        if take > 0:
            groups.append(Group([row[:width] for row in group.rows], take))
        start = stop
    return tuple(groups)
