"""Cheap rows travel to a worker together: one trip each would cost more than grading them."""

import hashlib
import math
import pickle
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.runtime._tasks import CannotTravelError, pack
from rewardkit.runtime.batch import GradedRow, UngradedRow, grade_one, grade_rows
from rewardkit.runtime.pool import WorkerPool
from rewardkit.verifier import Verifier

__all__ = ["ChunkGrader"]

_CHEAP_S = 0.002
_CHUNK_S = 0.02
_MAX_CHUNK = 64
_LEAST_S = 1e-6
_CHUNK_TIMEOUT_S = 1.0
_KNOWN = 64
"""Verifiers whose cost is kept."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Grades a packed chunk of rows."""

    verifier: Verifier

    def __call__(self, packed: bytes) -> list[GradedRow]:
        return [grade_one(self.verifier, *row) for row in pickle.loads(packed)]


class ChunkGrader:
    """Grades rows in a pool, the cheap ones by the chunk.

    A chunk in which anything goes wrong (a worker that dies, a row that hangs) is graded again row
    by row, so that each row still meets its own fate.

    Args:
        pool: where rows are graded.
        row_timeout_s: seconds for one row.
        crash_retries: how often a row whose worker died is graded again.
    """

    def __init__(self, pool: WorkerPool, *, row_timeout_s: float, crash_retries: int) -> None:
        self._pool = pool
        self._row_timeout_s = row_timeout_s
        self._crash_retries = crash_retries
        self._row_s: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def grade(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float
    ) -> list[GradedRow]:
        """Returns what became of each row, in order."""
        try:
            key = hashlib.blake2b(pack(verifier, what="the verifier"), digest_size=16).digest()
        except CannotTravelError:
            return self._singly(verifier, rows, until, [])
        known = self._row_s.get(key, math.inf)
        timings: list[float] = []
        if known > _CHEAP_S or len(rows) < 2:
            results = self._singly(verifier, rows, until, timings)
        else:
            results = self._by_chunk(verifier, rows, until, known, timings)
        if timings and time.monotonic() < until:
            # What a row took in its worker: how long it waited for one says nothing about it.
            self._learn(key, sum(timings) / len(rows))
        return results

    def _learn(self, key: bytes, row_s: float) -> None:
        with self._lock:
            known = self._row_s.pop(key, math.inf)
            self._row_s[key] = max(_LEAST_S, min(row_s, 1.2 * known))
            if len(self._row_s) > _KNOWN:
                del self._row_s[next(iter(self._row_s))]

    def _singly(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float, timings: list[float]
    ) -> list[GradedRow]:
        return grade_rows(
            verifier,
            [row[0] for row in rows],
            [row[1] for row in rows],
            [row[2] for row in rows],
            pool=self._pool,
            row_timeout_s=self._row_timeout_s,
            until=until,
            crash_retries=self._crash_retries,
            timings=timings,
        )

    def _by_chunk(
        self,
        verifier: Verifier,
        rows: Sequence[UngradedRow],
        until: float,
        row_s: float,
        timings: list[float],
    ) -> list[GradedRow]:
        fair = math.ceil(len(rows) / (2 * self._pool.workers))
        size = max(1, min(fair, int(_CHUNK_S / row_s), _MAX_CHUNK))
        parts = [rows[start : start + size] for start in range(0, len(rows), size)]
        try:
            packed = [pickle.dumps(part, pickle.HIGHEST_PROTOCOL) for part in parts]
        except Exception:  # nested too deep, live objects: each row finds its own way
            return self._singly(verifier, rows, until, timings)
        outcomes = self._pool.map(
            _Chunk(verifier),
            packed,
            timeout_s=min(_CHUNK_TIMEOUT_S, self._row_timeout_s),
            until=until,
        )
        timings += [outcome.seconds for outcome in outcomes if outcome.ok]
        again = [
            row
            for part, outcome in zip(parts, outcomes, strict=True)
            if not outcome.ok
            for row in part
        ]
        singly = iter(self._singly(verifier, again, until, timings) if again else ())
        return [
            result
            for part, outcome in zip(parts, outcomes, strict=True)
            for result in (outcome.value or [next(singly) for _ in part])
        ]
