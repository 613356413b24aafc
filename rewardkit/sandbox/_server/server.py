"""The fork server's loop: single-threaded; hands each job to a sandbox made ahead of it."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any

from rewardkit.sandbox._server import messages
from rewardkit.sandbox._server.delay import delay_s
from rewardkit.sandbox._server.stage import Shape, Staged, read_report, stage

__all__ = ["Server"]

_PATIENCE_MS = 4
_MAX_STRETCH = 4
_LEAST_DELAY_S = 0.05


@dataclass(slots=True)
class Running:
    """A sandbox that has its job."""

    staged: Staged
    host: socket.socket
    """The job's own channel: the result goes out, a word to kill comes in, its end means kill."""
    deadline: float
    wall_s: float
    killed: str = ""
    given_s: float = 0.0
    """Seconds by which the deadline was moved, because no processor was free."""
    report: dict[str, Any] | None = None
    """What the init said before it was killed, until it is gone."""


class Server:
    """Keeps sandboxes staged, gives them jobs, ends them, and reports."""

    def __init__(self, control: socket.socket, config: dict[str, Any], shape: Shape) -> None:
        self.control = control
        self.shape = shape
        self.spare = int(config["spare"])
        self.pid_namespace = (
            os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
            if shape.tier == "namespaces"
            else -1
        )
        self.ready: list[Staged] = []
        self.running: dict[int, Running] = {}
        self.leaving: dict[int, int] = {}
        self.poller = select.poll()
        self.poller.register(control, select.POLLIN)

    def check(self) -> None:
        """Makes the first sandbox; raises OSError with the step that failed."""
        staged = stage(self.shape, self.pid_namespace)
        if staged.channel.recv(64) != b"ready":
            report = read_report(staged) or {}
            raise OSError(report.get("error", "the first sandbox died before it was ready"))
        self.ready.append(staged)

    def run(self) -> None:
        """Serves until the control channel's last holder is gone."""
        while True:
            events = self.poller.poll(self._timeout_ms())
            if not events and len(self.ready) < self.spare:
                self.ready.append(stage(self.shape, self.pid_namespace))
            for descriptor, _event in events:
                if descriptor == self.control.fileno():
                    if not self._accept():
                        return
                else:
                    self._attend(descriptor)
            self._end_late()

    def end(self) -> None:
        """Ends what still runs or waits, where no namespace does that with this process's death."""
        if self.shape.tier == "namespaces":
            return
        alive = [*self.ready, *{id(run): run.staged for run in self.running.values()}.values()]
        for staged in alive:
            staged.channel.close()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(staged.pidfd, signal.SIGTERM)
            os.waitpid(staged.pid, 0)
            shutil.rmtree(staged.work, ignore_errors=True)

    def _timeout_ms(self) -> int | None:
        if len(self.ready) < self.spare:
            # A run in progress wants the processor more than one that may come.
            return _PATIENCE_MS if self.running and self.ready else 0
        if not self.running:
            return None
        first = min(run.deadline for run in self.running.values())
        return max(0, int((first - time.monotonic()) * 1000) + 1)

    def _accept(self) -> bool:
        packet = messages.receive(self.control)
        if packet is None:
            return False
        job, descriptors = packet
        host = socket.socket(fileno=descriptors[0])
        staged = self.ready.pop(0) if self.ready else stage(self.shape, self.pid_namespace)
        wall_s = float(job["limits"]["wall_s"])
        run = Running(staged, host, time.monotonic() + wall_s, wall_s)
        try:
            messages.send(staged.channel, job, descriptors)
        except OSError:
            # The sandbox died before its job: its pidfd says so, and the report says why.
            run.killed = "stillborn"
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        for descriptor in (staged.report, host.fileno()):
            self.running[descriptor] = run
            self.poller.register(descriptor, select.POLLIN)
        return True

    def _attend(self, descriptor: int) -> None:
        if descriptor in self.leaving:
            self.poller.unregister(descriptor)
            os.close(descriptor)
            os.waitpid(self.leaving.pop(descriptor), 0)
            return
        run = self.running.get(descriptor)
        if run is None:
            return
        if descriptor == run.staged.report:
            self._read_report(run)
            return
        if descriptor == run.staged.pidfd:
            self._finish_killed(run)
            return
        try:
            word = run.host.recv(64)
        except ConnectionResetError:
            word = b""
        if word == b"delay?":
            answer = json.dumps({"delay_s": delay_s(run.staged.pid)}).encode()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                run.host.send(answer)
            return
        self._kill(run, word.decode() or "abandoned")
        if not word:
            self._forget(descriptor)

    def _end_late(self) -> None:
        now = time.monotonic()
        for run in {id(run): run for run in self.running.values()}.values():
            if now >= run.deadline:
                # Time spent waiting for a processor is not the program's; up to a bound it is given
                # back, and the limit on processor time ends what is merely slow.
                delay = min(delay_s(run.staged.pid), _MAX_STRETCH * run.wall_s)
                if delay - run.given_s > _LEAST_DELAY_S:
                    run.deadline += delay - run.given_s
                    run.given_s = delay
                    continue
                run.deadline = now + 3600
                self._kill(run, "wall")

    def _kill(self, run: Running, reason: str) -> None:
        run.killed = run.killed or reason
        # Killing the init of a pid namespace kills all of it; any other init must do it itself.
        number = signal.SIGKILL if self.shape.tier == "namespaces" else signal.SIGTERM
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(run.staged.pidfd, number)

    def _read_report(self, run: Running) -> None:
        # The report comes when every process of the run is gone but its init, which has then told
        # the host. The pipe's end without a report comes when the init was killed: then the host is
        # told from here, once the last process is gone, which nobody else has to wait for.
        staged = run.staged
        report = read_report(staged) or {}
        if "status" in report:
            self.leaving[staged.pidfd] = staged.pid
            self.poller.register(staged.pidfd, select.POLLIN)
            self._finish(run, b"confirmed")
            return
        run.report = report
        self._forget(staged.report)
        self.running[staged.pidfd] = run
        self.poller.register(staged.pidfd, select.POLLIN)

    def _finish_killed(self, run: Running) -> None:
        staged, report = run.staged, run.report or {}
        _pid, _status, usage = os.wait4(staged.pid, 0)
        report["cpu_s"] = usage.ru_utime + usage.ru_stime
        report["killed"] = run.killed
        self._forget(staged.pidfd)
        os.close(staged.pidfd)
        self._finish(run, json.dumps(report).encode())

    def _finish(self, run: Running, message: bytes) -> None:
        staged = run.staged
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            run.host.send(message)
        for descriptor in (staged.report, run.host.fileno()):
            self._forget(descriptor)
        staged.channel.close()
        os.close(staged.report)
        if staged.work:
            shutil.rmtree(staged.work, ignore_errors=True)
        run.host.close()

    def _forget(self, descriptor: int) -> None:
        if self.running.pop(descriptor, None) is not None:
            self.poller.unregister(descriptor)
