"""What the pool's tests send to workers: good functions and bad ones."""

import collections
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from rewardkit.runtime import OutcomeStatus, WorkerPool

LIMIT_S = 60.0
"""A deadline that only a broken pool reaches."""

state: list[str] = []


def double(x: int) -> int:
    return 2 * x


def leave(code: int) -> None:
    # Not os._exit itself: measuring coverage puts a function there that cannot be pickled.
    os._exit(code)


def worker_pid(*_: object) -> int:
    return os.getpid()


def hang_in_c(*_: object) -> None:
    """Holds the GIL inside one C call for ever, and looks at no signal."""
    collections.deque(itertools.repeat(0), maxlen=0)


def announce_and_hang(path: str) -> None:
    note_pid(path)
    hang_in_c()


def note_pid(path: str, pid: int | None = None) -> None:
    """Writes a pid in one step, so that a reader sees all of it or nothing."""
    draft = Path(f"{path}.{os.getpid()}")
    draft.write_text(str(pid or os.getpid()))
    draft.rename(path)


def start_child_and_hang(path: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    note_pid(path, child.pid)
    hang_in_c()


def detach_child(path: str) -> None:
    """The child leaves the session and loses its parent, as a daemon does."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note_pid(path)
            time.sleep(1000)
        os._exit(0)
    os.wait()
    wait_for(path)


def detach_child_and_hang(path: str) -> None:
    detach_child(path)
    hang_in_c()


def detach_child_and_wait(path: str, word: str) -> None:
    detach_child(path)
    wait_for(word)


def fork_a_holder_and_die(path: str) -> None:
    """A child keeps every open file of the worker, which then dies."""
    if os.fork() == 0:
        note_pid(path)
        time.sleep(1000)
    wait_for(path)
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.005)
    return Path(path).read_text()


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_fork_server() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    hang_in_c()


def exit_with(code: int) -> None:
    os._exit(code)


def read_null() -> None:
    ctypes.string_at(0)


def recurse(depth: int = 0) -> int:
    return recurse(depth + 1) + 1


def eat_memory() -> int:
    hoard = []
    while True:
        hoard.append(bytearray(2**24))


def use_memory(mebibytes: int) -> int:
    return len(bytearray(mebibytes * 2**20))


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message for you")

    __repr__ = __str__


class VerboseError(Exception):
    def __str__(self) -> str:
        return "a\nb\x00\ud800" * 100_000


def raise_it(error: BaseException) -> None:
    raise error


def raise_hostile() -> None:
    raise HostileError


def raise_verbose() -> None:
    raise VerboseError


def return_lambda() -> Any:
    return lambda: None


class Unreadable:
    """Pickles, and raises when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("not a number",)


def return_unreadable() -> Unreadable:
    return Unreadable()


def return_bytes(count: int) -> bytes:
    return b"x" * count


def close_all_files() -> None:
    os.closerange(3, 1000)
    time.sleep(1000)


def leave_alarm_behind() -> int:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    return os.getpid()


def sleep(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def print_noise() -> int:
    sys.stdout.write("noise\n")
    sys.stdout.flush()
    os.write(1, b"noise\n")
    return 1


def mark(word: str) -> None:
    state.append(word)


def marks() -> list[str]:
    return state


def fail_to_start() -> None:
    raise ValueError("no licence")


def poison(x: int) -> int:
    """Ends its worker in another way for some numbers."""
    if x % 50 == 7:
        os._exit(1)
    if x % 50 == 17:
        raise ValueError(x)
    if x % 50 == 27:
        eat_memory()
    return -x


class Counter:
    """An object whose pickle is counted, to see how often it travels."""

    def __init__(self) -> None:
        self.seen = 0

    def add(self, _: int) -> int:
        self.seen += 1
        return self.seen


def use_a_pool(x: int) -> tuple[int | None, str]:
    """What a process of somebody else's pool does with ours."""
    with WorkerPool(workers=1) as pool:
        value = pool.call(double, x, timeout_s=LIMIT_S).value
        return value, pool.call(hang_in_c, timeout_s=0.2).status.value


def hammer(pool: WorkerPool, stop: threading.Event, wrong: list[object]) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        outcome = pool.call(double, number, timeout_s=LIMIT_S)
        if outcome.status is not OutcomeStatus.OK or outcome.value != 2 * number:
            wrong.append(outcome)


def meet(paths: tuple[str, str]) -> str:
    """Writes the first file and waits for the second."""
    note_pid(paths[0])
    return wait_for(paths[1])
