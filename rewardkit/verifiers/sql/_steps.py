"""Which subtasks of a reference the parts of a prediction attain, and a verdict on each CTE.

A subtask is attained if a part of the prediction, run as a query of its own, gives its rows on the
given data and on generated ones. Columns may be in another order, and there may be further ones.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from rewardkit.verdict import Reason, StepVerdict
from rewardkit.verifiers.sql._engines.base import Limits, QueryError, Result
from rewardkit.verifiers.sql._partial import row_f1
from rewardkit.verifiers.sql._prepare import Prepared
from rewardkit.verifiers.sql._results import Bench, Expected, Group, find_columns
from rewardkit.verifiers.sql._signals import Reads, is_constant
from rewardkit.verifiers.sql._spans import cte_spans
from rewardkit.verifiers.sql._standalone import standalone
from rewardkit.verifiers.sql._subtasks import Subtask, decompose
from rewardkit.verifiers.sql.reference import Policy

__all__ = ["Attempt", "step_verdicts"]

_POLICY = Policy(order_matters=False, column_order="any", extra_columns="allow")
_BENCHES = 6
"""Databases on which parts are run: the given rows, then generated ones."""
_MAX_PARTS = 12
_STEPS = 300_000
_ROWS = 10_000
_ENDLESS = ("timeout", "row_cap", "memory")
_SHARE = 0.2
"""Of a verdict's time, for all parts together."""

_Rows = tuple[Result | None, ...]
"""What a part gives on each database; None where it does not run."""


@dataclass(slots=True)
class Attempt:
    """The parts of a prediction beside the subtasks of the first reference."""

    prepared: Prepared
    tree: exp.Expr
    timeout_s: float
    failed: Bench | None = None
    """Where the prediction as a whole was seen to fail."""
    wanted: tuple[Subtask, ...] = ()
    given: tuple[Subtask, ...] = ()
    rows: dict[int, _Rows] = field(default_factory=dict)
    """By place in `given`, of the parts that run alone."""
    pairs: frozenset[tuple[int, int]] = frozenset()
    """Places in `wanted` and `given` of what gives the same rows."""
    _benches: tuple[Bench, ...] = ()
    _expected: dict[int, _Rows] = field(default_factory=dict)

    @property
    def _limits(self) -> Limits:
        return Limits(seconds=_SHARE * self.timeout_s, steps=_STEPS, rows=_ROWS)

    @classmethod
    def make(
        cls, prepared: Prepared, tree: exp.Expr, *, timeout_s: float, failed: Bench | None = None
    ) -> "Attempt":
        """Returns the parts, after they were run."""
        made = cls(prepared, tree, timeout_s, failed)
        reference = prepared.references[0].tree if prepared.references else None
        if reference is None:
            return made
        schema = prepared.engine.schema
        made.wanted, made.given = prepared.subtasks, decompose(tree, schema)
        made._benches = (prepared.given, *prepared.generated[: _BENCHES - 1])
        if failed is not None and all(bench is not failed for bench in made._benches):
            made._benches = (*made._benches, failed)
        made._run()
        return made

    def _run(self) -> None:
        deadline = time.monotonic() + _SHARE * self.timeout_s
        dialect = self.prepared.way.target
        for j, part in enumerate(self.given[:_MAX_PARTS]):
            query = None if part.kind == "main" or is_constant(part.query) else standalone(part)
            if query is None or time.monotonic() > deadline:
                continue
            sql = query.sql(dialect=dialect)
            self.rows[j] = _run_all(sql, self._benches, self._limits, deadline)
        self.pairs = frozenset(
            (i, j)
            for i, wanted in enumerate(self.wanted[:_MAX_PARTS])
            for j in self.rows
            # A part that is the whole reference counts for its main query.
            if self._agree(i, wanted, j)
        )

    def _agree(self, i: int, wanted: Subtask, j: int) -> bool:
        if is_constant(wanted.query):
            return False
        rows = zip(self.expected(i), self.rows[j], strict=False)
        both = [(_as_asked(a), b) for a, b in rows if a is not None and b is not None]
        # On every database where the subtask itself runs, and on one with rows to see.
        enough = len(both) == sum(one is not None for one in self.expected(i))
        if not both or not enough or not any(a.result.rows for a, _ in both):
            return False
        ordered = sorted(both, key=lambda pair: len(pair[0].result.rows))
        return find_columns(ordered, _POLICY) is not None

    def expected(self, i: int) -> _Rows:
        """Returns what the reference's subtask `i` gives on each database."""
        known = self._expected.get(i)
        if known is None:
            kept, own = self.prepared.subtask_rows, len(self._benches)
            first = min(own, 1 + min(len(self.prepared.generated), _BENCHES - 1))
            if i not in kept:
                kept[i] = self._run_subtask(i, self._benches[:first])
            # Behind them is the database on which the whole fails, if it is another one.
            known = self._expected[i] = kept[i] + self._run_subtask(i, self._benches[first:])
        return known

    def _run_subtask(self, i: int, benches: Sequence[Bench]) -> _Rows:
        query = standalone(self.wanted[i]) if benches else None
        sql = "" if query is None else query.sql(dialect=self.prepared.way.target)
        return _run_all(sql, benches, self._limits, None, trusted=True)

    def nearest(self, j: int) -> float:
        """Returns the mean F1 of a part's rows with the nearest subtask that reads its tables."""
        schema = self.prepared.engine.schema
        tables = Reads.of(self.given[j].query, schema).tables
        best = -1.0
        for i, wanted in enumerate(self.wanted):
            if Reads.of(wanted.query, schema).tables != tables or j not in self.rows:
                continue
            both = zip(self.expected(i), self.rows[j], strict=False)
            found = [0.0 if b is None else row_f1(a, b) for a, b in both if a is not None]
            best = max(best, sum(found) / len(found) if found else -1.0)
        return best


