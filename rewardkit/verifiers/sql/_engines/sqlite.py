"""SQLite: in memory, or a file that is opened for reading only."""

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote as quote_url

from rewardkit.verifiers.sql._engines.base import Data, Limits, QueryError, Result, Row, Store
from rewardkit.verifiers.sql._engines.sqlite_tables import (
    decode,
    quote,
    read_ddl,
    read_samples,
    read_schema,
    select_all,
)
from rewardkit.verifiers.sql._schema import Table

__all__ = ["SqliteEngine", "SqliteStore"]

_STEP = 1_000
_FINE = 20_000
"""Instructions up to which a cost counts each of them."""
_BATCH = 256
_FEW_CELLS = 24
"""No more than this many values can hold more text than a result may: SQLite caps each."""
_HEAP = 256 << 20
_DENIED_FUNCTIONS = frozenset(
    "load_extension randomblob readfile writefile edit fts3_tokenizer sqlite_compileoption_get "
    "sqlite_compileoption_used sqlite_source_id sqlite_log".split()
)
_READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 2_000_000,
}
_KINDS = (
    ("no such column", "unknown_name"),
    ("no such table", "unknown_name"),
    ("no such function", "unknown_name"),
    ("no such module", "unsafe"),
    ("ambiguous column", "unknown_name"),
    ("syntax error", "syntax"),
    ("incomplete input", "syntax"),
    ("unrecognized token", "syntax"),
    ("not authorized", "unsafe"),
    ("prohibited", "unsafe"),
    ("readonly database", "unsafe"),
    ("one statement at a time", "several_statements"),
    ("null character", "syntax"),
    ("too large", "too_big"),
    ("too many", "too_big"),
    ("stack overflow", "too_big"),
    ("string or blob too big", "memory"),
    ("out of memory", "memory"),
)


class SqliteStore:
    """One SQLite database behind the guards: authorizer, progress handler, limits."""

    def __init__(self, open_: Callable[[], sqlite3.Connection], *, backwards: bool = False) -> None:
        self._open = open_
        self._connection = open_()
        for limit, value in _LIMITS.items():
            self._connection.setlimit(limit, value)
        # The table-valued functions of JSON load at their first use, which a guard would forbid.
        self._connection.execute("SELECT * FROM json_each('[]'), json_tree('[]')").fetchall()
        if backwards:
            self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        # A verdict must not depend on chance: each run draws the same numbers, and the run with
        # rows in another order draws others.
        self._seed = 2 if backwards else 1
        self._random = random.Random(self._seed)
        self._drawn = False
        self._connection.create_function("random", 0, self._draw)
        self._backwards = backwards
        self._tables: set[str] = set()
        self._trusted = False
        self._meter = _Meter()
        self._step = 0
        self._watched = True
        self._connection.set_authorizer(self._authorize)

    def run(
        self, sql: str, limits: Limits, /, *, trusted: bool = False, cleared: bool = False
    ) -> Result:
        """Returns the rows of one query; see `Store`."""
        if cleared == self._watched:
            # What may be read hangs on the text and the tables, and both were seen.
            self._watched = not cleared
            self._connection.set_authorizer(self._authorize if self._watched else None)
        return self._run(sql, limits, trusted, _STEP)

    def cost(self, sql: str, limits: Limits, /, *, trusted: bool = False) -> float:
        """Returns the instructions of SQLite's machine, to a thousand where there are many."""
        rough = self.run(sql, limits, trusted=trusted).steps
        return rough if rough > _FINE else self._run(sql, limits, trusted, 1).steps

    def _run(self, sql: str, limits: Limits, trusted: bool, step: int) -> Result:
        self._tables, self._trusted = set(), trusted
        if self._drawn:
            self._drawn = False
            self._random.seed(self._seed)
        if self._connection.text_factory is not str:
            self._connection.text_factory = str
        meter = self._meter
        meter.start(limits, step)
        if step != self._step:
            self._step = step
            self._connection.set_progress_handler(meter, step)
        try:
            try:
                return self._fetch(sql, limits, meter)
            except sqlite3.OperationalError as error:
                if "decode to UTF-8" not in str(error):
                    raise
                self._connection.text_factory = decode
                return self._fetch(sql, limits, meter)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
            raise _explain(error, meter) from None
        except MemoryError:
            raise QueryError("memory", "the query needs too much memory") from None

    def _fetch(self, sql: str, limits: Limits, meter: "_Meter") -> Result:
        cursor = self._connection.execute(sql)
        try:
            if cursor.description is None:
                raise QueryError("unsafe", "not a query")
            names = tuple(column[0] for column in cursor.description)
            rows: list[Row] = cursor.fetchmany(_BATCH)
            if len(rows) == _BATCH or len(rows) * len(names) > _FEW_CELLS:
                self._fetch_more(cursor, rows, limits)
            return Result(names, rows, meter.steps, frozenset(self._tables))
        finally:
            cursor.close()

    def _draw(self) -> int:
        self._drawn = True
        return self._random.getrandbits(63)

    def _fetch_more(self, cursor: sqlite3.Cursor, rows: list[Row], limits: Limits) -> None:
        batch, chars = rows, 0
        while batch:
            chars += sum(len(v) for row in batch for v in row if isinstance(v, str | bytes))
            if len(rows) > limits.rows or chars > limits.cells_chars:
                raise QueryError("row_cap", f"more than {limits.rows:,} rows or too much text")
            batch = cursor.fetchmany(_BATCH)
            rows += batch

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in _READING:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            table = (first or "").lower()
            self._tables.add(table)
            hidden = table.startswith(("sqlite_", "pragma_", "dbstat")) and not self._trusted
            return sqlite3.SQLITE_DENY if hidden else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            denied = (second or "").lower() in _DENIED_FUNCTIONS
            return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def reversed(self) -> Store | None:
        """Returns the same data where unordered rows come backwards."""
        return SqliteStore(self._open, backwards=not self._backwards)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


