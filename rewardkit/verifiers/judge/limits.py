"""What holds requests back: slots, a rate, a breaker, a deadline. One event loop, no locks."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

__all__ = ["Breaker", "Deadline", "RateLimit", "Slots"]


class Slots:
    """At most so many requests in flight; a retry goes before those that have not begun.

    Without that, a retry in a batch of thousands would wait behind all of them, past its deadline.
    A slot has a number from 0, so that what belongs to one, such as a connection, can be found.
    """

    def __init__(self, count: int) -> None:
        self._free = list(
            range(count - 1, -1, -1)
        )  # the one used last, and still warm, comes first
        self._waiting: tuple[deque[asyncio.Future[int]], ...] = (deque(), deque())

    async def acquire(self, *, is_retry: bool = False) -> int:
        """Waits for a slot, and returns its number."""
        if self._free:
            return self._free.pop()
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[0 if is_retry else 1].append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(turn.result())  # the slot came together with the cancellation
            raise

    def release(self, slot: int) -> None:
        """Gives a slot to the next that waits."""
        for queue in self._waiting:
            while queue:
                turn = queue.popleft()
                if not turn.done():
                    turn.set_result(slot)
                    return
        self._free.append(slot)


class RateLimit:
    """Spaces requests evenly.

    >>> limit = RateLimit(2.0)
    >>> limit.reserve(now=10.0), limit.reserve(now=10.0)
    (0.0, 0.5)
    """

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = 0.0

    def reserve(self, *, now: float) -> float:
        """Takes the next place, and returns the seconds until it."""
        place = max(now, self._next)
        self._next = place + self._gap
        return place - now


class Breaker:
    """Stops asking a server that fails every time, and tries it again after a pause.

    Closed: requests pass. Open after `failures` in a row: none passes for `pause_s`. Then one
    passes as a trial; its success closes the circuit, its failure opens it for another pause.
    """

    def __init__(self, failures: int, pause_s: float, clock: Callable[[], float]) -> None:
        self._most = failures
        self._pause_s = pause_s
        self._clock = clock
        self._failed = 0
        self._open_until = 0.0
        self._trial = False
        self.opened = 0
        """How often it has opened."""

    @property
    def state(self) -> Literal["closed", "open", "half_open"]:
        """Closed, open, or half open: a trial is due or on its way."""
        if self._failed < self._most:
            return "closed"
        return "open" if self._clock() < self._open_until else "half_open"

    def wait_s(self) -> float:
        """Returns 0 if a request may pass now, else the seconds after which to ask again."""
        state = self.state
        if state == "closed":
            return 0.0
        if state == "open":
            return self._open_until - self._clock()
        if self._trial:
            return min(self._pause_s, 0.25)
        self._trial = True
        return 0.0

    def succeed(self) -> None:
        """Takes note of an answer."""
        self._failed, self._trial = 0, False

    def fail(self) -> None:
        """Takes note of a failure."""
        self._failed += 1
        if self._failed == self._most or self._trial:
            self.opened += 1
            self._open_until = self._clock() + self._pause_s
        self._trial = False

    def forget(self) -> None:
        """Takes note that a request ended without telling anything of the server."""
        self._trial = False


class Deadline:
    """The seconds of one verdict, counted from when its first request may go out."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end: float | None = None

    def start(self) -> None:
        """Starts the clock, once."""
        if self._end is None:
            self._end = time.monotonic() + self._seconds

    def left_s(self) -> float:
        """Returns the seconds that are left, at least 0."""
        if self._end is None:
            return self._seconds
        return max(self._end - time.monotonic(), 0.0)
