"""What is made once for a reference: databases, what it gives on them, and how strong they are."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice

from rewardkit.verifiers.sql._bare import bare_variants
from rewardkit.verifiers.sql._benches import (
    REFERENCE_STEPS,
    Reference,
    bench_of,
    expect_of,
    expected_rows,
    make_benches,
    read_reference_sql,
)
from rewardkit.verifiers.sql._clues import Clues, merge_clues, read_checks, read_clues
from rewardkit.verifiers.sql._dialects import Route, open_engine, route
from rewardkit.verifiers.sql._engines.base import Data, Engine, Limits, QueryError, Result, Store
from rewardkit.verifiers.sql._mutants import mutate
from rewardkit.verifiers.sql._results import Bench, Expected, compare
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql._signals import Reads
from rewardkit.verifiers.sql._strength import Strength, measure
from rewardkit.verifiers.sql._subtasks import Subtask, decompose
from rewardkit.verifiers.sql.reference import Task

__all__ = ["Prepared", "forget", "prepare"]

_KEPT = {"sqlite": 32, "duckdb": 4, "postgres": 32}
"""Prepared tasks of each engine in a process. A DuckDB takes some 20 MB, and five times as much of
address space."""
_MUTANT_STEPS = 500_000
_MUTANTS, _FEW_MUTANTS = 40, 12


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
    cost: float | None = None
    """Of the first reference on the given rows, where it was asked for."""
    subtask_rows: dict[int, tuple[Result | None, ...]] = field(default_factory=dict)
    """What each subtask gives on the first databases, where it was asked for."""
    _extra: dict[Clues, list[Bench]] = field(default_factory=dict)

    @cached_property
    def subtasks(self) -> tuple[Subtask, ...]:
        """The first reference, taken apart."""
        tree = self.references[0].tree if self.references else None
        return () if tree is None else decompose(tree, self.engine.schema)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of the schema's columns in lower case."""
        return self.engine.schema.column_names()

    @cached_property
    def reads(self) -> Reads | None:
        """What the first reference reads; None if nothing could parse it."""
        tree = self.references[0].tree if self.references else None
        return None if tree is None else Reads.of(tree, self.engine.schema)

    @cached_property
    def determined(self) -> bool:
        """False if a reference itself has columns beside GROUP BY that may come from any row."""
        limits = Limits(steps=REFERENCE_STEPS)
        return all(
            bench.agrees(i, variant, self.task.policy, limits)
            for i, reference in enumerate(self.references)
            for variant in bare_variants(reference.tree, self.way.target)
            for bench in (self.given, *self.generated)
        )

    def make(self, clues: Clues, numbers: Sequence[int], settings: Settings) -> Iterator[Bench]:
        """Yields generated databases with what the references give there."""
        return make_benches(self.engine, self.references, self.task, clues, numbers, settings)

    def bench(self, data: Data, name: str, settings: Settings) -> Bench | None:
        """Returns a database of these rows, if a reference has a determined result there."""
        policy = self.task.policy
        return bench_of(self.engine, self.references, policy, data, name, settings)

    def extra(self, clues: Clues, count: int, settings: Settings) -> list[Bench]:
        """Returns databases around constants that only a prediction has; the last few are kept."""
        known = self._extra.get(clues)
        if known is None:
            if len(self._extra) >= 8:
                _close(self._extra.pop(next(iter(self._extra))))
            made = self.make(merge_clues([self.clues, clues]), range(1, 3 * count), settings)
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
    references = tuple(read_reference_sql(sql, way) for sql in task.sql)
    columns = engine.schema.column_names()
    clues = merge_clues(
        [*(read_clues(r.tree, columns) for r in references), read_checks(task.schema, columns)]
    )
    store = engine.given()
    results = [store.run(r.sql, settings.limits(steps=None), trusted=True) for r in references]
    expected: list[Expected | None] = [
        expect_of(store, r, result, task.policy, settings)
        for r, result in zip(references, results, strict=True)
    ]
    if task.expected is not None:
        expected.append(expected_rows(task))
    store.close()
    given = Bench("given rows", engine.given(), None, tuple(expected))
    prepared = Prepared(
        task, way, engine, references, given, None, [], Strength(), clues,
        max((r.steps for r in results), default=0),
    )  # fmt: skip
    prepared.backwards = _backwards(prepared, settings)
    if engine.schema.tables and references and settings.databases and not settings.compat:
        numbers = range(settings.databases)
        prepared.generated = list(prepared.make(clues, numbers, settings))
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
        lambda: prepared.make(prepared.clues, numbers, settings),
        prepared.task.policy,
        settings.limits(steps=_MUTANT_STEPS),
    )
    prepared.generated += added


def _close(benches: Sequence[Bench]) -> None:
    for bench in benches:
        bench.store.close()


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
