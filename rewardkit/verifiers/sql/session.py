"""SQL as a tool: a session in which a model looks at a database, turn by turn."""

from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from rewardkit._install import require_extra
from rewardkit.errors import ConfigError
from rewardkit.runtime import OutcomeStatus, WorkerPool
from rewardkit.verdict import Json
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql._work import PRELOAD, Explored, explore_in_worker
from rewardkit.verifiers.sql.reference import read_reference

__all__ = ["TOOL_SCHEMA", "SqlSession", "SqlTurn", "sql_workers"]

_SHOWN_CHARS = 4000
_ENDS = {
    OutcomeStatus.TIMEOUT: "the query did not end within the time limit",
    OutcomeStatus.MEMORY: "the query used more memory than allowed",
    OutcomeStatus.CRASH: "the engine died of the query",
}

TOOL_SCHEMA: Json = {
    "type": "function",
    "function": {
        "name": "query",
        "description": "Runs one SQL query on the task's database, which can only be read, and "
        "returns the first rows. Without a query it lists the tables with their columns.",
        "parameters": {
            "type": "object",
            "properties": {"sql": {"type": "string", "description": "one SELECT"}},
        },
    },
}
"""The tool as chat templates and trainers describe functions; `SqlSession.query` runs it."""


@dataclass(frozen=True, slots=True)
class SqlTurn:
    """What one turn came to."""

    outcome: str
    """"ok", or why there are no rows: unsafe, syntax, unknown_name, runtime, timeout, …"""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """The first rows, each value as text."""
    more: bool = False
    """True if there are more rows than are shown."""
    message: str = ""
    """What went wrong, for the model to read."""

    @property
    def ok(self) -> bool:
        """True if the query ran to its end."""
        return self.outcome == "ok"

    @property
    def text(self) -> str:
        """What a model is shown."""
        if not self.ok:
            return f"{self.outcome}: {self.message}"
        lines = [" | ".join(self.columns), *(" | ".join(row) for row in self.rows)]
        lines += ["…"] if self.more else [] if self.rows else ["(no rows)"]
        text = "\n".join(lines)
        return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def sql_workers(*, workers: int | None = 1, memory_mb: int = 1024) -> WorkerPool:
    """Returns the processes in which queries run, for sessions that share them.

    Args:
        workers: processes; None for one per core.
        memory_mb: memory of one of them, in MiB.
    """
    return WorkerPool(workers=workers, memory_mb=memory_mb, max_tasks=2_000, preload=PRELOAD)


class SqlSession:
    """The database of a SQL reference, to be looked at and not to be written to.

    A turn is one query behind the guards of `SqlVerifier`, on a fresh copy of the given rows, in a
    process that can be killed. The reference's query is not in that process.

    Args:
        reference: as `SqlVerifier` takes it; its `schema` and `rows`, `database` or `dsn` count.
        dialect: where the reference names none.
        timeout_s: seconds of a turn, above 0.
        max_rows: rows that a turn shows, at least 1.
        max_turns: of the session; later ones are refused.
        max_chars: a longer query is refused unread.
        dsn: a PostgreSQL server, where the reference names none.
        pool: processes that sessions share (`sql_workers`); None for one of its own.

    Raises:
        ConfigError: a value outside its range.
        InvalidReferenceError: the reference cannot be read.
        EngineMissingError: `rewardkit[sql]` is not installed.

    >>> schema = "CREATE TABLE t(a INTEGER)"
    >>> with SqlSession({"schema": schema, "rows": "INSERT INTO t VALUES (7)", "sql": "?"}) as db:
    ...     print(db.query("SELECT a + 1 AS b FROM t").text)
    b
    8
    """

    def __init__(
        self,
        reference: Json,
        *,
        dialect: str = "sqlite",
        timeout_s: float = 10.0,
        max_rows: int = 20,
        max_turns: int = 50,
        max_chars: int = 20_000,
        dsn: str | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        require_extra("sql")
        if not timeout_s > 0 or min(max_rows, max_turns, max_chars) < 1:
            raise ConfigError(
                "timeout_s is above 0, and max_rows, max_turns and max_chars are at least 1"
            )
        task = read_reference(reference, dialect=dialect, dsn=dsn)
        self._task = replace(task, sql=(), expected=None)
        self._settings = Settings(dialect=dialect, timeout_s=timeout_s, max_chars=max_chars)
        self.max_rows, self.max_turns = max_rows, max_turns
        self.turns = 0
        self._pool = pool or sql_workers()
        self._owns = pool is None

    def query(self, sql: str | None = None) -> SqlTurn:
        """Returns the first rows of a query, or the tables where none is given. Never raises."""
        self.turns += 1
        if self.turns > self.max_turns:
            return SqlTurn("turns", message=f"no more than {self.max_turns} turns")
        text = sql.strip() if isinstance(sql, str) else ""
        if len(text) > self._settings.max_chars:
            return SqlTurn("too_big", message=f"more than {self._settings.max_chars} characters")
        # Half a character has no bytes to travel in.
        text = text.encode("utf-8", "replace").decode()
        outcome = self._pool.call(
            explore_in_worker,
            self._task,
            text or None,
            self._settings,
            self.max_rows,
            timeout_s=self._settings.timeout_s,
        )
        found = outcome.value
        if found is None:
            message = _ENDS.get(outcome.status, "the database is not available now")
            found = Explored(outcome.status.value, message=message)
        return SqlTurn(found.outcome, found.columns, found.rows, found.more, found.message)

    def close(self) -> None:
        """Ends the processes, unless they were given."""
        if self._owns:
            self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