def _run_all(
    sql: str,
    benches: Sequence[Bench],
    limits: Limits,
    deadline: float | None,
    *,
    trusted: bool = False,
) -> _Rows:
    found: list[Result | None] = []
    for bench in benches:
        if not sql or (deadline is not None and time.monotonic() > deadline):
            break
        try:
            found.append(bench.store.run(sql, limits, trusted=trusted))
        except QueryError as error:
            found.append(None)
            if error.kind in _ENDLESS:
                break  # it would not end on the next one either
    return (*found, *[None] * (len(benches) - len(found)))


def _as_asked(result: Result) -> Expected:
    return Expected(result, False, (Group(result.rows, len(result.rows)),))


def step_verdicts(
    attempt: Attempt, sql: str, dialect: str, *, passed: bool, most: float
) -> tuple[StepVerdict, ...]:
    """Returns a verdict on each CTE of a prediction and on its main query, with spans in `sql`.

    A CTE scores 1 if it gives the rows of a subtask of the reference, or if the whole query is
    right; else at most `most` times the F1 of its rows with the subtask that reads the same tables.
    None where there is nothing to compare it with, where nothing reads it, where it reads no table,
    and where an earlier one has its subtask, so that copies earn nothing.

    Args:
        attempt: the parts, after they were run.
        sql: the prediction as it was written.
        dialect: of `sql`.
        passed: whether the whole is right.
        most: the cap of a step that is not right, in [0, 1).
    """
    ctes = attempt.tree.args.get("with_")
    every = list(ctes.expressions) if isinstance(ctes, exp.With) else []
    spans = cte_spans(sql, dialect)
    if spans is None or len(spans) != len(every) + 1:
        return ()
    read = _reached(attempt.tree, every)
    taken: set[int] = set()
    steps = []
    for cte, (start, end) in zip(every, spans, strict=False):
        place = next((j for j, p in enumerate(attempt.given) if p.query is cte.this), None)
        if is_constant(cte.this):
            score, detail = None, "reads no table"
        elif cte.alias.lower() not in read:
            score, detail = None, "nothing reads it"
        elif passed:
            score, detail = 1.0, "a part of a right query"
        else:
            score, detail = _grade(attempt, place, taken, most)
        steps.append(StepVerdict(start, end, score, _reason(score), f"{cte.alias}: {detail}"[:200]))
    start, end = spans[-1]
    steps.append(
        StepVerdict(
            start, end, float(passed), Reason.MATCH if passed else Reason.MISMATCH, "main query"
        )
    )
    return tuple(steps)


def _reason(score: float | None) -> Reason:
    if score is None:
        return Reason.UNPROVED
    return Reason.MATCH if score == 1 else Reason.PARTIAL if score else Reason.MISMATCH


def _grade(
    attempt: Attempt, place: int | None, taken: set[int], most: float
) -> tuple[float | None, str]:
    if place is None:
        return None, "not compared"
    attained = [i for i, j in sorted(attempt.pairs) if j == place]
    free = [i for i in attained if i not in taken]
    if free:
        taken.add(free[0])
        found = attempt.wanted[free[0]]
        return 1.0, f"gives the rows of the reference's {found.kind} query {found.name}".strip()
    if attained:
        return None, "an earlier step has its subtask"
    near = attempt.nearest(place)
    if near < 0:
        return None, "nothing in the reference reads the same tables"
    return round(most * near, 6), "gives other rows than the reference's subtask"


def _reached(tree: exp.Expr, ctes: Sequence[exp.Expr]) -> set[str]:
    """Returns the names of the CTEs that the main query reads, itself or through others."""
    names = {cte.alias.lower(): cte for cte in ctes}
    inside = {id(node) for cte in ctes for node in cte.walk()}
    tables = [table for table in tree.find_all(exp.Table) if id(table) not in inside]
    found: set[str] = set()
    while tables:
        name = tables.pop().name.lower()
        if name in names and name not in found:
            found.add(name)
            tables += names[name].find_all(exp.Table)
    return found
