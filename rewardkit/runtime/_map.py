"""Spreading items over the workers of a pool, in chunks that follow their cost."""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rewardkit.runtime._cancel import CALL_OFF, CalledOffError
from rewardkit.runtime._crew import InUse
from rewardkit.runtime._exchange import Task
from rewardkit.runtime.outcome import Outcome

__all__ = ["Map"]

_CHUNK_S = 0.05
"""Work that is worth a trip to a worker: a trip costs about a thousandth of it."""
_MAX_CHUNK = 256


class Map:
    """One `map` under way: threads that each take a chunk, run it, and come back for more."""

    def __init__(
        self,
        run: Callable[[Task, Sequence[bytes], float, float, InUse], list[Outcome[Any]]],
        task: Task,
        items: list[bytes],
        *,
        workers: int,
        timeout_s: float,
        chunk_size: int | None,
        until: float = math.inf,
    ) -> None:
        self._run = run
        self._task = task
        self._items = items
        self._threads = min(workers, len(items))
        self._timeout_s = timeout_s
        self._chunk_size = chunk_size
        self._until = until
        self._lock = threading.Lock()
        self._pending = deque(range(len(items)))
        self._outcomes: list[Outcome[Any] | None] = [None] * len(items)
        self._done = 0
        self._seconds = 0.0
        self._in_use = InUse()
        self._error: BaseException | None = None

    def outcomes(self) -> list[Outcome[Any]]:
        """Runs to the end and returns all outcomes, or raises what a thread raised.

        Raises:
            CalledOffError: who asked for them has gone.
        """
        call_off = CALL_OFF.get()
        if call_off is None:
            return self._all()
        with call_off.ends(lambda: self._stop(CalledOffError())):
            return self._all()

    def _all(self) -> list[Outcome[Any]]:
        helpers: list[threading.Thread] = []
        try:
            for _ in range(self._threads - 1):
                helper = threading.Thread(target=self._work, name="rewardkit-map", daemon=True)
                try:
                    helper.start()
                except RuntimeError:  # no more threads here: fewer will do
                    break
                helpers.append(helper)
            self._work()
            for helper in helpers:
                # In short waits: a signal may come just before a wait and would not end it.
                while helper.is_alive():
                    helper.join(0.5)
        except BaseException as error:
            self._stop(error)
            for helper in helpers:
                helper.join()
            raise
        if self._error is not None:
            raise self._error
        return [outcome for outcome in self._outcomes if outcome is not None]

    def _stop(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            self._pending.clear()
        self._in_use.end()

    def _work(self) -> None:
        while chunk := self._next_chunk():
            try:
                outcomes = self._run(
                    self._task,
                    [self._items[i] for i in chunk],
                    self._timeout_s,
                    self._until,
                    self._in_use,
                )
            except BaseException as error:
                self._stop(error)
                return
            with self._lock:
                for i, outcome in zip(chunk, outcomes, strict=False):
                    self._outcomes[i] = outcome
                    self._seconds += outcome.seconds
                self._done += len(outcomes)
                if self._error is None:
                    self._pending.extendleft(reversed(chunk[len(outcomes) :]))

    def _next_chunk(self) -> list[int]:
        with self._lock:
            size = self._chunk_size or self._fitting_chunk()
            return [self._pending.popleft() for _ in range(min(size, len(self._pending)))]

    def _fitting_chunk(self) -> int:
        if not self._done:
            return 1
        fair = math.ceil(len(self._pending) / (2 * self._threads))
        affordable = int(_CHUNK_S * self._done / max(self._seconds, 1e-9))
        return max(1, min(fair, affordable, _MAX_CHUNK))
