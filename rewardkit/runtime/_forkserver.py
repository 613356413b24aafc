"""The process between a pool and its workers: single-threaded, runs no task, can always kill.

The pool starts it with a fresh interpreter, so nothing of the caller's `__main__`, threads, signals
or devices is in it. It imports what the pool preloads, then forks a worker for each pair of sockets
that the pool sends. It owns the workers: it waits for them, reports how they ended, and kills them
with all their descendants when the pool hangs up. When the pool's process is gone, so is everything
below here.
"""

import contextlib
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import sys
import time
import traceback

from rewardkit.runtime._frames import read_frame
from rewardkit.runtime._settings import PoolSettings
from rewardkit.runtime._tasks import describe
from rewardkit.runtime._tree import adopt_orphans, child_pids, kill_group
from rewardkit.runtime._worker import live

__all__ = ["EXIT_STATUS", "main"]

EXIT_STATUS = struct.Struct("<i")
"""A worker's exit code as `os.waitstatus_to_exitcode` gives it: negative for a signal."""

_IDLE_POLL_MS = 2000
_STRAYS_POLL_MS = 10
_SHUTDOWN_S = 5.0


class _Server:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._parent = os.getppid()
        self._workers: dict[int, socket.socket] = {}
        self._strays = False
        self._poller = select.poll()

    def run(self) -> None:
        frame = read_frame(self._control)
        if frame is None:
            return
        self._settings: PoolSettings = pickle.loads(frame.payload)
        self._failure = _preload(self._settings.preload)
        # What is loaded now is shared with all workers; the collector must not touch (and so copy)
        # it.
        gc.collect()
        gc.freeze()
        wake, self._bell = socket.socketpair()
        wake.setblocking(False)
        self._bell.setblocking(False)
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poller.register(self._control, select.POLLIN)
        self._poller.register(wake, select.POLLIN)
        self._wake = wake
        try:
            while self._turn():
                pass
        finally:
            self._shut_down()

    def _turn(self) -> bool:
        events = self._poller.poll(_STRAYS_POLL_MS if self._strays else _IDLE_POLL_MS)
        if os.getppid() != self._parent:
            return False
        ready = {fd for fd, _ in events}
        if self._wake.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._wake.recv(4096)
        # A pool never writes on a worker's status channel, so any event there is a hang-up: kill.
        for pid, status in list(self._workers.items()):
            if status.fileno() in ready:
                kill_group(pid)
                self._poller.unregister(status)
        self._reap()
        return self._control.fileno() not in ready or self._accept()

    def _accept(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self._control, 1, 2)
        if not message:
            return False
        data, status = (socket.socket(fileno=fd) for fd in fds)
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError:  # no process or no memory left: the pool sees both channels end
            data.close()
            status.close()
            return True
        if pid == 0:
            self._become_worker(data, status, server)
        data.close()
        self._workers[pid] = status
        self._poller.register(status, select.POLLIN)
        return True

    def _become_worker(self, data: socket.socket, status: socket.socket, server: int) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for held in (self._control, self._wake, self._bell, status, *self._workers.values()):
                held.close()
            live(data, self._settings, self._failure, server)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> None:
        died = False
        while True:
            try:
                pid, wait_status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            died = True
            status = self._workers.pop(pid, None)
            if status is not None:
                with contextlib.suppress(KeyError):
                    self._poller.unregister(status)
                with contextlib.suppress(OSError):
                    status.send(EXIT_STATUS.pack(os.waitstatus_to_exitcode(wait_status)))
                status.close()
        if died or self._strays:
            # A living worker keeps its own descendants, so a child that is no worker is what a dead
            # worker left.
            strays = [pid for pid in child_pids() if pid not in self._workers]
            for pid in strays:
                kill_group(pid)
            self._strays = bool(strays)

    def _shut_down(self) -> None:
        give_up = time.monotonic() + _SHUTDOWN_S
        while time.monotonic() < give_up:
            for pid in self._workers:
                kill_group(pid)
            self._strays = True
            self._reap()
            if not self._workers and not self._strays:
                return
            time.sleep(0.002)


def _preload(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:
            return f"its preload of {name} raised {describe(error)}"
    return ""


def main(control_fd: int) -> None:
    """Serves the pool at the other end of `control_fd` until it hangs up, then ends the process."""
    # What a task prints must not mix with what the caller's program writes on its standard output.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    try:
        _Server(socket.socket(fileno=control_fd)).run()
    finally:
        sys.stderr.flush()
        os._exit(0)
