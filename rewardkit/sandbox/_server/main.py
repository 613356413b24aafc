"""The fork server: single-threaded; hands each job to a sandbox made ahead of it."""

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from rewardkit.sandbox._server import filters, landlock, linux, messages, root, syscalls
from rewardkit.sandbox._server.stage import Shape, Staged, read_report, stage

__all__ = ["serve"]

_NOBODY = 65534
_SLACK_TASKS = 32
_PATIENCE_MS = 4
_MAX_STRETCH = 4
_LEAST_DELAY_S = 0.05
_INNER = (
    linux.CLONE_NEWUSER
    | linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWCGROUP
)
_WARM = [
    "abc",
    "ast",
    "bisect",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "json",
    "linecache",
    "math",
    "operator",
    "random",
    "re",
    "string",
    "struct",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "types",
    "typing",
]


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
            self._finish(run)
            return
        try:
            word = run.host.recv(64)
        except ConnectionResetError:
            word = b""
        if word == b"delay?":
            answer = json.dumps({"delay_s": _delay_s(run.staged.pid)}).encode()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                run.host.send(answer)
            return
        self._kill(run, word.decode() or "abandoned")
        if not word:
            self.running.pop(descriptor)
            self.poller.unregister(descriptor)

    def _end_late(self) -> None:
        now = time.monotonic()
        for run in {id(run): run for run in self.running.values()}.values():
            if now >= run.deadline:
                # Time spent waiting for a processor is not the program's; up to a bound it is given
                # back, and the limit on processor time ends what is merely slow.
                delay = min(_delay_s(run.staged.pid), _MAX_STRETCH * run.wall_s)
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

    def _finish(self, run: Running) -> None:
        # The report comes when every process of the run is gone but its init, which has then told
        # the host. The pipe's end without a report comes when the init was killed: then the host is
        # told from here.
        staged = run.staged
        report = read_report(staged) or {}
        if "status" in report:
            self.leaving[staged.pidfd] = staged.pid
            self.poller.register(staged.pidfd, select.POLLIN)
            message = b"confirmed"
        else:
            _pid, _status, usage = os.wait4(staged.pid, 0)
            os.close(staged.pidfd)
            report["cpu_s"] = usage.ru_utime + usage.ru_stime
            report["killed"] = run.killed
            message = json.dumps(report).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            run.host.send(message)
        for descriptor in (staged.report, run.host.fileno()):
            if self.running.pop(descriptor, None) is not None:
                self.poller.unregister(descriptor)
        staged.channel.close()
        os.close(staged.report)
        if staged.work:
            shutil.rmtree(staged.work, ignore_errors=True)
        run.host.close()


def _delay_s(init: int) -> float:
    """Returns how long a run's main process has waited for a processor; 0 if that is unknown."""
    try:
        with open(f"/proc/{init}/task/{init}/children", "rb") as file:
            main = int(file.read().split()[0])
        with open(f"/proc/{main}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def serve(control_descriptor: int) -> None:
    """Runs the server on an inherited SOCK_SEQPACKET socket. Does not return."""
    control = socket.socket(fileno=control_descriptor)
    packet = messages.receive(control)
    if packet is None:
        os._exit(0)
    config = packet[0]
    try:
        _warm(config["warm"])
        if config["isolation"] == "namespaces":
            _enter(config)
        else:
            _enter_plainly(config["isolation"])
        server = _start(control, config)
    except BaseException as error:
        messages.send(control, {"error": f"{type(error).__name__}: {error}"}, [])
        os._exit(1)
    server.run()
    server.end()
    os._exit(0)


def _start(control: socket.socket, config: dict[str, Any]) -> Server:
    linux.set_name("rewardkit-fork")
    tier = config["isolation"]
    contained = tier != "unsafe"
    fresh = tier != "namespaces" or root.mount_fresh_proc()
    shape = Shape(
        tier=tier,
        filter=(
            filters.build_filter(
                syscalls.current_architecture(), notify=True, host_in_view=tier != "namespaces"
            )
            if contained
            else b""
        ),
        notify=contained,
        fresh_proc=fresh,
        disk_bytes=config["disk_bytes"],
        disk_files=config["disk_files"],
        readable=tuple(config["binds"]),
        extra_processes=0 if tier == "namespaces" else _count_tasks(),
    )
    server = Server(control, config, shape)
    server.check()
    gc.collect()
    gc.freeze()
    messages.send(control, {"ready": True, "proc": "fresh" if fresh else "empty"}, [])
    return server


def _enter(config: dict[str, Any]) -> None:
    """Leaves the host behind: own root, no privileges, namespaces, a child inside."""
    user, group = os.geteuid(), os.getegid()
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if user == 0:
        linux.unshare(linux.CLONE_NEWNS)
        root.build_root(config["binds"])
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        user = group = _NOBODY
        linux.set_dumpable(True)
    else:
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
        linux.map_single_user(proc, root.USER, user, group)
        root.build_root(config["binds"])
        user = group = root.USER
    linux.unshare(_INNER)
    linux.map_single_user(proc, root.USER, user, group)
    os.close(proc)
    child = os.fork()
    if child:
        _stand_by(child)
    linux.set_parent_death_signal(signal.SIGKILL)
    _check_readable([path for path in sys.path if os.path.isdir(path)])


def _enter_plainly(tier: str) -> None:
    """The tiers without namespaces: another user if possible, and the inits' orphans come here."""
    if tier == "landlock" and landlock.abi() < landlock.MINIMUM_ABI:
        raise OSError(f"Landlock ABI {landlock.abi()}, at least {landlock.MINIMUM_ABI} is needed")
    if os.geteuid() == 0 and tier == "landlock":
        needed = [path for path in sys.path if os.path.isdir(path)]
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        _check_readable(needed)
    linux.set_dumpable(False)
    linux.set_child_subreaper()


def _count_tasks() -> int:
    user, total = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    total += len(os.listdir(f"/proc/{name}/task"))
    return total + _SLACK_TASKS


def _stand_by(child: int) -> None:
    # The outer process only waits: it holds no descriptor, and its death is the server's death.
    os.closerange(0, 4096)
    _pid, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _check_readable(paths: list[str]) -> None:
    for path in paths:
        if not os.access(path, os.R_OK | os.X_OK):
            raise PermissionError(f"{path} is not readable for the sandbox's user")


def _warm(names: list[str]) -> None:
    for name in [*_WARM, *names]:
        importlib.import_module(name)
    compile("import math\ndef f(x):\n    return [y for y in x if y]\n", "warm.py", "exec")
