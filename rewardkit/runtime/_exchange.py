"""One exchange with a worker: items go in, an outcome each comes back, until one ends it."""

import hashlib
import math
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

from rewardkit.runtime._crew import Crew, InUse, Slot
from rewardkit.runtime._frames import Frame, Kind
from rewardkit.runtime._link import WorkerDied, WorkerLink, import_path
from rewardkit.runtime._tasks import CannotTravelError, describe, pack
from rewardkit.runtime.outcome import Outcome, OutcomeStatus

__all__ = ["Task", "run_items"]

_MAX_FUNCTIONS = 16
_LONGEST_PAUSE_S = 0.002


class Task:
    """A function, packed once for all the items it will see."""

    __slots__ = ("function", "key", "name")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = getattr(function, "__qualname__", None) or type(function).__qualname__
        self.function = pack(function, what=f"the function {self.name}")
        self.key = hashlib.blake2b(self.function, digest_size=16).digest()


def run_items(
    crew: Crew,
    slot: Slot,
    task: Task,
    items: Sequence[bytes],
    timeout_s: float,
    until: float = math.inf,
    in_use: InUse | None = None,
) -> list[Outcome[Any]]:
    """Returns the outcomes of the first items: at least one, all unless an item ended the worker.

    Args:
        crew: whose slot it is.
        slot: held by the caller. Its worker is started, replaced or dropped as needed.
        task: what to run.
        items: pickled argument tuples, at least one.
        timeout_s: seconds for each item.
        until: when the last must be done, on the monotonic clock.
        in_use: the work that this belongs to, which may have ended.

    Raises:
        ConfigError: the pool cannot start, or the function cannot be imported in a worker.
    """
    outcomes: list[Outcome[Any]] = []
    settings = crew.settings
    started = time.monotonic()
    try:
        link = crew.worker(slot)
        if in_use is not None and in_use.ended:
            raise WorkerDied("its work was ended")
        _load(link, task, settings.start_timeout_s)
        request = pickle.dumps((task.key, items), pickle.HIGHEST_PROTOCOL)
        link.send(Kind.RUN, request, time.monotonic() + settings.start_timeout_s)
        for left in range(len(items), 0, -1):
            started = time.monotonic()
            frame = link.receive(min(started + timeout_s, until), settings.max_result_bytes)
            if frame is None:
                raise TimeoutError
            link.tasks += 1
            outcomes.append(_outcome(frame, settings.memory_mb))
            if frame.kind is Kind.MEMORY:  # what is left of its heap is of no use
                slot.drop()
                break
            if not link.pending:
                _pause(frame.seconds * (left - 1))
        else:
            # A worker keeps every function it has loaded, so it is also replaced after too many.
            if link.tasks >= settings.max_tasks or len(link.loaded) > _MAX_FUNCTIONS:
                slot.drop()
    except TimeoutError:
        slot.drop()
        seconds = time.monotonic() - started
        detail = f"not done after {round(min(timeout_s, seconds), 3):g} s"
        outcomes.append(Outcome(OutcomeStatus.TIMEOUT, detail=detail, seconds=seconds))
    except WorkerDied as death:
        slot.drop()
        seconds = time.monotonic() - started
        outcomes.append(Outcome(OutcomeStatus.CRASH, detail=str(death), seconds=seconds))
    return outcomes


def _pause(expected_s: float) -> None:
    # Being woken for every answer costs more than reading it. While many quick items are still to
    # come, a short sleep lets several answers gather; their deadlines are late by no more than it.
    pause = min(_LONGEST_PAUSE_S, expected_s / 2)
    if pause > _LONGEST_PAUSE_S / 4:
        time.sleep(pause)


def _load(link: WorkerLink, task: Task, start_timeout_s: float) -> None:
    if task.key in link.loaded:
        return
    deadline = time.monotonic() + start_timeout_s
    link.send(Kind.LOAD, pickle.dumps((task.key, import_path(), task.function)), deadline)
    frame = link.receive(deadline, 2**16)
    if frame is None:
        raise WorkerDied(f"{task.name} was not imported after {start_timeout_s:g} s")
    if frame.kind is Kind.REFUSED:
        reason = frame.payload.decode(errors="replace")
        raise CannotTravelError(
            f"{task.name} cannot be imported in a worker: {reason}. Workers import it by name, so "
            "it must be at the top level of a module on sys.path"
        )
    link.loaded.add(task.key)


def _outcome(frame: Frame, memory_mb: int | None) -> Outcome[Any]:
    if frame.kind is Kind.VALUE:
        try:
            value = pickle.loads(frame.payload)
        except Exception as error:
            # A result that pickles and does not unpickle is the task's doing.
            detail = f"the result cannot be read back: {describe(error)}"
            return Outcome(OutcomeStatus.ERROR, detail=detail, seconds=frame.seconds)
        return Outcome(OutcomeStatus.OK, value, seconds=frame.seconds)
    if frame.kind is Kind.MEMORY:
        detail = f"over {memory_mb} MiB" if memory_mb else "no memory left"
        return Outcome(OutcomeStatus.MEMORY, detail=detail, seconds=frame.seconds)
    detail = frame.payload.decode(errors="replace")
    return Outcome(OutcomeStatus.ERROR, detail=detail, seconds=frame.seconds)
