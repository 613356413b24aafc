"""The queue of a service: so many requests run, so many wait, and one more is turned away."""

import asyncio
import contextvars
import math
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rewardkit.runtime import Runner, running_on
from rewardkit.runtime._cancel import CALL_OFF, CallOff
from rewardkit.serve.service._metrics import Metrics
from rewardkit.serve.service._problems import Problem
from rewardkit.serve.service.limits import ServiceLimits

__all__ = ["Work"]

T = TypeVar("T")

_GRACE_S = 5.0
"""Past a deadline, for what cannot be killed: a function of the reward's own in this process."""


class Work:
    """Runs requests in threads, with every verdict on the runner; used from one event loop.

    Args:
        runner: where rows are graded.
        limits: of the service.
        metrics: told how many wait and run.
    """

    def __init__(self, runner: Runner, limits: ServiceLimits, metrics: Metrics) -> None:
        self._runner = runner
        self._limits = limits
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(limits.running, "rewardkit-request")
        self._lock = threading.Lock()
        self._waiting = 0
        self._running = 0
        self._usual_s = 0.1

    async def run(
        self, job: Callable[[float], T], timeout_s: float, gone: Callable[[], Awaitable[object]]
    ) -> T:
        """Returns what a job returns, which is given its deadline on the monotonic clock.

        Args:
            job: run in a thread.
            timeout_s: seconds for all of it, waiting included.
            gone: returns when the caller has gone; then what runs is killed.

        Raises:
            Problem: too many requests are here (429), the job is far past its deadline (504), or
                nobody waits for it any more.
        """
        self.check_room()
        until, call_off = time.monotonic() + timeout_s, CallOff()
        self._count(waiting=1)
        context = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(
            self._threads, context.run, self._job, job, until, call_off
        )
        future.add_done_callback(_look_away)
        leaving = asyncio.ensure_future(gone())
        both: set[asyncio.Future[Any]] = {future, leaving}
        try:
            await asyncio.wait(
                both, timeout=timeout_s + _GRACE_S, return_when=asyncio.FIRST_COMPLETED
            )
            if future.done():
                return future.result()
            if leaving.done():
                raise Problem(499, "gone", "the caller has gone")
            raise Problem(504, "timeout", "a part of the reward did not end in time")
        finally:
            leaving.cancel()
            if not future.done():
                call_off.call()

    def check_room(self) -> None:
        """Checks that one more request may come.

        Raises:
            Problem: too many requests are here (429).
        """
        if self._waiting + self._running >= self._limits.max_requests:
            raise self.busy("too many requests at a time")

    def busy(self, what: str) -> Problem:
        """Returns the answer to a request that comes again later."""
        return Problem(
            429,
            "busy",
            f"{what}: send it again after the seconds of Retry-After",
            {"Retry-After": str(self._wait_s())},
        )

    def _job(self, job: Callable[[float], T], until: float, call_off: CallOff) -> T:
        started = time.monotonic()
        self._count(waiting=-1, running=1)
        CALL_OFF.set(call_off)
        try:
            call_off.check()
            with running_on(self._runner, until=until):
                return job(until)
        finally:
            self._usual_s += 0.1 * (time.monotonic() - started - self._usual_s)
            self._count(running=-1)

    def _count(self, *, waiting: int = 0, running: int = 0) -> None:
        with self._lock:
            self._waiting += waiting
            self._running += running
            self._metrics.waiting.set(self._waiting)
            self._metrics.running.set(self._running)

    def _wait_s(self) -> int:
        ahead = self._usual_s * self._waiting / self._limits.running
        return min(max(1, math.ceil(ahead)), 60)

    def close(self) -> None:
        """Lets no further job begin."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_away(future: "asyncio.Future[T]") -> None:
    """Takes note of an error that nobody waits for, so that it is not logged as forgotten."""
    if not future.cancelled():
        future.exception()
