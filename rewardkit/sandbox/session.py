"""One run in progress: its output is drained, its channel is spoken on, its end is awaited."""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rewardkit.sandbox._server.syscalls import current_architecture
from rewardkit.sandbox.job import Job
from rewardkit.sandbox.result import Result, Status

__all__ = ["Session"]

_CHUNK = 1 << 16
_GRACE_S = 60.0
"""Seconds that a fork server which is alive may take: a machine may be very busy."""
_MAX_STRETCH = 4
_LEAST_DELAY_S = 0.05
_MAX_INCOMING_BYTES = 64 << 20
_F_ADD_SEALS, _ALL_SEALS = 1033, 0b1111
_CONFIRMATION = b"confirmed"
_LOST = {"error": "the fork server died", "lost": True}
_KILLED = {"wall": Status.WALL, "output": Status.OUTPUT, "stop": Status.STOPPED}


def sealed_memory(content: bytes) -> int:
    """Returns a descriptor of an anonymous file that holds `content` and can no longer change."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    descriptor = os.memfd_create("rewardkit", flags)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, _F_ADD_SEALS, _ALL_SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@dataclass(slots=True)
class Streams:
    """The host's ends of a run's pipes."""

    stdout: int
    stderr: int
    to_program: int = -1
    """Writes what the program reads on descriptor 3; -1 without a channel."""
    from_program: int = -1
    """Reads what the program writes on descriptor 4; -1 without a channel."""


@dataclass(slots=True)
class Session:
    """A run in progress. Used by one thread; `wait` or `close` ends it."""

    job: Job
    host: socket.socket
    streams: Streams
    isolation: str
    report_loss: Callable[[], None]
    """Called when the fork server turns out to be dead."""
    started: float = field(default_factory=time.monotonic)
    _poller: select.poll = field(default_factory=select.poll)
    _captured: dict[int, bytearray] = field(default_factory=dict)
    _incoming: bytearray = field(default_factory=bytearray)
    _report: dict[str, Any] | None = None
    _stop_sent: bool = False
    _overflowed: bool = False
    _ended: Result | None = None
    _delay_s: float = 0.0
    _given_s: float = 0.0
    _earlier_s: float = 0.0

    def __post_init__(self) -> None:
        streams = self.streams
        for descriptor in (streams.stdout, streams.stderr):
            self._captured[descriptor] = bytearray()
            self._watch(descriptor)
        if streams.from_program >= 0:
            self._watch(streams.from_program)
            os.set_blocking(streams.to_program, False)
        self._poller.register(self.host, select.POLLIN)

    def exchange(self, request: bytes, *, wall_s: float, max_bytes: int) -> bytes | None:
        """Sends one frame to the program and returns the frame it answers.

        Args:
            request: the frame's content.
            wall_s: seconds that the answer may take; when they pass, the run is ended with status
                WALL.
            max_bytes: size of the largest answer; a larger one ends the run with status OUTPUT,
                and so do more than 64 MiB that wait unread.

        Returns:
            The answer, or None if the run ended instead; `wait` says how.
        """
        self.post(request, wall_s=wall_s)
        return self.answer(wall_s=wall_s, max_bytes=max_bytes)

    def post(self, *requests: bytes, wall_s: float) -> None:
        """Sends frames without waiting for their answers.

        Args:
            requests: each frame's content.
            wall_s: seconds that the program may take to read them.
        """
        deadline = time.monotonic() + wall_s
        frames = (len(request).to_bytes(4, "little") + request for request in requests)
        self._write(b"".join(frames), deadline)

    def answer(self, *, wall_s: float, max_bytes: int, stretch: bool = True) -> bytes | None:
        """Returns the next frame that the program answers; arguments as for `exchange`.

        Args:
            wall_s: seconds that it may take.
            max_bytes: size of the largest answer.
            stretch: give back the time that the program waited for a free processor.
        """
        deadline = time.monotonic() + wall_s
        while not self._stop_sent:
            answer = self._take_frame(max_bytes)
            if answer is not None or self._report is not None:
                return answer
            if not self._step(deadline):
                given = self._ask_for_delay(_MAX_STRETCH * wall_s) if stretch else 0.0
                if given < _LEAST_DELAY_S:
                    self.stop(Status.WALL)
                deadline += given
        return None

    def _ask_for_delay(self, most_s: float) -> float:
        # A busy machine must not turn a right program into a late one: what it waited for a
        # processor since the last answer is given back, up to a bound.
        self._delay_s = -1.0
        with contextlib.suppress(OSError):
            self.host.send(b"delay?")
        patience = time.monotonic() + _GRACE_S
        while self._delay_s < 0 and self._report is None and not self._stop_sent:
            if not self._step(patience):
                break
        total = min(max(0.0, self._delay_s - self._earlier_s), most_s)
        given = total - self._given_s
        self._given_s = max(self._given_s, total)
        return given

    def begin_anew(self) -> None:
        """Forgets what waiting was given back so far: another program speaks on the channel."""
        self._earlier_s = max(self._earlier_s, self._delay_s)
        self._given_s = 0.0

    def stop(self, reason: Status = Status.STOPPED) -> None:
        """Ends the run from outside, with the status given."""
        self._overflowed = self._overflowed or reason is Status.OUTPUT
        if not self._stop_sent:
            self._stop_sent = True
            word = {Status.WALL: "wall", Status.OUTPUT: "output"}.get(reason, "stop")
            try:
                self.host.send(word.encode())
            except OSError:
                return

    def wait(self, *, grace_s: float | None = None) -> Result:
        """Returns how the run ended, after every process of it is gone.

        Args:
            grace_s: seconds that the program gets to end by itself once its channel is closed; None
                for as long as its limits allow.
        """
        if self._ended is not None:
            return self._ended
        self._close_channel()
        if grace_s is not None:
            patience = time.monotonic() + grace_s
            while self._report is None and self._step(patience):
                pass
            if self._report is None:
                self.stop()
        # The server stretches the limit while no processor is free.
        last_call = self.started + (1 + _MAX_STRETCH) * self.job.limits.wall_s + _GRACE_S
        while self._report is None:
            if not self._step(last_call):
                self._report = {"error": "the fork server gave no answer in time"}
        for descriptor in list(self._captured):
            while self._drain(descriptor):
                pass
        self._ended = self._result(self._report)
        self.close()
        return self._ended

    def close(self) -> None:
        """Lets go of the run; one still in progress is killed by the fork server."""
        self._close_channel()
        for descriptor in (self.streams.stdout, self.streams.stderr):
            if descriptor >= 0:
                os.close(descriptor)
        self.streams.stdout = self.streams.stderr = -1
        self.host.close()

    def _watch(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._poller.register(descriptor, select.POLLIN)

    def _close_channel(self) -> None:
        streams = self.streams
        if streams.from_program >= 0:
            with contextlib.suppress(KeyError):
                self._poller.unregister(streams.from_program)
            os.close(streams.from_program)
            os.close(streams.to_program)
        streams.from_program = streams.to_program = -1

    def _take_frame(self, max_bytes: int) -> bytes | None:
        if self._report is not None:
            # The program is gone; what it wrote before may still be in the pipe.
            while self._drain(self.streams.from_program):
                pass
        if len(self._incoming) < 4:
            return None
        size = int.from_bytes(self._incoming[:4], "little")
        if size > max_bytes:
            self.stop(Status.OUTPUT)
            return None
        if len(self._incoming) < 4 + size:
            return None
        frame = bytes(self._incoming[4 : 4 + size])
        del self._incoming[: 4 + size]
        return frame

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view and self._report is None and not self._stop_sent:
            try:
                view = view[os.write(self.streams.to_program, view) :]
            except BlockingIOError:
                self._poller.register(self.streams.to_program, select.POLLOUT)
                if not self._step(deadline):
                    self.stop(Status.WALL)
                self._poller.unregister(self.streams.to_program)
            except BrokenPipeError:
                return

    def _step(self, deadline: float) -> bool:
        """Waits for one event and attends to it; False if the deadline has passed."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        for descriptor, _event in self._poller.poll(int(left * 1000) + 1):
            if descriptor == self.host.fileno():
                self._take_report()
            elif descriptor != self.streams.to_program and not self._drain(descriptor):
                self._poller.unregister(descriptor)
        return True

    def _take_report(self) -> None:
        try:
            data = self.host.recv(_CHUNK)
        except ConnectionResetError:
            data = b""
        # A confirmation alone: the sandbox died before it had its job, and nobody told what of.
        told = data and data != _CONFIRMATION
        report: dict[str, Any] = json.loads(data) if told else dict(_LOST)
        if "delay_s" in report:
            self._delay_s = float(report["delay_s"])
            return
        self._poller.unregister(self.host)
        if report.get("status") == signal.SIGKILL and not self._confirmed():
            report = dict(_LOST)
        self._report = report
        if self.lost:
            self.report_loss()

    def _confirmed(self) -> bool:
        # When the server dies, its sandboxes are killed in any order, and an init may live just
        # long enough to report that its program was. The server confirms what happened while it
        # lived.
        ready, _, _ = select.select([self.host], [], [], _GRACE_S)
        try:
            return bool(ready) and self.host.recv(_CHUNK) == _CONFIRMATION
        except ConnectionResetError:
            return False

    def _drain(self, descriptor: int) -> bool:
        """Reads once; False at the end of the stream, or when there is nothing to read now."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if descriptor == self.streams.from_program:
            # The program may write when nothing was asked. What comes beyond is read and dropped.
            if len(self._incoming) + len(data) > _MAX_INCOMING_BYTES:
                self.stop(Status.OUTPUT)
            else:
                self._incoming += data
            return bool(data)
        used = sum(len(captured) for captured in self._captured.values())
        room = self.job.limits.output_bytes - used
        self._captured[descriptor] += data[:room]
        if len(data) > room:
            self.stop(Status.OUTPUT)
        return bool(data)

    @property
    def ended(self) -> bool:
        """True if the run is over, or was told to end."""
        return self._report is not None or self._stop_sent

    @property
    def lost(self) -> bool:
        """True if the fork server died under the run, which says nothing about the program."""
        return self._report is not None and bool(self._report.get("lost"))

    def _result(self, report: dict[str, Any]) -> Result:
        status, exit_code, number = self._ending(report)
        names = current_architecture().name_of
        return Result(
            status=status,
            exit_code=exit_code,
            signal=number,
            stdout=bytes(self._captured[self.streams.stdout]),
            stderr=bytes(self._captured[self.streams.stderr]),
            cpu_s=float(report.get("cpu_s", 0.0)),
            wall_s=time.monotonic() - self.started,
            max_rss_bytes=int(report.get("max_rss", 0)),
            denied=tuple(names(call) for call in report.get("denied", ())),
            isolation=self.isolation,
            detail=str(report.get("error", "")),
        )

    def _ending(self, report: dict[str, Any]) -> tuple[Status, int | None, int | None]:
        if report.get("memory"):
            return Status.MEMORY, None, None
        if self._overflowed:
            # However it ended: it may have been quicker than the order to kill it.
            return Status.OUTPUT, None, None
        if report.get("killed") in _KILLED:
            return _KILLED[report["killed"]], None, None
        if report.get("broken"):
            return Status.SIGNALED, None, int(signal.SIGKILL)
        if "status" not in report:
            return Status.FAILED, None, None
        raw = int(report["status"])
        if not os.WIFSIGNALED(raw):
            return Status.EXITED, os.WEXITSTATUS(raw), None
        number = os.WTERMSIG(raw)
        spent = float(report.get("cpu_s", 0.0)) >= self.job.limits.cpu_s
        if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
            return Status.CPU, None, None
        return Status.SIGNALED, None, number
