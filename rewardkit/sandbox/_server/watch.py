"""The init: reaps, refuses system calls, keeps the tree under its memory limit."""

import errno
import json
import os
import resource
import select
import signal
import socket
from typing import Any

from rewardkit.sandbox._server import linux

__all__ = ["watch"]

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
    over = False
    while True:
        for descriptor, event in poller.poll(_LOOK_MS if memory_bytes else None):
            if descriptor == children:
                os.read(children, 4096)
            elif descriptor == listener and event & select.POLLIN:
                _refuse(listener, denied)
            elif descriptor == orders.fileno():
                memory_bytes, host = _take_orders(orders)
                poller.unregister(descriptor)
            else:
                poller.unregister(descriptor)
        status, usage = _reap(main)
        if status is not None:
            _end_all()
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


def _kill_all() -> None:
    # From the init of a pid namespace, -1 is everything in it but the init itself, at one instant.
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return


def _end_all() -> None:
    _kill_all()
    while True:
        try:
            os.wait4(-1, 0)
        except ChildProcessError:
            return


def _tree_memory(limit: int) -> int:
    # Resident sizes count shared pages once a process, so they only say when a closer look is due.
    pids = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
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
