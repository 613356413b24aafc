"""The processes of one pool in one process: the fork server and the workers, handed out in turn."""

import contextlib
import math
import os
import queue
import threading
import time
import weakref
from collections import deque

from rewardkit.errors import ConfigError
from rewardkit.runtime._frames import Kind
from rewardkit.runtime._link import ForkServer, WorkerDied, WorkerLink
from rewardkit.runtime._settings import PoolSettings

__all__ = ["Crew", "InUse", "Slot"]

_crews: "weakref.WeakSet[Crew]" = weakref.WeakSet()
_SECOND_TRY_S = 0.05


class NoWorkerError(WorkerDied):
    """There is no worker, and no use in a second try."""


class Slot:
    """The right to run one task at a time, with the worker that does it, if there is one yet."""

    __slots__ = ("link",)

    def __init__(self) -> None:
        self.link: WorkerLink | None = None

    def drop(self) -> None:
        """Has the worker killed; the next task starts a new one."""
        link, self.link = self.link, None
        if link is not None:
            link.close()


class InUse:
    """The slots that one piece of work uses now, so that all of it can be ended at once."""

    def __init__(self) -> None:
        self._slots: set[Slot] = set()
        self.ended = False

    def add(self, slot: Slot) -> None:
        """Takes note of a slot."""
        self._slots.add(slot)

    def discard(self, slot: Slot) -> None:
        """Forgets it."""
        self._slots.discard(slot)

    def end(self) -> None:
        """Has the workers killed; one that is only being started is given nothing to do."""
        self.ended = True  # first: who starts a worker looks at it afterwards
        for slot in list(self._slots):
            link = slot.link
            if link is not None:
                link.hang_up()


class Crew:
    """A fork server and a fixed number of slots, first come first served.

    It belongs to the process that made it. A forked child forgets it (no lock of the parent's is
    taken there, none of its workers is touched) and its pool makes another.
    """

    def __init__(self, workers: int, settings: PoolSettings) -> None:
        self.pid = os.getpid()
        self.settings = settings
        self._server: ForkServer | None = None
        self._closed = False
        self._start = threading.Lock()
        self._lock = threading.Lock()
        self._free = deque(Slot() for _ in range(workers))
        self._slots = tuple(self._free)
        self._waiting: deque[queue.SimpleQueue[Slot]] = deque()
        _crews.add(self)

    def take(self, until: float = math.inf) -> Slot | None:
        """Returns a slot, waiting for one in the order of arrival; None at the deadline."""
        with self._lock:
            if self._free:
                return self._free.pop()
            turn: queue.SimpleQueue[Slot] = queue.SimpleQueue()
            self._waiting.append(turn)
        try:
            wait_s = None if until == math.inf else max(0.0, until - time.monotonic())
            return turn.get(timeout=wait_s)
        except BaseException as error:
            # Interrupted, or too late: its place, or its slot, goes to the next.
            with self._lock:
                waits = turn in self._waiting
                if waits:
                    self._waiting.remove(turn)
            if not waits:
                self.give(turn.get())
            if isinstance(error, queue.Empty):
                return None
            raise

    def give(self, slot: Slot) -> None:
        """Takes a slot back. Those with a living worker are used first, so few are started."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(slot)
            elif slot.link is None:
                self._free.appendleft(slot)
            else:
                self._free.append(slot)

    def worker(self, slot: Slot) -> WorkerLink:
        """Returns the slot's worker, started if it is not there or has died since.

        Raises:
            WorkerDied: no worker could be started.
            ConfigError: a preloaded module or the initializer failed.
        """
        if slot.link is not None and not slot.link.alive:
            slot.drop()
        if slot.link is None:
            try:
                slot.link = self._started()
            except NoWorkerError:
                raise
            except WorkerDied:
                # The server may have been killed just now; a second failure is the machine's.
                time.sleep(_SECOND_TRY_S)
                slot.link = self._started()
        return slot.link

    def _started(self) -> WorkerLink:
        with self._start:
            if self._closed:
                raise NoWorkerError("the pool was closed")
            if self._server is not None and not self._server.alive:
                self._server.stop()
                self._server = None
            if self._server is None:
                self._server = ForkServer(self.settings)
            link = self._server.fork()
        try:
            frame = link.receive(time.monotonic() + self.settings.start_timeout_s, 2**16)
            if frame is None:
                raise NoWorkerError(f"no worker was up after {self.settings.start_timeout_s:g} s")
            if frame.kind is Kind.REFUSED:
                raise ConfigError(
                    f"the pool cannot start: {frame.payload.decode(errors='replace')}"
                )
        except BaseException:
            link.close()
            raise
        return link

    def warm(self) -> None:
        """Has the fork server started if there is none, and does not wait for what it preloads."""
        if not self._start.acquire(blocking=False):
            return
        try:
            # A failure shows at the first task, which needs the server.
            with contextlib.suppress(OSError, ConfigError):
                if self._server is None and not self._closed:
                    self._server = ForkServer(self.settings)
        finally:
            self._start.release()

    def close(self) -> None:
        """Kills everything. Tasks that run in other threads end as crashes."""
        if self.pid != os.getpid():
            return
        with self._start:
            self._closed = True
            server, self._server = self._server, None
            if server is not None:
                server.stop()
        with self._lock:
            free = list(self._free)
        for slot in free:
            slot.drop()

    def counts(self) -> tuple[int, int]:
        """Returns how many workers live, and how many slots are taken."""
        with self._lock:
            alive = sum(slot.link is not None for slot in self._slots)
            return alive, len(self._slots) - len(self._free)

    def abandon(self) -> None:
        """Frees what a forked child has inherited."""
        for slot in self._slots:
            if slot.link is not None:
                slot.link.abandon()
        if self._server is not None:
            self._server.abandon()


def _forget_in_child() -> None:
    for crew in list(_crews):
        if crew.pid != os.getpid():
            crew.abandon()
            _crews.discard(crew)


os.register_at_fork(after_in_child=_forget_in_child)
