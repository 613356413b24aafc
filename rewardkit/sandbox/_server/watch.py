"""The init: reaps, refuses system calls, keeps the tree under its memory limit."""

import contextlib
import errno
import json
import os
import resource
import select
import signal
import socket
import struct
import time
from typing import Any

from rewardkit.sandbox._server import linux

__all__ = ["end_all", "watch"]

_LOOK_MS = 40
_MAX_DENIED = 16
_PAGE = os.sysconf("SC_PAGE_SIZE")


def watch(main: int, children: int, listener: int | None, orders: socket.socket) -> dict[str, Any]:
    """Returns how the program ended, once its main process has.

    Args:
        main: pid of the program's main process.
        children: a signalfd for SIGCHLD, which is blocked.
        listener: the filter's listener, or None.
        orders: carries one packet when the job starts: the memory limit, in bytes and decimal, and
            beside it the socket of the host, which gets the answer straight from here.
    """
    denied: set[int] = set()
    poller = select.poll()
    for descriptor in (children, orders.fileno(), *([] if listener is None else [listener])):
        poller.register(descriptor, select.POLLIN)
    memory_bytes = 0
    host: socket.socket | None = None
    over = stopped = False
    while True:
        for descriptor, event in poller.poll(_LOOK_MS if memory_bytes else None):
            if descriptor == children:
                stopped = _is_stop(os.read(children, 128)) or stopped
            elif listener is not None and descriptor == listener and event & select.POLLIN:
                _refuse(listener, denied)
            elif descriptor == orders.fileno():
                memory_bytes, host = _take_orders(orders)
                poller.unregister(descriptor)
            else:
                poller.unregister(descriptor)
        status, usage = _reap(main)
        if stopped:
            end_all()
            return {"stopped": True}
        if status is not None:
            end_all()
            total = resource.getrusage(resource.RUSAGE_CHILDREN)
            ending = {
                "status": status,
                "denied": sorted(denied)[:_MAX_DENIED],
                "memory": over,
                "max_rss": usage,
                "cpu_s": total.ru_utime + total.ru_stime,
            }
            if host is not None:
                _answer(host, ending)
            return ending
        if memory_bytes and not over and _tree_memory(memory_bytes) > memory_bytes:
            over = True
            _kill_all()


def _take_orders(orders: socket.socket) -> tuple[int, socket.socket | None]:
    data, descriptors, _flags, _address = socket.recv_fds(orders, 32, 1)
    if not data:
        return 0, None
    return int(data), socket.socket(fileno=descriptors[0])


def _answer(host: socket.socket, ending: dict[str, Any]) -> None:
    try:
        host.send(json.dumps(ending).encode())
    except (BrokenPipeError, ConnectionResetError):
        return


def _refuse(listener: int, denied: set[int]) -> None:
    waiting = linux.receive_notification(listener)
    if waiting is not None:
        identifier, number = waiting
        denied.add(number)
        linux.refuse_notification(listener, identifier, errno.EPERM)


def _reap(main: int) -> tuple[int | None, int]:
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return None, 0
        if pid == 0:
            return None, 0
        if pid == main:
            return status, usage.ru_maxrss * 1024


def _is_stop(information: bytes) -> bool:
    # struct signalfd_siginfo: the signal's number comes first, its sender's pid fourth. In a pid
    # namespace the server has no pid that could be seen (it kills); a program's own is never it.
    number, _errno, _code, sender = struct.unpack_from("=IiiI", information)
    server = os.getppid()
    return bool(number == signal.SIGTERM and server and sender == server)


def _kill_all() -> None:
    if os.getpid() == 1:
        # From the init of a pid namespace, -1 is everything in it but the init, at one instant.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    # Without a namespace the tree is what hangs below this process, which inherits its orphans.
    for pid in _descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(top: int) -> list[int]:
    found: list[int] = []
    waiting = [top]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    children = [int(child) for child in file.read().split()]
                found += children
                waiting += children
    return found


def end_all() -> None:
    """Kills and reaps every process of the run but this one."""
    while True:
        _kill_all()
        try:
            while os.wait4(-1, 0 if os.getpid() == 1 else os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        time.sleep(0.001)


def _tree_memory(limit: int) -> int:
    # Resident sizes count shared pages once a process, so they only say when a closer look is due.
    if os.getpid() == 1:
        pids = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    else:
        pids = [str(pid) for pid in _descendants(os.getpid())]
    rough = sum(_resident(pid) for pid in pids)
    return rough if rough <= limit else sum(_proportional(pid) for pid in pids)


def _resident(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def _proportional(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return _resident(pid)
    return 0
