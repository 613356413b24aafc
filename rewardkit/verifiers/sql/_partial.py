"""Partial credit for a wrong query: how much of the reference it has, capped below success."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewardkit.verifiers.sql._compare import exact_key
from rewardkit.verifiers.sql._engines.base import Result
from rewardkit.verifiers.sql._results import Expected
from rewardkit.verifiers.sql._schema import Schema
from rewardkit.verifiers.sql._signals import Reads
from rewardkit.verifiers.sql.compat import r_ves

__all__ = [
    "Credit",
    "clause_f1",
    "credit",
    "efficiency",
    "linking_f1",
    "node_text",
    "row_f1",
    "select_parts",
]

_RUNS = 1 / 3
"""Share of the cap for a query that runs: a tenth where the cap is three tenths."""
_MOST_FOR_RUNNING = 0.1


@dataclass(frozen=True, slots=True)
class Credit:
    """What a wrong query gets, and for what."""

    score: float
    parts: dict[str, float]


def credit(
    tree: exp.Expr | None,
    reference: exp.Expr | None,
    schema: Schema,
    expected: Expected | None,
    found: Result | None,
    *,
    subtasks: float = 0.0,
    most: float,
) -> Credit:
    """Returns the credit of a wrong query.

    It is `runs + (most - runs) * (linking + clauses + subtasks + rows) / 4`, where `runs` is a
    third of `most`, 0.1 at most, and 0 for a query that failed. Each of the four is in [0, 1].

    Args:
        tree: the prediction.
        reference: the reference.
        schema: which names are tables and columns.
        expected: what the reference gave where the prediction failed.
        found: what the prediction gave there; None if it failed.
        subtasks: the similarity of the two by their subtasks, in [0, 1].
        most: the cap, in [0, 1).
    """
    parts = {"linking": 0.0, "clauses": 0.0, "subtasks": subtasks, "rows": 0.0}
    if tree is not None and reference is not None:
        parts["linking"] = linking_f1(tree, reference, schema)
        parts["clauses"] = clause_f1(tree, reference)
    if expected is not None and found is not None:
        parts["rows"] = row_f1(expected.result, found)
    share = min(_RUNS * most, _MOST_FOR_RUNNING)
    runs = share if found is not None else 0.0
    score = runs + (most - share) * sum(parts.values()) / 4
    parts["executable"] = float(found is not None)
    return Credit(round(min(score, most), 6), {k: round(v, 4) for k, v in parts.items()})


def linking_f1(tree: exp.Expr, reference: exp.Expr, schema: Schema) -> float:
    """Returns the F1 of the tables and qualified columns that a query uses (schema linking)."""
    return _f1(Counter(_links(tree, schema)), Counter(_links(reference, schema)))


def _links(tree: exp.Expr, schema: Schema) -> set[str]:
    tables = Reads.of(tree, schema).tables
    aliases = {t.alias_or_name.lower(): t.name.lower() for t in tree.find_all(exp.Table)}
    columns: set[str] = set()
    for column in tree.find_all(exp.Column):
        name = column.name.lower()
        owner = aliases.get(column.table.lower()) if column.table else None
        candidates = [owner] if owner else sorted(tables)
        for table in candidates:
            found = schema.find(table)
            if found is not None and any(c.name.lower() == name for c in found.columns):
                columns.add(f"{found.name.lower()}.{name}")
                break
    return set(tables) | columns


def clause_f1(tree: exp.Expr, reference: exp.Expr) -> float:
    """Returns the F1 of the parts of the clauses: outputs, tables, conditions, keys, limits.

    Aliases of tables and of outputs are written out, and conditions are taken one by one, so that
    their order and their names do not count.
    """
    return _f1(Counter(_clauses(tree)), Counter(_clauses(reference)))


def _clauses(tree: exp.Expr) -> Iterable[tuple[str, str]]:
    aliases = {t.alias.lower(): t.name for t in tree.find_all(exp.Table) if t.alias}
    copy = tree.copy()
    for column in list(copy.find_all(exp.Column)):
        table = aliases.get(column.table.lower(), column.table)
        column.set("table", None)
        column.set("this", exp.to_identifier(f"{table}.{column.name}".strip(".").lower()))
    found: list[tuple[str, str]] = []
    for node in copy.find_all(exp.Select, exp.SetOperation):
        if isinstance(node, exp.SetOperation):
            found.append(("set", f"{node.key} {bool(node.args.get('distinct'))}"))
        elif isinstance(node, exp.Select):
            found += [
                (clause, part if isinstance(part, str) else node_text(part))
                for clause, part in select_parts(node)
            ]
    found += [("table", table.name.lower()) for table in copy.find_all(exp.Table)]
    return found


def select_parts(select: exp.Select) -> Iterator[tuple[str, exp.Expr | str]]:
    """Yields the parts of a SELECT's clauses with the clause of each; conditions one by one."""
    yield from (("output", one.unalias()) for one in select.expressions)
    if select.args.get("distinct"):
        yield ("distinct", "")
    for name in ("where", "having", "qualify"):
        clause = select.args.get(name)
        if clause is not None:
            yield from ((name, one) for one in _conjuncts(clause.this))
    for join in select.args.get("joins") or ():
        yield ("join", f"{join.side} {join.kind}".replace("INNER", "").strip())
        on = join.args.get("on")
        yield from (("where", one) for one in (_conjuncts(on) if on is not None else ()))
    for name in ("group", "order"):
        clause = select.args.get(name)
        yield from ((name, one) for one in (clause.expressions if clause else ()))
    for name in ("limit", "offset"):
        if select.args.get(name) is not None:
            yield (name, select.args[name])


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def node_text(node: exp.Expr) -> str:
    """Returns a part of a query in one spelling."""
    try:
        return node.sql(comments=False, normalize=True)
    except (RecursionError, ValueError):
        return node.key