class _Meter:
    """Counts the virtual machine's instructions and ends the query at a limit."""

    def __init__(self) -> None:
        self.start(Limits(), _STEP)

    def start(self, limits: Limits, step: int) -> None:
        """Begins to count for a query."""
        self._limit, self._step = limits.steps, step
        self._deadline = time.monotonic() + limits.seconds
        self.steps = 0
        self.stopped = False

    def __call__(self) -> int:
        self.steps += self._step
        over = self._limit is not None and self.steps > self._limit
        self.stopped = over or time.monotonic() > self._deadline
        return int(self.stopped)


class SqliteEngine:
    """SQLite databases of one schema.

    Args:
        schema: DDL, or "" where `database` is given.
        rows: INSERT statements of the given data.
        database: path of a database file; it is never written.

    Raises:
        QueryError: the DDL or the rows do not run.
    """

    def __init__(self, *, schema: str, rows: str, database: str | None = None) -> None:
        self._path = database
        self._image = b""
        try:
            if database is None:
                self._image = _image(f"{schema};\n{rows}")
            connection = self._open_given()
            try:
                self.ddl = schema or read_ddl(connection)
                self.schema = read_schema(connection)
                self._given_samples = read_samples(connection, self.schema)
            finally:
                connection.close()
            self._template = _image(self.ddl)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
            raise QueryError("schema", f"the schema or its rows: {error}") from None

    def given(self) -> SqliteStore:
        """Returns the data of the reference."""
        return SqliteStore(self._open_given)

    def generated(self, data: Data, /) -> tuple[SqliteStore, Data]:
        """Returns a store with those rows that the constraints allow, and these rows."""
        connection = _load(self._template)
        kept: dict[str, list[Row]] = {}
        try:
            for table in self.schema.tables:
                kept[table.name] = _insert(connection, table, data.get(table.name, ()))
            if _drop_orphans(connection):
                kept = {t.name: select_all(connection, t) for t in self.schema.tables}
            connection.commit()
            image = connection.serialize()
        except (sqlite3.Error, OverflowError) as error:
            raise QueryError("schema", f"generated rows: {error}") from None
        finally:
            connection.close()
        return SqliteStore(lambda: _load(image)), kept

    def samples(self) -> Data:
        """Returns some given rows of each table."""
        return self._given_samples

    def close(self) -> None:
        """Nothing is shared."""

    def _open_given(self) -> sqlite3.Connection:
        if self._path is None:
            return _load(self._image)
        # immutable: no journal, no lock, no shared-memory file beside the user's database.
        uri = f"file:{quote_url(str(Path(self._path).absolute()))}?mode=ro&immutable=1"
        return _prepare(sqlite3.connect(uri, uri=True, cached_statements=0))


def _prepare(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA hard_heap_limit = {_HEAP}")
    return connection


def _load(image: bytes) -> sqlite3.Connection:
    connection = _prepare(sqlite3.connect(":memory:", cached_statements=0))
    connection.deserialize(image)
    return connection


def _image(script: str) -> bytes:
    connection = _prepare(sqlite3.connect(":memory:"))
    try:
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("VACUUM")
        connection.executescript(script)
        connection.commit()
        return connection.serialize()
    finally:
        connection.close()


def _insert(connection: sqlite3.Connection, table: Table, rows: Sequence[Row]) -> list[Row]:
    names = ", ".join(quote(column.name) for column in table.columns)
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT OR IGNORE INTO {quote(table.name)} ({names}) VALUES ({marks})"
    return [row for row in rows if connection.execute(insert, row).rowcount == 1]


def _drop_orphans(connection: sqlite3.Connection) -> bool:
    """Deletes rows whose parent a constraint has refused; returns whether there were any."""
    dropped = False
    while orphans := connection.execute("PRAGMA foreign_key_check").fetchall():
        before = connection.total_changes
        for table, row_id, *_ in orphans:
            connection.execute(f"DELETE FROM {quote(table)} WHERE rowid = ?", (row_id,))
        if connection.total_changes == before:
            break
        dropped = True
    return dropped


def _explain(error: Exception, meter: _Meter) -> QueryError:
    text = str(error)
    if meter.stopped:
        return QueryError("timeout", f"stopped after {meter.steps:,} steps")
    found = (kind for part, kind in _KINDS if part in text.lower())
    kind = "syntax" if isinstance(error, UnicodeEncodeError) else next(found, "runtime")
    return QueryError(kind, text)
