"""The verifier of SQL queries."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from rewardkit._install import require_extra
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime import Outcome, OutcomeStatus, WorkerPool
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch
from rewardkit.verifiers._memory import worker_mebibytes
from rewardkit.verifiers.sql._extract import extract_sql, place_steps
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql._work import PRELOAD, Item, check_in_worker, grade_in_worker
from rewardkit.verifiers.sql.compat import RULES, sql_r1
from rewardkit.verifiers.sql.prover import Prover, Z3Prover
from rewardkit.verifiers.sql.reference import DIALECTS, Task, read_reference

__all__ = ["SqlVerifier"]

_ENDS = {
    OutcomeStatus.TIMEOUT: Reason.TIMEOUT,
    OutcomeStatus.MEMORY: Reason.MEMORY,
    OutcomeStatus.CRASH: Reason.CRASH,
}
_MAX_SHOWN = 2_000
_SLOW = 0.25
"""Share of a verdict's time; if a reference alone takes more, a time-out is doubted."""


class SqlVerifier(Verifier):
    r"""Grades the query in a completion by the databases on which it differs from a reference.

    The completion's one query is run on the given rows and on databases that are generated so that
    mistakes show: around the constants of both queries, with ties, NULLs, orphans and empty tables.
    The first difference ends it, and comes with the smallest database that shows it.

    Args:
        dialect: what queries are written in, where a reference does not say. "sqlite", "duckdb"
            and "postgres" (with a `dsn`) run in their own engines, others are translated.
        databases: generated databases, at least 0.
        strength: measure the databases by mutants of the reference (`parts["confidence"]`) and add
            some where mutants survive.
        partial: most that a wrong query can get, in [0, 1); 0 for all or nothing.
        efficiency: add `parts["efficiency"]` to right queries, in BIRD's tiers (R-VES) of what
            they cost beside the reference.
        steps: add a step verdict for each CTE and for the main query, with spans in the completion.
        timeout_s: seconds for one verdict, above 0; a single query may use two fifths of it.
        max_rows: a result of more rows is refused, at least 1.
        max_steps: instructions of SQLite's machine for one query, at least 1000; a reference that
            is dear itself gives twenty times its own.
        max_chars: a longer query is refused unread.
        tolerance: numbers are equal within this, absolute or relative, in [0, 1).
        dsn: a PostgreSQL server where scratch schemas may be made; every transaction is rolled
            back.
        compat: grade by the published rule of another grader, on the given rows: a name in
            `rewardkit.verifiers.sql.compat.RULES`. The guard stays. `parts["reward"]` has the
            rule's own number, `score` is scaled into [0, 1].
        prover: "z3", or a `Prover` of your own, asked about queries that agree everywhere; its
            answer is advice.
        workers: processes; None for one per core.
        memory_bytes: memory of one of them, at least 64 MiB.

    Raises:
        ConfigError: an option is outside its values.
        EngineMissingError: sqlglot is not installed, or `dialect` needs an engine that is not;
            one that only a reference needs is missed when the reference is read.

    >>> reference = {
    ...     "schema": "CREATE TABLE t(a INTEGER)",
    ...     "rows": "INSERT INTO t VALUES (1), (2)",
    ...     "sql": "SELECT MAX(a) FROM t",
    ... }
    >>> with SqlVerifier(workers=1) as verifier:
    ...     verdict = verifier.verify("SELECT a FROM t ORDER BY a DESC LIMIT 1", reference)
    >>> verdict.evidence["why"], verdict.evidence["database"]
    ('coincidental', 'empty')
    """

    name = "sql"

    def __init__(
        self,
        *,
        dialect: str = "sqlite",
        databases: int = 20,
        strength: bool = True,
        partial: float = 0.3,
        efficiency: bool = False,
        steps: bool = False,
        timeout_s: float = 10.0,
        max_rows: int = 100_000,
        max_steps: int = 20_000_000,
        max_chars: int = 20_000,
        tolerance: float = 1e-9,
        dsn: str | None = None,
        compat: str | None = None,
        prover: Literal["z3"] | Prover | None = None,
        workers: int | None = None,
        memory_bytes: int = 1 << 30,
    ) -> None:
        require_extra("sql", only=("sqlglot",))
        if dialect not in (*DIALECTS, "postgresql"):
            raise ConfigError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
        for name, value, least in (
            ("databases", databases, 0),
            ("max_rows", max_rows, 1),
            ("max_steps", max_steps, 1000),
            ("max_chars", max_chars, 1),
        ):
            if value < least:
                raise ConfigError(f"{name} is at least {least}, not {value!r}")
        for name, share in (("partial", partial), ("tolerance", tolerance)):
            if not 0 <= share < 1:
                raise ConfigError(f"{name} is in [0, 1), not {share!r}")
        if compat is not None and compat not in RULES:
            raise ConfigError(f"compat is one of {', '.join(RULES)}, or None, not {compat!r}")
        if prover == "z3":
            prover = Z3Prover()
        if not (prover is None or isinstance(prover, Prover)):
            raise ConfigError(f"prover is 'z3', a Prover or None, not {prover!r}")
        if not timeout_s > 0:
            raise ConfigError(f"timeout_s is above 0, not {timeout_s!r}")
        self.settings = Settings(
            dialect=dialect,
            databases=databases,
            strength=strength,
            partial=partial,
            efficiency=efficiency,
            steps=steps,
            timeout_s=timeout_s,
            max_rows=max_rows,
            max_steps=max_steps,
            max_chars=max_chars,
            tolerance=tolerance,
            dsn=dsn,
            compat=compat,
            prover=prover,
        )
        _require_engine(dialect, dsn is not None)
        self._pool = WorkerPool(
            workers=workers,
            memory_mb=worker_mebibytes(memory_bytes),
            max_tasks=2_000,
            preload=PRELOAD,
        )

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the query in a completion.

        `evidence["why"]` says what is wrong with it, in finer words than `reason`;
        `evidence["witness"]` holds the rows on which it differs, as SQL.

        Args:
            completion: anything at all.
            reference: an object, see docs/verifiers/sql.md.
            context: not read.

        Raises:
            InvalidReferenceError: the reference lacks a part or has one of another shape.
        """
        started = time.perf_counter()
        task = self._read(reference)
        sql, verdict = self._extract(completion)
        if sql is not None:
            item = (task, sql, self.settings)
            outcome = self._pool.call(grade_in_worker, item, timeout_s=self.settings.timeout_s)
            verdict = self._finish(self._settle(item, outcome), sql, completion)
        return replace(verdict, seconds=time.perf_counter() - started)

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, in order; equal pairs are graded once, on all cores.

        Completions of one reference share its databases and its results.

        Raises:
            InvalidReferenceError: a reference cannot be read.
            ConfigError: a column has another length.
        """
        check_batch(completions, references, columns)
        tasks = [self._read(reference) for reference in references]
        found = [self._extract(completion) for completion in completions]
        places: dict[Item, list[int]] = {}
        verdicts = [verdict for _, verdict in found]
        for place, (task, (sql, _)) in enumerate(zip(tasks, found, strict=True)):
            if sql is not None:
                places.setdefault((task, sql, self.settings), []).append(place)
        # Neighbours travel together, so those of one reference meet a worker that knows it.
        first = {task: place for place, task in reversed(list(enumerate(tasks)))}
        items = sorted(places, key=lambda item: (first[item[0]], places[item][0]))
        outcomes = self._pool.map(grade_in_worker, items, timeout_s=self.settings.timeout_s)
        for item, outcome in zip(items, outcomes, strict=True):
            verdict = replace(self._settle(item, outcome), seconds=outcome.seconds)
            for place in places[item]:
                verdicts[place] = self._finish(verdict, item[1], completions[place])
        return verdicts

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns what to know before training on a reference: no rows, weak databases, chance.

        Raises:
            InvalidReferenceError: it cannot be read, or does not run on its schema and rows.
        """
        task = self._read(reference)
        outcome = self._pool.call(
            check_in_worker, task, self.settings, timeout_s=3 * self.settings.timeout_s
        )
        if outcome.value is None:
            return [f"it could not be prepared: {outcome.status.value} {outcome.detail}".strip()]
        usable, messages = outcome.value
        if not usable:
            raise InvalidReferenceError(f"the reference does not run: {messages[0]}")
        return messages

    def close(self) -> None:
        """Stops the workers. They start again at the next need."""
        self._pool.close()

    def _read(self, reference: Json) -> Task:
        settings = self.settings
        task = read_reference(
            reference, dialect=settings.dialect, dsn=settings.dsn, tolerance=settings.tolerance
        )
        _require_engine(task.dialect, task.dsn is not None)
        return task

    def _extract(self, completion: Completion) -> tuple[str | None, Verdict]:
        found = extract_sql(completion_text(completion), max_chars=self.settings.max_chars)
        return found.program, Verdict(
            0.0,
            found.reason or Reason.NO_ANSWER,
            detail=f"extraction: {found.detail}",
            evidence={"tier": "extraction", "why": (found.reason or Reason.NO_ANSWER).value},
        )

    def _finish(self, verdict: Verdict, sql: str, completion: Completion) -> Verdict:
        if self.settings.compat == "sql_r1" and verdict.score is not None:
            text = completion_text(completion)
            answer = text.rpartition("</think>")[2]
            reward = sql_r1(
                well_formed="</think>" in text and "</answer>" in answer,
                ran=verdict.parts.get("ran") == 1.0,
                matched=verdict.score == 1.0,
                completion_chars=len(text),
                sql_share=min(1.0, len(sql) / max(1, len(answer))),
            )
            parts = {**verdict.parts, "reward": reward}
            verdict = replace(verdict, score=max(0.0, (reward + 1) / 8.5), parts=parts)
        steps = place_steps(verdict.steps, sql, completion_text(completion))
        return replace(verdict, answer=_shown(sql), steps=steps)

    def _settle(self, item: Item, outcome: Outcome[Verdict]) -> Verdict:
        """Returns a worker's verdict, or what its end says of the query."""
        if outcome.value is not None:
            return outcome.value
        if item[2].prover is not None:
            # An adviser may have died or dawdled; the query is judged without one.
            item = (item[0], item[1], replace(item[2], prover=None))
            timeout_s = item[2].timeout_s
            return self._settle(item, self._pool.call(grade_in_worker, item, timeout_s=timeout_s))
        detail = f"worker: {outcome.status.value} {outcome.detail}".strip()
        reason = _ENDS.get(outcome.status)
        if reason is None:
            return Verdict(None, Reason.ENGINE_FAILURE, detail=detail)
        # Whose fault it is shows when the reference is run alone.
        task, _, settings = item
        alone = self._pool.call(check_in_worker, task, settings, timeout_s=3 * settings.timeout_s)
        evidence: dict[str, Json] = {"tier": "worker", "why": outcome.status.value}
        if alone.value is None:
            return Verdict(
                None, reason, detail=f"{detail}; so does the reference alone", evidence=evidence
            )
        busy = reason is Reason.TIMEOUT and alone.seconds > _SLOW * settings.timeout_s
        if busy or reason is Reason.CRASH:
            # The machine is so busy that the reference itself took the time, or the worker was lost
            # to something else: once more, for longer.
            again = self._pool.call(grade_in_worker, item, timeout_s=3 * settings.timeout_s)
            if again.value is not None:
                return again.value
        return Verdict(0.0, reason, detail=f"{detail}: the query", evidence=evidence)


@lru_cache(maxsize=64)
def _require_engine(dialect: str, server: bool) -> None:
    if dialect == "duckdb":
        require_extra("sql")
    elif dialect in ("postgres", "postgresql") and server:
        require_extra("postgres")


def _shown(sql: str) -> str:
    return sql if len(sql) <= _MAX_SHOWN else f"{sql[:_MAX_SHOWN]}…"
