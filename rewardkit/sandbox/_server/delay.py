"""How long a run waited for a processor that others had."""

import os

from rewardkit.sandbox._server.memory import descendants

__all__ = ["delay_s"]

_TICKS = os.sysconf("SC_CLK_TCK")
_USER_TIME, _LAST_TIME = 11, 15
"""Places in /proc/PID/stat after the name: own and reaped children's, user and system."""


def delay_s(init: int) -> float:
    """Returns how long a run's main thread waited for a processor; 0 if that is unknown.

    What the run's other threads and processes computed meanwhile is taken off: a program that keeps
    the processors from itself gets no time for it.
    """
    try:
        proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return _delay_s(proc, init)
        finally:
            os.close(proc)
    except (OSError, IndexError, ValueError):
        return 0.0


def _delay_s(proc: int, init: int) -> float:
    family = descendants(proc, init)
    main = family[0]
    with open(f"/proc/{main}/schedstat", "rb") as file:
        own, waited = (int(field) / 1e9 for field in file.read().split()[:2])
    spent = _ticks(init, own=False) + sum(_ticks(pid) for pid in family)
    return max(0.0, waited - max(0.0, spent / _TICKS - own))


def _ticks(pid: int, *, own: bool = True) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    first = _USER_TIME if own else _USER_TIME + 2
    return sum(int(field) for field in fields[first:_LAST_TIME])
