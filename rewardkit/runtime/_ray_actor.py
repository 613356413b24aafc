"""What runs on the nodes of a Ray cluster: an actor with one killable worker and warm verifiers."""

import math
import pickle
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence

from rewardkit.runtime._chunks import ChunkGrader
from rewardkit.runtime._tasks import describe
from rewardkit.runtime.pool import WorkerPool
from rewardkit.verifier import Verifier

__all__ = ["Grader"]

_MOST_VERIFIERS = 8


class Grader:
    """Grades chunks of rows. All that it is given and returns is bytes and plain data.

    Args:
        path: of the driver's modules: those that exist here are looked through last.
        memory_mb: private memory of its worker, in MiB; None for no limit.
        row_timeout_s: seconds for one row.
        crash_retries: how often a row whose worker died is graded again.
    """

    def __init__(
        self, path: Sequence[str], memory_mb: int | None, row_timeout_s: float, crash_retries: int
    ) -> None:
        sys.path += [entry for entry in path if entry not in sys.path]
        pool = WorkerPool(workers=1, memory_mb=memory_mb, max_tasks=100_000)
        self._grader = ChunkGrader(pool, row_timeout_s=row_timeout_s, crash_retries=crash_retries)
        self._verifiers: OrderedDict[bytes, Verifier] = OrderedDict()

    def grade(self, verifier: bytes, rows: bytes, left_s: float | None) -> dict[str, object]:
        """Returns `results`, pickled, with `seconds` and `node`, or `refused` with the reason.

        Args:
            verifier: pickled; kept for the next chunks.
            rows: pickled completions, references and contexts.
            left_s: seconds for all of them, or None.
        """
        import ray

        started = time.monotonic()
        try:
            made = self._verifier(verifier)
            unpacked = list(zip(*pickle.loads(rows), strict=True))
        except Exception as error:  # the boundary: what the driver sent cannot be read here
            return {"refused": describe(error)}
        until = math.inf if left_s is None else started + left_s
        results = self._grader.grade(made, unpacked, until)
        return {
            "results": pickle.dumps(results, pickle.HIGHEST_PROTOCOL),
            "seconds": time.monotonic() - started,
            "node": ray.get_runtime_context().get_node_id(),
        }

    def _verifier(self, packed: bytes) -> Verifier:
        found = self._verifiers.get(packed)
        if found is None:
            found = self._verifiers[packed] = pickle.loads(packed)
            if len(self._verifiers) > _MOST_VERIFIERS:
                self._verifiers.popitem(last=False)[1].close()
        return found
