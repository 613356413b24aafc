"""Calling work off: who asked for it has gone, so what runs is killed and nothing more begins."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["CALL_OFF", "CallOff", "CalledOffError"]


class CalledOffError(Exception):
    """Nobody waits for this work any more."""


class CallOff:
    """Tells work in other threads to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stops: list[Callable[[], None]] = []
        self._called = False

    def call(self) -> None:
        """Ends what has said how it is ended, and whatever will say so."""
        with self._lock:
            self._called = True
            stops = list(self._stops)
        for stop in stops:
            stop()

    def check(self) -> None:
        """Raises if the work was called off.

        Raises:
            CalledOffError: it was.
        """
        if self._called:
            raise CalledOffError

    @contextmanager
    def ends(self, stop: Callable[[], None]) -> Iterator[None]:
        """Has `stop` called, from another thread, if the work inside is called off."""
        with self._lock:
            self._stops.append(stop)
        try:
            if self._called:  # after it was added: either this or `call` sees the other
                stop()
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)


CALL_OFF: ContextVar[CallOff | None] = ContextVar("rewardkit_call_off", default=None)
"""Of the work that this thread or task does."""
