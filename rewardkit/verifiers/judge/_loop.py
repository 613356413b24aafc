"""An event loop in a thread of its own, started at the first need and again after a fork."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["LoopThread"]

_T = TypeVar("_T")


class LoopThread:
    """Runs coroutines of any thread or loop in one loop, so that their limits are shared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def __reduce__(self) -> tuple[type["LoopThread"], tuple[()]]:
        return LoopThread, ()

    @property
    def is_alive(self) -> bool:
        """True if it runs in this process."""
        return self._pid == os.getpid() and self._thread is not None and self._thread.is_alive()

    def submit(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Starts a coroutine, and returns its future."""
        if self._pid != os.getpid():
            # A fork copies the object and not the thread, and may copy a lock that is held.
            self._lock = threading.Lock()
            self._loop, self._thread, self._pid = None, None, os.getpid()
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="rewardkit-judge", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancels what still runs, and ends the thread."""
        if self._pid != os.getpid():
            return
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