def row_f1(expected: Result, found: Result) -> float:
    """Returns the F1 of the rows as bags; columns are paired by position, or by their values.

    Unlike BIRD's soft F1, rows are not paired by position and repeats count. Where the numbers of
    columns differ, those that share most values are paired first, and the F1 is scaled by the share
    of columns that have a partner.
    """
    if not expected.rows and not found.rows:
        return 0.0
    width, wide = len(expected.columns), len(found.columns)
    pairs = [(i, i) for i in range(width)] if width == wide else _pair_columns(expected, found)
    left: Counter[Hashable] = Counter(
        tuple(_rounded(row[i]) for i, _ in pairs) for row in expected.rows
    )
    right: Counter[Hashable] = Counter(
        tuple(_rounded(row[j]) for _, j in pairs) for row in found.rows
    )
    return _f1(left, right) * len(pairs) / max(width, wide, 1)


def _pair_columns(expected: Result, found: Result) -> list[tuple[int, int]]:
    def values(result: Result, i: int) -> Counter[Hashable]:
        return Counter(_rounded(row[i]) for row in result.rows[:1_000])

    mine = [values(expected, i) for i in range(min(len(expected.columns), 50))]
    theirs = [values(found, j) for j in range(min(len(found.columns), 50))]
    shared = sorted(
        ((bag & other).total(), -abs(i - j), -i, -j)
        for i, bag in enumerate(mine)
        for j, other in enumerate(theirs)
    )
    pairs: dict[int, int] = {}
    for count, _, i, j in reversed(shared):
        if count and -i not in pairs and -j not in pairs.values():
            pairs[-i] = -j
    return sorted(pairs.items())


def _rounded(value: object) -> Hashable:
    return exact_key(float(f"{value:.9g}") if isinstance(value, float) else value)


def _f1(left: Counter[Hashable], right: Counter[Hashable]) -> float:
    """Returns 2 |A ∩ B| / (|A| + |B|) of two bags."""
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def efficiency(ratio: float) -> float:
    """Returns BIRD's reward tiers (R-VES) of a ratio of costs, scaled into [0, 1].

    A half of the reference's cost is 1.25 there, the same 1, twice as much 0.75, four times 0.5,
    more 0.25; each is divided by 1.25. Costs that are counted do not vary from run to run.

    Args:
        ratio: cost of the reference over that of the prediction.
    """
    return r_ves(ratio) / 1.25
