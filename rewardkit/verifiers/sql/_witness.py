"""The smallest database on which two queries differ, as SQL."""

import math
from collections.abc import Callable
from typing import Any

from rewardkit.verdict import Json
from rewardkit.verifiers.sql._engines.base import Data, Limits, QueryError, Result, Row, Store
from rewardkit.verifiers.sql._guard import Query
from rewardkit.verifiers.sql._inserts import insert_statements
from rewardkit.verifiers.sql._ordering import expect
from rewardkit.verifiers.sql._prepare import Prepared
from rewardkit.verifiers.sql._results import Expected, compare, find_columns
from rewardkit.verifiers.sql._schema import Schema
from rewardkit.verifiers.sql.reference import Policy

__all__ = ["find_witness", "shrink"]

_SHOWN_ROWS = 5
_MAX_TEXT = 4_000


def shrink(data: Data, schema: Schema, differs: Callable[[Data], bool], *, tries: int = 80) -> Data:
    """Returns as few of the rows as still make a difference, one table and chunk at a time.

    Args:
        data: rows on which `differs` is true.
        schema: rows whose parent goes are left out as well.
        differs: the test, which is run at most `tries` times.
        tries: its bound.
    """
    kept = {name: list(rows) for name, rows in data.items()}
    left = tries
    size = max((len(rows) for rows in kept.values()), default=0)
    while size >= 1:
        removed = False
        for name in [table.name for table in reversed(schema.tables)]:
            start = 0
            while start < len(kept.get(name, ())):
                if left == 0:
                    return kept
                rows = kept[name]
                smaller = _without_orphans(
                    {**kept, name: rows[:start] + rows[start + size :]}, schema
                )
                left -= 1
                if differs(smaller):
                    kept, removed = smaller, True
                else:
                    start += size
        if size == 1 and not removed:
            break
        size = max(1, size // 2) if size > 1 else (1 if removed else 0)
    return kept


def _without_orphans(data: dict[str, list[Row]], schema: Schema) -> dict[str, list[Row]]:
    for _ in range(len(schema.tables) + 1):
        changed = False
        for table in schema.tables:
            names = [column.name.lower() for column in table.columns]
            for key in table.foreign:
                parent = schema.find(key.parent)
                if parent is None:
                    continue
                theirs = [column.name.lower() for column in parent.columns]
                try:
                    mine = [names.index(c.lower()) for c in key.columns]
                    other = [theirs.index(c.lower()) for c in key.parent_columns]
                except ValueError:
                    continue
                there = {tuple(row[i] for i in other) for row in data.get(parent.name, ())}
                rows = data.get(table.name, [])
                fine = [
                    row for row in rows if None in (k := tuple(row[i] for i in mine)) or k in there
                ]
                changed |= len(fine) < len(rows)
                data[table.name] = fine
        if not changed:
            break
    return data


def find_witness(prepared: Prepared, query: Query, data: Data, limits: Limits) -> dict[str, Json]:
    """Returns the smallest database that tells a query from the reference, and what each gives.

    Args:
        prepared: the task. Of several acceptable references the first is looked at.
        query: the prediction.
        data: rows on which they differ.
        limits: of one run of the prediction.
    """
    engine, schema = prepared.engine, prepared.engine.schema
    reference, policy = prepared.references[0], prepared.task.policy

    def run(rows: Data) -> tuple[Expected, Result | QueryError] | None:
        """Returns what both give on some rows, or None where the reference leaves that open."""
        try:
            store, _ = engine.generated(rows)
        except QueryError:
            return None
        try:
            wanted = store.run(reference.sql, limits, trusted=True)
            expected = expect(
                wanted, reference.ordering, policy, lambda sql: store.run(sql, limits, trusted=True)
            )
            return expected, _outcome(store, query.sql, limits)
        except QueryError:
            return None
        finally:
            store.close()

    def differs(rows: Data) -> bool:
        both = run(rows)
        if both is None:
            return False
        expected, found = both
        return isinstance(found, QueryError) or _differ(expected, found, policy)

    if not differs(data):  # several references, or columns by choice: shown as it is
        return {"witness": insert_statements(data)[:_MAX_TEXT]}
    tries = 60 if prepared.way.target == "sqlite" else 12
    small = shrink(data, schema, differs, tries=tries)
    both = run(small)
    shown: dict[str, Json] = {"witness": insert_statements(small)[:_MAX_TEXT]}
    if both is not None:
        shown["reference_gives"] = _show(both[0].result)
        shown["prediction_gives"] = _show(both[1])
    return shown


def _outcome(store: Store, sql: str, limits: Limits) -> Result | QueryError:
    try:
        return store.run(sql, limits)
    except QueryError as error:
        return error


def _differ(expected: Expected, found: Result, policy: Policy) -> bool:
    if policy.column_order == "positional" and policy.extra_columns == "reject":
        return compare(expected, found, policy) is not None
    return find_columns([(expected, found)], policy) is None


def _show(result: Result | QueryError) -> Json:
    if isinstance(result, QueryError):
        return result.message
    return [[_plain(value) for value in row] for row in result.rows[:_SHOWN_ROWS]]


def _plain(value: Any) -> Json:  # noqa: ANN401
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)[:100]
