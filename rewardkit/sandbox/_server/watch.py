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
from dataclasses import dataclass, field
from typing import Any

from rewardkit.sandbox._server import filters, linux, memory
from rewardkit.sandbox._server.syscalls import Architecture, current_architecture

__all__ = ["end_all", "watch"]

_LOOK_MS = 40
_MAX_DENIED = 16


@dataclass(slots=True)
class _Calls:
    """What the filter asked about."""

    architecture: Architecture = field(default_factory=current_architecture)
    denied: set[int] = field(default_factory=set)
    shared_bytes: int = 0


def watch(
    main: int, children: int, listener: int | None, orders: socket.socket, proc: int
) -> dict[str, Any]:
    """Returns how the program ended, once its main process has.

    Args:
        main: pid of the program's main process.
        children: a signalfd for SIGCHLD, which is blocked.
        listener: the filter's listener, or None.
        orders: carries one packet when the job starts: the memory limit, in bytes and decimal, and
            beside it the socket of the host, which gets the answer straight from here.
        proc: a descriptor of a /proc that shows the program's processes.
    """
    calls = _Calls()
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
                _refuse(listener, calls, memory_bytes)
            elif descriptor == orders.fileno():
                memory_bytes, host = _take_orders(orders)
                poller.unregister(descriptor)
            else:
                poller.unregister(descriptor)
        status, usage = _reap(main)
        if stopped:
            end_all(proc)
            return {"stopped": True}
        if status is not None:
            end_all(proc)
            total = resource.getrusage(resource.RUSAGE_CHILDREN)
            ending = {
                "status": status,
                "denied": sorted(calls.denied)[:_MAX_DENIED],
                "memory": over,
                "max_rss": usage,
                "cpu_s": total.ru_utime + total.ru_stime,
            }
            if host is not None:
                _answer(host, ending)
            return ending
        if memory_bytes and not over and memory.tree_memory(proc, memory_bytes) > memory_bytes:
            over = True
            _kill_all(proc)


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


def _refuse(listener: int, calls: _Calls, memory_bytes: int) -> None:
    waiting = linux.receive_notification(listener)
    if waiting is None:
        return
    error = errno.EPERM
    if filters.is_shared_mapping(calls.architecture, waiting.number):
        # Such memory may be held and yet be no process's resident page, so all that was ever
        # granted counts.
        size = waiting.arguments[1]
        granted = calls.shared_bytes + size <= memory_bytes
        calls.shared_bytes += size if granted else 0
        error = 0 if granted else errno.ENOMEM
    else:
        calls.denied.add(waiting.number)
    linux.answer_notification(listener, waiting.identifier, error)


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


def _kill_all(proc: int) -> None:
    if os.getpid() == 1:
        # From the init of a pid namespace, -1 is everything in it but the init, at one instant.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    # Without a namespace the tree is what hangs below this process, which inherits its orphans.
    for pid in memory.descendants(proc):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_all(proc: int) -> None:
    """Kills and reaps every process of the run but this one, which `proc` shows."""
    while True:
        _kill_all(proc)
        try:
            while os.wait4(-1, 0 if os.getpid() == 1 else os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        time.sleep(0.001)
