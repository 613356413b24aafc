"""The pool's ends: a handle on the fork server, and one on each worker."""

import contextlib
import json
import math
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import time

from rewardkit.errors import ConfigError
from rewardkit.runtime._forkserver import EXIT_STATUS
from rewardkit.runtime._frames import HEADER, Frame, Kind, encode
from rewardkit.runtime._settings import PoolSettings

__all__ = ["ForkServer", "WorkerDied", "WorkerLink", "import_path"]

# The path comes first, so that the same rewardkit is imported here and there. `__main__` is this
# line: the caller's script is never run again, with or without a guard.
_BOOTSTRAP = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from rewardkit.runtime._forkserver import main; main(int(sys.argv[2]))"
)
_STOP_S = 5.0
_SIGNALS_POLL_MS = 500
_NO_SIGPIPE = getattr(socket, "MSG_NOSIGNAL", 0)


def import_path() -> list[str]:
    """Returns `sys.path` with the empty entry spelled out, as another process must see it."""
    return [os.fspath(entry) or os.getcwd() for entry in sys.path]


class WorkerDied(Exception):
    """The worker ended before it answered; the message says how."""


class ForkServer:
    """The running fork server of one pool."""

    def __init__(self, settings: PoolSettings) -> None:
        if not sys.executable:
            raise ConfigError("sys.executable is empty, so no worker can be started: set it")
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOTSTRAP, json.dumps(import_path()), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._used = False
        self._control.settimeout(_STOP_S)
        self._poller = select.poll()
        self._poller.register(self._control, select.POLLIN)
        with contextlib.suppress(OSError):  # a server that is dead already shows at the first fork
            self._control.sendall(encode(Kind.LOAD, pickle.dumps(settings)))

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        # It never writes, so any event is its end, which shows before a killed process can be
        # waited for.
        return not self._poller.poll(0) and self._process.poll() is None

    def fork(self) -> "WorkerLink":
        """Returns the link to a new worker, which says READY or REFUSED when it is up.

        Raises:
            WorkerDied: the server is gone.
        """
        self._used = True
        data, their_data = socket.socketpair()
        status, their_status = socket.socketpair()
        with their_data, their_status:
            try:
                socket.send_fds(
                    self._control, [b"w"], [their_data.fileno(), their_status.fileno()], _NO_SIGPIPE
                )
            except OSError as error:
                data.close()
                status.close()
                raise WorkerDied(f"the fork server is gone: {error}") from error
        return WorkerLink(data, status)

    def stop(self) -> None:
        """Ends the server, and so every worker."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        if not self._used:  # It may still import what it preloads, and there is no worker to end.
            self._process.kill()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def abandon(self) -> None:
        """Forgets the server in a forked child, whose server it is not."""
        self._control.close()
        self._process.returncode = 0


class WorkerLink:
    """The channels to one worker: `data` for frames, `status` for how it ended.

    Death is told by the fork server on `status`, so it is seen at once even if a child of the task
    still holds `data` open. Hanging up on `status` is what kills the worker.
    """

    def __init__(self, data: socket.socket, status: socket.socket) -> None:
        data.setblocking(False)
        status.setblocking(False)
        self._data = data
        self._status = status
        self._buffer = bytearray()
        self._ending: str | None = None
        self._hung_up = False
        self._poller = select.poll()
        self._poller.register(data, select.POLLIN)
        self._poller.register(status, select.POLLIN)
        self.loaded: set[bytes] = set()
        self.tasks = 0

    @property
    def alive(self) -> bool:
        """True if the worker has not ended, as far as is known now."""
        if self._ending is None and self._poller.poll(0):
            self._fill()
        return self._ending is None and not self._hung_up and not self._buffer

    @property
    def pending(self) -> bool:
        """True if some of the next frame has been read already."""
        return bool(self._buffer)

    def send(self, kind: Kind, payload: bytes, deadline: float) -> None:
        """Sends one frame.

        Raises:
            WorkerDied: it is gone, or does not read until `deadline`.
        """
        view = memoryview(encode(kind, payload))
        writable = select.poll()
        writable.register(self._data, select.POLLOUT)
        while view:
            try:
                view = view[self._data.send(view, _NO_SIGPIPE) :]
            except BlockingIOError:
                if not writable.poll(_milliseconds(deadline)):
                    raise WorkerDied("it does not read its task") from None
            except OSError:
                # It is dying: the receive that follows says of what.
                return

    def receive(self, deadline: float, max_bytes: int) -> Frame | None:
        """Returns the next frame, or None if `deadline` (monotonic seconds) passes first.

        Raises:
            WorkerDied: the worker ended before the frame was complete, or the frame is over
                `max_bytes`.
        """
        while True:
            frame = self._take(max_bytes)
            if frame is not None:
                return frame
            if self._ending is not None:
                raise WorkerDied(self._ending)
            wait = _milliseconds(deadline)
            # A signal that comes between the interpreter's look at its flags and the system call
            # does not interrupt the call, so no call is as long as a deadline may be.
            if not self._poller.poll(min(wait, _SIGNALS_POLL_MS)) and wait == 0:
                return None
            self._fill()

    def _take(self, max_bytes: int) -> Frame | None:
        if len(self._buffer) < HEADER.size:
            return None
        kind, seconds, length = HEADER.unpack_from(self._buffer)
        if length > max_bytes:
            raise WorkerDied(f"its answer of {length:,} bytes is over the limit of {max_bytes:,}")
        end = HEADER.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(memoryview(self._buffer)[HEADER.size : end])
        del self._buffer[:end]
        return Frame(Kind(kind), seconds, payload)

    def _fill(self) -> None:
        ending = _read(self._status)
        # The data that was sent before the end is read after the end was seen, so that none is
        # lost.
        while chunk := _read(self._data):
            self._buffer += chunk
            if ending is None and len(chunk) < _READ_BYTES:
                break
        if chunk == b"" and not self._hung_up:
            self._hung_up = True
            self._poller.unregister(self._data)
        if ending is not None:
            self._ending = _explain(ending)

    def hang_up(self) -> None:
        """Has the worker and its descendants killed. May be called from any thread."""
        for channel in (self._status, self._data):
            with contextlib.suppress(OSError):
                channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Has the worker killed and frees the channels."""
        self.hang_up()
        self.abandon()

    def abandon(self) -> None:
        """Frees the channels without a word to the worker: for a forked child."""
        self._data.close()
        self._status.close()


_READ_BYTES = 1 << 18


def _read(channel: socket.socket) -> bytes | None:
    """Returns what is there to read: no bytes at the channel's end, None if nothing came yet."""
    try:
        return channel.recv(_READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _milliseconds(deadline: float) -> int:
    return max(0, math.ceil((deadline - time.monotonic()) * 1000))


def _explain(ending: bytes) -> str:
    if len(ending) < EXIT_STATUS.size:
        return "the worker was ended together with its fork server"
    (code,) = EXIT_STATUS.unpack_from(ending)
    if code >= 0:
        return f"the worker exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the worker was killed by {name}"
