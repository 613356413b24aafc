"""Replies kept in SQLite under everything that decides them.

Temperature 0 is not determinism: servers batch, and reuse prefixes. What is kept is the raw reply
and the draw of its boundary, and it is read again each time, so that the verdict is always what the
present parser says.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifiers.judge.parsing import PARSER_VERSION, Reply

__all__ = ["CachedReply", "ReplyCache", "cache_key"]

_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, nonce TEXT NOT NULL, reply TEXT NOT NULL, made REAL NOT NULL
) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A reply, and the boundary that its call had drawn."""

    reply: Reply
    nonce: str


def cache_key(url: str, body: Mapping[str, Json]) -> str:
    """Returns the name of a call: SHA-256 of all that decides its reply and how it is read.

    Args:
        url: the endpoint.
        body: the request with its messages, model, sampling and schema, the placeholder standing
            for the drawn boundary. Keys and headers have no part in it.
    """
    text = json.dumps([PARSER_VERSION, url, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class ReplyCache:
    """A file of replies. It is used from one thread; other processes may use it at the same time.

    Args:
        path: the file; it is made if it is not there.

    Raises:
        ConfigError: it cannot be opened, or is no such file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.failures = 0
        """Reads and writes that the file refused: a busy or full disk costs calls, not verdicts."""
        try:
            self._db = sqlite3.connect(self.path, timeout=5.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(_TABLE)
        except sqlite3.Error as error:
            raise ConfigError(f"cache {self.path}: cannot be used: {error}") from None

    def get(self, key: str) -> CachedReply | None:
        """Returns what is kept under a key, or None."""
        try:
            row = self._db.execute(
                "SELECT nonce, reply FROM replies WHERE key = ?", (key,)
            ).fetchone()
            return None if row is None else CachedReply(Reply(**json.loads(row[1])), row[0])
        except (sqlite3.Error, TypeError, ValueError):
            self.failures += 1
            return None

    def put(self, key: str, kept: CachedReply, *, now: float) -> None:
        """Keeps a reply; one that is there already stays, so that all see the same."""
        # ASCII: a lone surrogate in a reply has an escape in JSON and none in SQLite's UTF-8.
        text = json.dumps(asdict(kept.reply), ensure_ascii=True)
        try:
            self._db.execute(
                "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)", (key, kept.nonce, text, now)
            )
        except sqlite3.Error:
            self.failures += 1

    def close(self) -> None:
        """Closes the file."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
