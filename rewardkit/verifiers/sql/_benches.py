"""References as they are run, and databases with what each reference gives there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewardkit.verifiers.sql._checks import read_tests
from rewardkit.verifiers.sql._clues import Clues
from rewardkit.verifiers.sql._dialects import Route
from rewardkit.verifiers.sql._engines.base import Data, Engine, QueryError, Result, Store
from rewardkit.verifiers.sql._generate import Generator
from rewardkit.verifiers.sql._guard import list_nodes, parse_trusted
from rewardkit.verifiers.sql._ordering import Ordering, expect, read_ordering
from rewardkit.verifiers.sql._recipes import recipe
from rewardkit.verifiers.sql._results import Bench, Expected, Group, compare
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql.reference import Policy, Task

__all__ = [
    "REFERENCE_STEPS",
    "Reference",
    "bench_of",
    "expect_of",
    "expected_rows",
    "make_benches",
    "read_reference_sql",
]

REFERENCE_STEPS = 2_000_000
"""Of SQLite's machine, for a reference on one generated database."""
_DELICATE = (
    *(exp.Limit, exp.Fetch, exp.Offset, exp.Window, exp.Distinct, exp.GroupConcat),
    *(exp.ArrayAgg, exp.AnyValue, exp.First, exp.Last),
)


@dataclass(frozen=True, slots=True)
class Reference:
    """One acceptable query."""

    sql: str
    """As the engine runs it."""
    tree: exp.Expr | None
    ordering: Ordering
    delicate: bool
    """The order in which rows are stored may show in the result."""
    size: int = 0
    """Nodes of the tree."""


def read_reference_sql(sql: str, way: Route) -> Reference:
    """Returns a reference as the engine runs it.

    Raises:
        QueryError: it cannot be translated.
    """
    tree = parse_trusted(sql, way.source)
    if way.transpiled:
        if tree is None:
            raise QueryError("syntax", f"the reference cannot be read as {way.source}")
        sql = tree.sql(dialect=way.target)
        tree = parse_trusted(sql, way.target)
    # In SQLite another order costs next to nothing, and a bare column beside GROUP BY needs it.
    delicate = way.target == "sqlite" or tree is None or tree.find(*_DELICATE) is not None
    size = 0 if tree is None else len(list_nodes(tree))
    return Reference(sql, tree, read_ordering(tree, way.target), delicate, size)


def expect_of(
    store: Store, reference: Reference, result: Result, policy: Policy, settings: Settings
) -> Expected:
    """Returns what a reference's result asks of a prediction."""
    limits = settings.limits(steps=None)
    return expect(
        result, reference.ordering, policy, lambda sql: store.run(sql, limits, trusted=True)
    )


def expected_rows(task: Task) -> Expected:
    """Returns what is asked where rows are given instead of a query."""
    rows = list(task.expected or ())
    width = len(rows[0]) if rows else 0
    result = Result(tuple(f"column {i}" for i in range(width)), rows)
    if task.policy.order_matters:
        return Expected(result, True, tuple(Group([row], 1) for row in rows))
    return Expected(result, False, (Group(rows, len(rows)),))


def make_benches(
    engine: Engine,
    references: Sequence[Reference],
    task: Task,
    clues: Clues,
    numbers: Sequence[int],
    settings: Settings,
) -> Iterator[Bench]:
    """Yields generated databases on which at least one reference has a determined result.

    Args:
        engine: makes them.
        references: run on each.
        task: its CHECKs and its policy hold.
        clues: what the data is made around.
        numbers: of recipes.
        settings: the limits.
    """
    checks = read_tests(task.schema, task.dialect)
    trees = [one.tree for one in references if one.tree is not None]
    read = {table.name.lower() for tree in trees for table in tree.find_all(exp.Table)}
    generator = Generator(engine.schema, engine.samples(), clues, checks, read)
    for number in numbers:
        data, name = generator.make(number), recipe(number).name
        bench = bench_of(engine, references, task.policy, data, name, settings)
        if bench is not None:
            yield bench


def bench_of(
    engine: Engine,
    references: Sequence[Reference],
    policy: Policy,
    data: Data,
    name: str,
    settings: Settings,
) -> Bench | None:
    """Returns a database of these rows, or None where no reference has a determined result."""
    try:
        store, kept = engine.generated(data)
    except QueryError:
        return None
    expected = tuple(_determined(store, one, policy, settings) for one in references)
    if any(e is not None for e in expected):
        return Bench(name, store, kept, expected)
    store.close()
    return None


def _determined(
    store: Store, reference: Reference, policy: Policy, settings: Settings
) -> Expected | None:
    limits = settings.limits(steps=REFERENCE_STEPS)
    try:
        result = store.run(reference.sql, limits, trusted=True)
        expected = expect_of(store, reference, result, policy, settings)
        other = store.reversed() if reference.delicate else None
        if other is None:
            return expected
        try:
            again = other.run(reference.sql, limits, trusted=True)
        finally:
            other.close()
    except QueryError:
        return None
    return expected if compare(expected, again, policy) is None else None
