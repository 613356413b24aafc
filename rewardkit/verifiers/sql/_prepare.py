"""What is made once for a reference: databases, what it gives on them, and how strong they are."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice

from sqlglot import exp

from rewardkit.verifiers.sql._bare import bare_variants
from rewardkit.verifiers.sql._checks import read_tests
from rewardkit.verifiers.sql._clues import Clues, merge_clues, read_checks, read_clues
from rewardkit.verifiers.sql._dialects import Route, open_engine, route
from rewardkit.verifiers.sql._engines.base import Engine, Limits, QueryError, Result, Store
from rewardkit.verifiers.sql._generate import Generator
from rewardkit.verifiers.sql._guard import parse_trusted
from rewardkit.verifiers.sql._mutants import mutate
from rewardkit.verifiers.sql._ordering import Ordering, expect, read_ordering
from rewardkit.verifiers.sql._recipes import recipe
from rewardkit.verifiers.sql._results import Bench, Expected, Group, compare
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql._signals import Reads
from rewardkit.verifiers.sql._strength import Strength, measure
from rewardkit.verifiers.sql.reference import Policy, Task

__all__ = ["Prepared", "Reference", "forget", "prepare"]

_KEPT = {"sqlite": 32, "duckdb": 4, "postgres": 32}
"""Prepared tasks of each engine in a process. A DuckDB takes some 20 MB, and five times as much of
address space."""
_REFERENCE_STEPS = 2_000_000
"""Of SQLite's machine, for a reference on one generated database."""
_MUTANT_STEPS = 500_000
_MUTANTS, _FEW_MUTANTS = 40, 12
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


@dataclass
class Prepared:
    """A task that predictions can be run against."""

    task: Task
    way: Route
    engine: Engine
    references: tuple[Reference, ...]
    given: Bench
    backwards: Store | None
    """The given rows in another order, where the reference gives the same there."""
    generated: list[Bench]
    strength: Strength
    clues: Clues
    steps: int = 0
    _extra: dict[Clues, list[Bench]] = field(default_factory=dict)

    @cached_property
    def reads(self) -> Reads | None:
        """What the first reference reads; None if nothing could parse it."""
        tree = self.references[0].tree if self.references else None
        return None if tree is None else Reads.of(tree, self.engine.schema)

    @cached_property
    def determined(self) -> bool:
        """False if a reference itself has columns beside GROUP BY that may come from any row."""
        limits = Limits(steps=_REFERENCE_STEPS)
        return all(
            bench.agrees(i, variant, self.task.policy, limits)
            for i, reference in enumerate(self.references)
            for variant in bare_variants(reference.tree, self.way.target)
            for bench in (self.given, *self.generated)
        )

    def extra(self, clues: Clues, count: int, settings: Settings) -> list[Bench]:
        """Returns databases around constants that only a prediction has; the last few are kept."""
        known = self._extra.get(clues)
        if known is None:
            if len(self._extra) >= 8:
                _close(self._extra.pop(next(iter(self._extra))))
            made = _make(self, merge_clues([self.clues, clues]), range(1, 3 * count), settings)
            known = self._extra[clues] = list(islice(made, count))
        return known

    def close(self) -> None:
        """Frees its databases."""
        _close([self.given, *self.generated, *(b for known in self._extra.values() for b in known)])
        if self.backwards is not None:
            self.backwards.close()
        self.engine.close()


class _Shelf:
    """The tasks that were used last, by engine."""

    def __init__(self) -> None:
        self._kept: dict[str, OrderedDict[tuple[Task, Settings], Prepared]] = {}

    def get(self, task: Task, settings: Settings) -> Prepared:
        way = route(task)
        kept = self._kept.setdefault(way.target, OrderedDict())
        found = kept.pop((task, settings), None) or _prepare(task, way, settings)
        kept[task, settings] = found
        if len(kept) > _KEPT[way.target]:
            kept.popitem(last=False)[1].close()
        return found

    def clear(self) -> None:
        for kept in self._kept.values():
            while kept:
                kept.popitem()[1].close()


@lru_cache(maxsize=1)
def _shelf() -> _Shelf:
    return _Shelf()


def forget() -> None:
    """Closes all that is prepared in this process."""
    _shelf().clear()


def prepare(task: Task, settings: Settings) -> Prepared:
    """Returns what predictions are run against. A process keeps the tasks that it used last.

    Raises:
        QueryError: the schema, the rows or a reference do not run.
    """
    return _shelf().get(task, settings)


