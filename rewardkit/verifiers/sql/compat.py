"""The published rules of other graders, for numbers that can be set beside theirs.

Each takes rows as lists of tuples. They are written from the rules as published, kept with their
known faults, and are no advice: see docs/verifiers/sql.md for what each of them accepts.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from rewardkit.verifiers.sql._compare import exact_key

__all__ = [
    "RULES",
    "Rows",
    "arctic",
    "bird_ex",
    "r_ves",
    "soft_f1",
    "spider2",
    "sql_r1",
    "test_suite",
]

Rows: TypeAlias = Sequence[tuple[Any, ...]]


def bird_ex(predicted: Rows, reference: Rows) -> float:
    """Returns 1 if both results are the same set of rows (BIRD, execution accuracy).

    Order and repeats do not count; columns count by position.

    >>> bird_ex([(1,), (1,), (2,)], [(2,), (1,)])
    1.0
    """
    return float(set(map(tuple, predicted)) == set(map(tuple, reference)))


def soft_f1(predicted: Rows, reference: Rows) -> float:
    """Returns BIRD's soft F1 in [0, 1]: rows without repeats, paired by position.

    Of each pair, the values of one row that are somewhere in the other count, as shares of the
    reference's columns.

    >>> round(soft_f1([(1, 1, 1)], [(1, 2)]), 3)
    0.857
    """
    if not predicted and not reference:
        return 1.0
    rows, wanted = list(dict.fromkeys(predicted)), list(dict.fromkeys(reference))
    hits = extra = missing = 0.0
    for row, other in zip(rows, wanted, strict=False):
        width = len(other)
        hits += sum(value in other for value in row) / width
        extra += sum(value not in other for value in row) / width
        missing += sum(value not in row for value in other) / width
    extra += max(0, len(rows) - len(wanted))
    missing += max(0, len(wanted) - len(rows))
    precision = hits / (hits + extra) if hits + extra else 0.0
    recall = hits / (hits + missing) if hits + missing else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def r_ves(ratio: float, *, matched: bool = True) -> float:
    """Returns BIRD's reward of a query by how much faster than the reference it is.

    Args:
        ratio: cost of the reference over cost of the prediction.
        matched: whether `bird_ex` holds.

    Returns:
        1.25, 1, 0.75, 0.5 or 0.25 for ratios of at least 2, 1, 1/2, 1/4 and less; 0 for a query
        that is wrong.
    """
    if not matched:
        return 0.0
    tiers = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))
    return next((reward for least, reward in tiers if ratio >= least), 0.25)


def test_suite(predicted: Rows, reference: Rows, *, sql: str) -> float:
    """Returns 1 if some permutation of the columns makes both the same bag (Spider's test suites).

    Order counts if the reference has the words "order by" anywhere; two empty results are the same.

    Args:
        predicted: rows on one database.
        reference: rows on the same database.
        sql: the reference.
    """
    if not predicted and not reference:
        return 1.0
    if len(predicted) != len(reference) or len(predicted[0]) != len(reference[0]):
        return 0.0
    ordered = "order by" in sql.lower()
    width = len(reference[0])

    def values(rows: Rows, i: int) -> list[object]:
        return [exact_key(row[i]) for row in rows]

    wanted = [values(reference, i) for i in range(width)]
    given = [values(predicted, i) for i in range(width)]
    fits = [
        [
            j
            for j in range(width)
            if given[j] == one or (not ordered and Counter(given[j]) == Counter(one))
        ]
        for one in wanted
    ]
    target = [tuple(map(exact_key, row)) for row in reference]
    stack: list[tuple[int, ...]] = [()]
    while stack:
        chosen = stack.pop()
        if len(chosen) < width:
            # Of columns that are the same, any will do: one is enough to try.
            free = {tuple(given[j]): j for j in fits[len(chosen)] if j not in chosen}
            stack += [(*chosen, j) for j in free.values()]
            continue
        rows = [tuple(exact_key(row[j]) for j in chosen) for row in predicted]
        if rows == target if ordered else Counter(rows) == Counter(target):
            return 1.0
    return 0.0


test_suite.__test__ = False  # type: ignore[attr-defined]  # a rule, and none of pytest's tests


def spider2(predicted: Rows, reference: Rows) -> float:
    """Returns 1 if each column of the reference equals some column of the prediction (Spider 2).

    Columns are sorted one by one, so rows may be paired anew; further columns are allowed; NULL is
    0, texts that are numbers are numbers, and numbers are equal within 0.01.

    >>> spider2([(1, "x"), (2, "y")], [("2",), (None,)])
    0.0
    """
    if len(predicted) != len(reference):
        return 0.0
    if not reference:
        return 1.0

    def column(rows: Rows, i: int) -> list[object]:
        return sorted((_number(row[i]) for row in rows), key=lambda v: (isinstance(v, str), v))

    theirs = [column(predicted, j) for j in range(len(predicted[0]))]
    mine = [column(reference, i) for i in range(len(reference[0]))]
    return float(all(any(_alike(one, other) for other in theirs) for one in mine))


def _number(value: object) -> Any:  # noqa: ANN401
    if value is None:
        return 0.0
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return str(value)


def _alike(one: Sequence[object], other: Sequence[object]) -> bool:
    return all(
        math.isclose(a, b, rel_tol=0, abs_tol=1e-2)
        if isinstance(a, float) and isinstance(b, float)
        else a == b
        for a, b in zip(one, other, strict=True)
    )


def sql_r1(
    *,
    well_formed: bool,
    ran: bool,
    matched: bool,
    completion_chars: int = 0,
    sql_share: float = 0.0,
) -> float:
    """Returns the sum of SQL-R1 (arXiv 2504.08600), from -1 to 7.5.

    Format 1 or -1, which ends it; execution 2 or -2; result 3, or -3, or 0 if it did not run; and
    for a match `0.5 * min(chars / 2048, 1) + share`.

    Args:
        well_formed: the format is kept.
        ran: the query ran.
        matched: it gave the right result.
        completion_chars: length of the completion.
        sql_share: length of the query over that of the answer, in [0, 1].
    """
    if not well_formed:
        return -1.0
    if not ran:
        return 1.0 - 2.0
    if not matched:
        return 1.0 + 2.0 - 3.0
    return 1.0 + 2.0 + 3.0 + 0.5 * min(completion_chars / 2048, 1.0) + sql_share


def arctic(*, ran: bool, matched: bool) -> float:
    """Returns 1 for a match (`bird_ex`), 0.1 for a query that runs, else 0 (arXiv 2505.20315)."""
    if matched:
        return 1.0
    return 0.1 if ran else 0.0


Rule: TypeAlias = Callable[[Rows, Rows, str, float], float]

RULES: dict[str, Rule] = {
    "bird_ex": lambda rows, wanted, sql, ratio: bird_ex(rows, wanted),
    "soft_f1": lambda rows, wanted, sql, ratio: soft_f1(rows, wanted),
    "r_ves": lambda rows, wanted, sql, ratio: r_ves(ratio, matched=bool(bird_ex(rows, wanted))),
    "test_suite": lambda rows, wanted, sql, ratio: test_suite(rows, wanted, sql=sql),
    "spider2": lambda rows, wanted, sql, ratio: spider2(rows, wanted),
    "sql_r1": lambda rows, wanted, sql, ratio: test_suite(rows, wanted, sql=sql),
    "arctic": lambda rows, wanted, sql, ratio: arctic(
        ran=True, matched=bool(bird_ex(rows, wanted))
    ),
}
"""Rows of the prediction and of the reference, the reference, and the ratio of costs -> a number.

`sql_r1` here is its match alone; the sum needs the completion."""
