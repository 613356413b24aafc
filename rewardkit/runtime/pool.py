"""A pool of killable workers: any function, a deadline that holds, an outcome that never raises."""

import asyncio
import math
import os
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from rewardkit.errors import ConfigError
from rewardkit.runtime._crew import Crew, InUse
from rewardkit.runtime._exchange import Task, run_items
from rewardkit.runtime._map import Map
from rewardkit.runtime._settings import PoolSettings, PoolState
from rewardkit.runtime._tasks import pack
from rewardkit.runtime.outcome import Outcome, OutcomeStatus

__all__ = ["WorkerPool"]

T = TypeVar("T")
Item = TypeVar("Item")


class WorkerPool:
    """Runs functions in worker processes that can be killed at any moment.

    The workers are forked from a small process of their own, which is started at the first task
    with a fresh interpreter: the caller's script is never imported again, so no main guard is
    needed, and nothing of its threads, signal handlers or devices is in the workers. Each task has
    a deadline, at which the worker and every process that the task started are killed. A task that
    raises, exits, crashes, eats its memory or hangs inside a C function is an `Outcome` like any
    other.

    One pool may be used from many threads, from asyncio, and in forked children (each makes its own
    workers). Pickling it keeps the settings. It is not a sandbox: it runs the caller's own code.

    Args:
        workers: most processes at a time, at least 1; None for one per core that this process may
            use. They are started as they are needed.
        memory_mb: private memory of one worker, in MiB, at least 64; None for no limit.
        max_tasks: tasks after which a worker is replaced by a fresh one, at least 1.
        preload: modules that are imported once, before any worker is forked. Their import time then
            counts for no task and their memory is shared. They must not start threads on import.
        initializer: called in each new worker; must be importable.
        initargs: its arguments.
        max_result_bytes: the largest pickled result that a task may return.
        start_timeout_s: seconds that a worker may take to start, or to import a function. This is
            not part of any task's deadline.

    Raises:
        ConfigError: a value is outside its range, or the initializer cannot be sent to a worker.

    >>> with WorkerPool(workers=1) as pool:
    ...     pool.call(divmod, 7, 2, timeout_s=5.0).value
    (3, 1)
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        memory_mb: int | None = 1024,
        max_tasks: int = 1000,
        preload: Sequence[str] = (),
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        max_result_bytes: int = 64 * 2**20,
        start_timeout_s: float = 60.0,
    ) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"workers is at least 1, or None for one per core, not {workers!r}")
        if memory_mb is not None and memory_mb < 64:
            raise ConfigError(f"memory_mb is at least 64, or None for no limit, not {memory_mb!r}")
        for name, value in (("max_tasks", max_tasks), ("max_result_bytes", max_result_bytes)):
            if value < 1:
                raise ConfigError(f"{name} is at least 1, not {value!r}")
        _check_seconds("start_timeout_s", start_timeout_s)
        if os.name != "posix":
            raise ConfigError("a WorkerPool needs fork(): Linux, macOS, or WSL on Windows")
        self._workers = workers
        self._settings = PoolSettings(
            preload=tuple(preload),
            memory_mb=memory_mb,
            max_tasks=max_tasks,
            start_timeout_s=start_timeout_s,
            max_result_bytes=max_result_bytes,
            initializer=pack((initializer, tuple(initargs)), what="the initializer"),
        )
        self._reset()

    def _reset(self) -> None:
        self._crews: dict[int, Crew] = {}
        self._executors: dict[int, ThreadPoolExecutor] = {}
        self._finalizer = weakref.finalize(self, _close, self._crews, self._executors)

    @property
    def workers(self) -> int:
        """Most processes at a time."""
        return self._workers or _usable_cores()

    def call(self, function: Callable[..., T], /, *args: Any, timeout_s: float) -> Outcome[T]:
        """Returns the outcome of `function(*args)`, run in a worker.

        Args:
            function: importable by name. It is unpickled once per worker and kept, so a bound
                method brings its object along once, not at every call.
            args: anything that pickles.
            timeout_s: seconds from the moment when the task starts; waiting for a worker, starting
                one and importing the function do not count.

        Raises:
            ConfigError: the function or its arguments cannot be sent to a worker.
        """
        _check_seconds("timeout_s", timeout_s)
        item = pack(args, what="the arguments")
        return self._run(Task(function), [item], timeout_s)[0]

    async def acall(
        self, function: Callable[..., T], /, *args: Any, timeout_s: float
    ) -> Outcome[T]:
        """Returns what `call` returns, without blocking the event loop."""
        executor = self._executors.get(os.getpid())
        if executor is None:
            # More threads than workers would only wait for one.
            executor = self._executors.setdefault(
                os.getpid(), ThreadPoolExecutor(self.workers, "rewardkit-pool")
            )
        return await asyncio.get_running_loop().run_in_executor(
            executor, lambda: self.call(function, *args, timeout_s=timeout_s)
        )

    def map(
        self,
        function: Callable[[Item], T],
        items: Iterable[Item],
        /,
        *,
        timeout_s: float,
        chunk_size: int | None = None,
        until: float = math.inf,
    ) -> list[Outcome[T]]:
        """Returns one outcome per item, in the order of the items.

        Items travel in chunks, and each still has its own deadline and its own fate: when one kills
        its worker, the rest of its chunk is run elsewhere.

        Args:
            function: as in `call`, of one argument.
            items: anything that pickles.
            timeout_s: seconds for one item, from the moment when that item starts.
            chunk_size: items sent to a worker at a time, at least 1; None to follow the measured
                cost.
            until: when all of it ends, on the clock of `time.monotonic`: what then runs is killed,
                and what has not begun is a timeout too.

        Raises:
            ConfigError: the function or an item cannot be sent to a worker.
        """
        _check_seconds("timeout_s", timeout_s)
        if chunk_size is not None and chunk_size < 1:
            raise ConfigError(f"chunk_size is at least 1, or None, not {chunk_size!r}")
        return Map(
            self._run,
            Task(function),
            [pack((item,), what=f"item {i}") for i, item in enumerate(items)],
            workers=self.workers,
            timeout_s=timeout_s,
            chunk_size=chunk_size,
            until=until,
        ).outcomes()

    def warm(self) -> None:
        """Has the preloaded modules imported in the background, so that the first task is not late.

        Returns at once, in a few milliseconds if nothing was started before. No worker is started.
        """
        self._crew().warm()

    def state(self) -> PoolState:
        """Returns how many workers there are now, in this process."""
        crew = self._crews.get(os.getpid())
        alive, busy = crew.counts() if crew is not None else (0, 0)
        return PoolState(alive=alive, busy=busy, most=self.workers)

    def close(self) -> None:
        """Ends every process of the pool. The pool may be used again, and starts new ones then."""
        self._finalizer()
        self._reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"_workers": self._workers, "_settings": self._settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def _crew(self) -> Crew:
        pid = os.getpid()
        crew = self._crews.get(pid)
        if crew is None:
            # setdefault is atomic, and takes no lock that a fork could leave held in the child.
            crew = self._crews.setdefault(pid, Crew(self.workers, self._settings))
        return crew

    def _run(
        self,
        task: Task,
        items: Sequence[bytes],
        timeout_s: float,
        until: float = math.inf,
        in_use: InUse | None = None,
    ) -> list[Outcome[Any]]:
        crew = self._crew()
        slot = crew.take(until)
        if slot is None or time.monotonic() >= until:
            if slot is not None:
                crew.give(slot)
            return [Outcome(OutcomeStatus.TIMEOUT, detail="not begun in time") for _ in items]
        if in_use is not None:
            in_use.add(slot)
        try:
            return run_items(crew, slot, task, items, timeout_s, until, in_use)
        except BaseException:  # interrupted in the middle: what its worker does now is of no use
            slot.drop()
            raise
        finally:
            if in_use is not None:
                in_use.discard(slot)
            crew.give(slot)


def _close(crews: dict[int, Crew], executors: dict[int, ThreadPoolExecutor]) -> None:
    pid = os.getpid()
    if pid in crews:
        crews.pop(pid).close()
    if pid in executors:
        executors.pop(pid).shutdown(wait=False, cancel_futures=True)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_seconds(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise ConfigError(f"{name} is a positive number of seconds, not {value!r}")