def _prepare(task: Task, way: Route, settings: Settings) -> Prepared:
    engine = open_engine(task, way)
    references = tuple(_read_reference(sql, way) for sql in task.sql)
    columns = engine.schema.column_names()
    clues = merge_clues(
        [*(read_clues(r.tree, columns) for r in references), read_checks(task.schema, columns)]
    )
    store = engine.given()
    results = [store.run(r.sql, settings.limits(steps=None), trusted=True) for r in references]
    expected: list[Expected | None] = [
        _expect(store, r, result, task.policy, settings)
        for r, result in zip(references, results, strict=True)
    ]
    if task.expected is not None:
        expected.append(_expected_rows(task))
    store.close()
    given = Bench("given rows", engine.given(), None, tuple(expected))
    prepared = Prepared(
        task, way, engine, references, given, None, [], Strength(), clues,
        max((r.steps for r in results), default=0),
    )  # fmt: skip
    prepared.backwards = _backwards(prepared, settings)
    if engine.schema.tables and references and settings.databases and not settings.compat:
        numbers = range(settings.databases)
        prepared.generated = list(_make(prepared, clues, numbers, settings))
        if settings.strength:
            _measure(prepared, settings)
    return prepared


def _measure(prepared: Prepared, settings: Settings) -> None:
    reference, dialect = prepared.references[0], prepared.way.target
    keys = frozenset(
        key[0].lower() for t in prepared.engine.schema.tables for key in t.keys if len(key) == 1
    )
    # Other engines take a hundred times as long for a query, so they get fewer.
    quick = dialect == "sqlite"
    count = settings.databases
    numbers = range(count, 2 * count) if quick else range(0)
    prepared.strength, added = measure(
        mutate(reference.tree, dialect, keys=keys)[: _MUTANTS if quick else _FEW_MUTANTS],
        [prepared.given, *prepared.generated],
        lambda: _make(prepared, prepared.clues, numbers, settings),
        prepared.task.policy,
        settings.limits(steps=_MUTANT_STEPS),
    )
    prepared.generated += added


def _close(benches: Sequence[Bench]) -> None:
    for bench in benches:
        bench.store.close()


def _read_reference(sql: str, way: Route) -> Reference:
    tree = parse_trusted(sql, way.source)
    if way.transpiled:
        if tree is None:
            raise QueryError("syntax", f"the reference cannot be read as {way.source}")
        sql = tree.sql(dialect=way.target)
        tree = parse_trusted(sql, way.target)
    # In SQLite another order costs next to nothing, and a bare column beside GROUP BY needs it.
    delicate = way.target == "sqlite" or tree is None or tree.find(*_DELICATE) is not None
    return Reference(sql, tree, read_ordering(tree, way.target), delicate)


def _expect(
    store: Store, reference: Reference, result: Result, policy: Policy, settings: Settings
) -> Expected:
    limits = settings.limits(steps=None)
    return expect(
        result, reference.ordering, policy, lambda sql: store.run(sql, limits, trusted=True)
    )


def _expected_rows(task: Task) -> Expected:
    rows = list(task.expected or ())
    width = len(rows[0]) if rows else 0
    result = Result(tuple(f"column {i}" for i in range(width)), rows)
    if task.policy.order_matters:
        return Expected(result, True, tuple(Group([row], 1) for row in rows))
    return Expected(result, False, (Group(rows, len(rows)),))


def _backwards(prepared: Prepared, settings: Settings) -> Store | None:
    """Returns the given rows in another order, unless a reference gives something else there."""
    store = prepared.given.store.reversed()
    if store is None:
        return None
    limits = settings.limits(steps=None)
    for reference, expected in zip(prepared.references, prepared.given.expected, strict=False):
        try:
            found = store.run(reference.sql, limits, trusted=True)
        except QueryError:
            return None
        if expected is None or compare(expected, found, prepared.task.policy) is not None:
            store.close()
            return None
    return store


def _make(
    prepared: Prepared, clues: Clues, numbers: Sequence[int], settings: Settings
) -> Iterator[Bench]:
    """Yields generated databases on which at least one reference has a determined result."""
    engine, task = prepared.engine, prepared.task
    checks = read_tests(task.schema, task.dialect)
    generator = Generator(engine.schema, engine.samples(), clues, checks)
    for number in numbers:
        try:
            store, data = engine.generated(generator.make(number))
        except QueryError:
            continue
        expected = tuple(
            _determined(store, reference, task.policy, settings)
            for reference in prepared.references
        )
        if any(e is not None for e in expected):
            yield Bench(recipe(number).name, store, data, expected)
        else:
            store.close()


def _determined(
    store: Store, reference: Reference, policy: Policy, settings: Settings
) -> Expected | None:
    limits = settings.limits(steps=_REFERENCE_STEPS)
    try:
        result = store.run(reference.sql, limits, trusted=True)
        expected = _expect(store, reference, result, policy, settings)
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
