"""Process trees: tying children to their parent's life, and killing what a dead worker leaves."""

import contextlib
import ctypes
import os
import signal
import sys

__all__ = ["adopt_orphans", "child_pids", "die_with_parent", "kill_group"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent dies.

    So a child that detaches itself (double fork, new session) still hangs below its worker, and
    when the worker dies it moves up to the fork server, which kills it. Linux only; elsewhere a
    detached child of a task is out of reach.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Has the kernel kill this process when the thread that forked it ends. Linux only.

    Args:
        parent: the parent's pid before the fork; if it is gone already, this process ends at once.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def kill_group(pid: int) -> None:
    """Kills a process and its process group. A process that is gone already is fine."""
    # Before the worker has made its own group, only the process itself can be named.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def child_pids() -> list[int]:
    """Returns the children of this process, dead ones that nobody has waited for included."""
    me = os.getpid()
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and _parent(name) == me]


def _parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return 0
    # The command name stands in parentheses and may hold anything, so fields count from the last
    # one.
    return int(stat[stat.rindex(b")") + 2 :].split()[1])
