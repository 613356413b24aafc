"""A prediction's way through the databases, up to the first on which it fails."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rewardkit.verifiers.sql._bare import bare_variants
from rewardkit.verifiers.sql._clues import Clues, read_clues
from rewardkit.verifiers.sql._engines.base import Limits, QueryError, Result, Store
from rewardkit.verifiers.sql._guard import Query
from rewardkit.verifiers.sql._prepare import Prepared
from rewardkit.verifiers.sql._results import Bench, Difference, Expected, compare, find_columns
from rewardkit.verifiers.sql._settings import Settings

__all__ = ["Failure", "Trial"]

_EXTRA = 6
"""Databases around constants that only the prediction has."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and how a prediction failed."""

    why: str
    detail: str
    bench: Bench
    found: Result | None = None


@dataclass(slots=True)
class Trial:
    """One prediction against one prepared task."""

    prepared: Prepared
    query: Query
    settings: Settings
    tier: str = "given rows"
    ran: int = 0
    """Databases on which it ran."""
    steps: int = 0
    """Instructions of SQLite's machine on the given rows."""
    tables: frozenset[str] | None = None
    """Tables that it read there, if the engine says so."""
    _alive: list[int] = field(default_factory=list)
    """The references that agree so far."""
    _seen: dict[int, list[tuple[Expected, Result]]] = field(default_factory=dict)
    _columns: dict[int, tuple[int, ...]] = field(default_factory=dict)
    limits: Limits = field(init=False)
    """What one run may cost: more where the reference costs much itself."""

    def __post_init__(self) -> None:
        steps = max(self.settings.max_steps, 20 * self.prepared.steps)
        self.limits = self.settings.limits(steps=steps)

    def failure(self) -> Failure | None:
        """Runs until something differs and returns it, or None if nothing does."""
        prepared = self.prepared
        self._alive = list(range(len(prepared.given.expected)))
        failure = self._try(prepared.given) or self._try_backwards()
        if failure is not None:
            return failure
        if self._same_tree():
            self.tier = "same query"
            return None
        if not prepared.generated:
            return self._try_bare_columns()
        self.tier = "generated data"
        return (
            self._try_all(prepared.generated)
            or self._try_all(self._extra())
            or self._try_bare_columns()
        )

    @property
    def agreeing(self) -> tuple[int, ...]:
        """The references that the prediction has agreed with everywhere."""
        return tuple(self._alive)

    def try_on(self, bench: Bench) -> Failure | None:
        """Returns how the prediction fails on a further database, if it does; it is closed."""
        try:
            return self._try(bench)
        finally:
            bench.store.close()

    def _same_tree(self) -> bool:
        tree = self.query.tree
        references = self.prepared.references
        alive = [references[i] for i in self._alive if i < len(references)]
        size = len(self.query.nodes)
        return tree is not None and any(r.size == size and r.tree == tree for r in alive)

    def _extra(self) -> Iterable[Bench]:
        known = self.prepared.clues
        clues = read_clues(self.query.tree, self.prepared.columns, self.query.nodes)
        new = Clues(
            clues.by_column - known.by_column,
            clues.loose - known.loose,
            clues.counts - known.counts,
            clues.links - known.links,
            clues.wanted - known.wanted,
        )
        return () if new == Clues() else self.prepared.extra(new, _EXTRA, self.settings)

    def _try_all(self, benches: Iterable[Bench]) -> Failure | None:
        return next((f for bench in benches if (f := self._try(bench)) is not None), None)

    def _try(self, bench: Bench, store: Store | None = None) -> Failure | None:
        """Returns how the prediction fails on a database, if it does."""
        try:
            known = self.ran > 0  # the given rows come first, and with them the guards
            found = (store or bench.store).run(self.query.sql, self.limits, cleared=known)
        except QueryError as error:
            return Failure(error.kind, error.message, bench)
        if store is None:
            self.ran += 1
            if bench.data is None:
                self.steps, self.tables = found.steps, found.tables
        differences: list[Difference] = []
        agreeing = []
        for i in self._alive:
            expected = bench.expected[i] if i < len(bench.expected) else None
            difference = None if expected is None else self._compare(i, expected, found)
            if difference is None:
                agreeing.append(i)
            else:
                differences.append(difference)
        if agreeing or not differences:
            self._alive = agreeing
            return None
        return Failure(differences[0].kind, differences[0].detail, bench, found)

    def _try_backwards(self) -> Failure | None:
        if self.prepared.backwards is None:
            return None
        failure = self._try(self.prepared.given, self.prepared.backwards)
        if failure is None or failure.why in ("timeout", "memory"):
            return failure
        detail = "gives something else when the rows are stored in another order"
        return replace(failure, why="non_deterministic", detail=detail)

    def _try_bare_columns(self) -> Failure | None:
        """Returns a failure if the result hangs on which row of a group a column is taken from."""
        prepared = self.prepared
        if prepared.way.target != "sqlite":  # the others refuse such columns
            return None
        variants = bare_variants(self.query.tree, "sqlite", self.query.nodes)
        if not variants or not prepared.determined:
            return None
        for sql in variants:
            other = replace(self, query=replace(self.query, sql=sql), ran=0)
            failure = other._try_all((prepared.given, *prepared.generated))
            if failure is not None and failure.found is not None:
                detail = "a column beside GROUP BY may come from any row of its group"
                return Failure("non_deterministic", detail, prepared.given)
        return None

    def _compare(self, i: int, expected: Expected, found: Result) -> Difference | None:
        policy = self.prepared.task.policy
        fixed = policy.column_order == "positional" and policy.extra_columns == "reject"
        given = expected.result
        if fixed and found.rows == given.rows and len(found.columns) == len(given.columns):
            return None  # row by row what the reference gave, which any policy accepts
        difference = compare(expected, found, policy, self._columns.get(i))
        if fixed:
            return difference
        # A choice of columns has to hold on all databases so far.
        seen = self._seen.setdefault(i, [])
        seen.append((expected, found))
        if difference is None:
            return None
        columns = find_columns(seen, policy)
        if columns is None:
            return difference
        self._columns[i] = columns
        return None
