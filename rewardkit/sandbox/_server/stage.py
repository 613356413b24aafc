"""One sandbox, made ahead of its job: an init, and what becomes the program."""

import contextlib
import errno
import gc
import json
import os
import signal
import socket
import tempfile
from dataclasses import dataclass
from typing import Any

from rewardkit.sandbox._server import landlock, linux, program, root, watch

__all__ = ["Shape", "Staged", "read_report", "stage"]

_NAMESPACES = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWCGROUP
)
_SYSTEM_WIDE = (errno.ENFILE, errno.ENOMEM)
"""What an init may fail of that says nothing about its program."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What all sandboxes of one fork server share."""

    tier: str
    """"namespaces", "landlock" or "unsafe"."""
    filter: bytes
    """The system-call filter."""
    notify: bool
    """Whether the filter reports refused calls to the init."""
    fresh_proc: bool
    """Whether /proc is one of the sandbox's own; else it is empty."""
    disk_bytes: int
    """Size of the one writable file system."""
    disk_files: int
    """Number of files that it holds."""
    readable: tuple[str, ...] = ()
    """For "landlock": what may be read besides the system's directories."""
    extra_processes: int = 0
    """Processes of this user that exist anyway, where they count towards the limit."""


@dataclass(slots=True)
class Staged:
    """A sandbox that waits for its job."""

    pid: int
    """The init, as its parent sees it."""
    pidfd: int
    channel: socket.socket
    """Where the job goes in."""
    report: int
    """Where the init writes how the program ended: a pipe that only the init holds open."""
    work: str = ""
    """The working directory, to be removed, where it is one of the host's."""


def stage(shape: Shape, own_pid_namespace: int) -> Staged:
    """Forks one sandbox, of the server's tier."""
    if shape.tier == "namespaces":
        return _stage_in_namespaces(shape, own_pid_namespace)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read_end, write_end = os.pipe()
    work = tempfile.mkdtemp(prefix="rewardkit-box-", dir="/tmp")
    pid = os.fork()
    if pid == 0:
        _run_plain_init(shape, theirs, write_end, work)
    theirs.close()
    os.close(write_end)
    return Staged(pid, os.pidfd_open(pid), ours, read_end, work)


def _stage_in_namespaces(shape: Shape, own_pid_namespace: int) -> Staged:
    """Forks one sandbox into namespaces of its own.

    The pid namespace is made for the next child only: afterwards this process's children are born
    into its own namespace again. So the child is forked by `os.fork`, with the interpreter's hooks.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read_end, write_end = os.pipe()
    linux.unshare(linux.CLONE_NEWPID)
    try:
        pid = os.fork()
        if pid == 0:
            _run_init(shape, theirs, write_end)
    finally:
        linux.setns(own_pid_namespace, linux.CLONE_NEWPID)
    theirs.close()
    os.close(write_end)
    return Staged(pid, os.pidfd_open(pid), ours, read_end)


def _run_init(shape: Shape, channel: socket.socket, report: int) -> None:
    try:
        gc.disable()
        _close_all_but(channel.fileno(), report)
        linux.set_parent_death_signal(signal.SIGKILL)
        if os.getppid() != 0:
            raise OSError(
                "the sandbox's init sees a parent: it is not in a pid namespace of its own"
            )
        linux.unshare(_NAMESPACES)
        _mount_writable(shape)
        proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        if not shape.fresh_proc:
            root.hide_proc()
        linux.unshare(linux.CLONE_NEWUSER)
        linux.map_single_user(proc, root.USER, root.USER, root.USER)
        _watch_program(shape, channel, report, program.WORK, proc)
    except BaseException as error:
        os.write(report, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(70)
    os._exit(0)


def _run_plain_init(shape: Shape, channel: socket.socket, report: int, work: str) -> None:
    try:
        gc.disable()
        _close_all_but(channel.fileno(), report)
        linux.set_parent_death_signal(signal.SIGTERM)
        linux.set_child_subreaper()
        proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        _watch_program(shape, channel, report, work, proc)
    except BaseException as error:
        watch.end_all(os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        os.write(report, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(70)
    os._exit(0)


def _watch_program(shape: Shape, channel: socket.socket, report: int, work: str, proc: int) -> None:
    # The program may send signals to its init. All are blocked, so that none interrupts it, and
    # only those of its children and of the server are ever read.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    children = linux.signal_descriptor(signal.SIGCHLD, signal.SIGTERM)
    inner, outer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    main = os.fork()
    if main == 0:
        _run_program(shape, channel, inner, work)
    inner.close()
    channel.close()
    linux.set_dumpable(False)
    linux.set_no_new_privileges()
    linux.drop_capabilities()
    listener = _take_listener(outer) if shape.notify else None
    try:
        ending = watch.watch(main, children, listener, outer, proc)
    except Exception as error:
        if getattr(error, "errno", None) in _SYSTEM_WIDE:
            raise
        # The filter keeps the program from its init's limits and priority. Should it find another
        # way to break it, that is its failure: nobody may buy a verdict of "unknown".
        with contextlib.suppress(ProcessLookupError):
            os.killpg(main, signal.SIGKILL)
        watch.end_all(proc)
        ending = {"error": f"the init broke: {type(error).__name__}: {error}", "broken": True}
    os.write(report, json.dumps(ending).encode())


def _mount_writable(shape: Shape) -> None:
    options = f"size={shape.disk_bytes},nr_inodes={shape.disk_files},mode=1777"
    root.mount_fresh_tmp(options, shape.readable)
    os.mkdir(program.WORK, 0o755)
    if shape.fresh_proc and not root.mount_fresh_proc():
        raise OSError(errno.EPERM, "a fresh /proc was allowed at start and is refused now")
    socket.sethostname("sandbox")


def _run_program(shape: Shape, channel: socket.socket, to_init: socket.socket, work: str) -> None:
    try:
        linux.set_parent_death_signal(signal.SIGKILL)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        linux.set_no_new_privileges()
        linux.drop_capabilities()
        linux.set_dumpable(True)
        if shape.tier == "landlock":
            landlock.restrict(list(shape.readable), work)
        listener = linux.install_filter(shape.filter, listener=shape.notify) if shape.filter else 0
        if shape.notify:
            socket.send_fds(to_init, [b"listener"], [listener])
            os.close(listener)
        _close_all_but(channel.fileno(), to_init.fileno())
        gc.enable()
        program.take_job(channel, to_init, work, shape.extra_processes)
    except BaseException as error:
        os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode())
    os._exit(71)


def _close_all_but(*keep: int) -> None:
    start = 3
    for descriptor in sorted(keep):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 4096)


def _take_listener(channel: socket.socket) -> int:
    data, descriptors, _flags, _address = socket.recv_fds(channel, 16, 1)
    if data != b"listener" or len(descriptors) != 1:
        raise OSError("the program's process did not hand over its listener")
    return descriptors[0]


def read_report(staged: Staged) -> dict[str, Any] | None:
    """Returns what the init wrote, or None if it was killed. The pipe is readable."""
    data = os.read(staged.report, 65536)
    return json.loads(data) if data else None
