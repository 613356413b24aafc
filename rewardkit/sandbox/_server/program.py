"""The last step in a sandboxed process: takes one job, puts on its limits, becomes the program."""

import _sitebuiltins
import builtins
import fcntl
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from rewardkit.sandbox._server import messages, script

__all__ = ["WORK", "take_job"]

WORK = "/tmp/box"  # noqa: S108
"""The program's working directory inside its root."""

_SAFE_BASE = 64
_OWN_FRAMES = 16


def take_job(
    channel: socket.socket, to_init: socket.socket, work: str, extra_processes: int
) -> None:
    """Waits for a job and runs it. Does not return.

    Args:
        channel: where the job comes from; closed before the program's first instruction.
        to_init: where the init gets the memory limit and the host's socket; closed likewise.
        extra_processes: processes that exist anyway and count towards the limit.
        work: the fresh directory that the program starts in.
    """
    _add_site_builtins()
    known = dict(sys.modules)
    _rehearse(work)
    channel.send(b"ready")
    packet = messages.receive(channel)
    if packet is None:
        os._exit(0)
    job, descriptors = packet
    if work != WORK:
        _relocate(job, work)
    socket.send_fds(to_init, [b"%d" % job["limits"]["memory_bytes"]], [descriptors[0]])
    payload = _place_descriptors(descriptors[1:], has_payload=bool(job["files"]))
    if payload is not None:
        _write_files(job["files"], payload)
        os.close(payload)
    for name in os.environ.keys() - job["environment"].keys():
        del os.environ[name]
    os.environ.update(job["environment"])
    _put_on_limits(job["limits"], extra_processes)
    _become(job, known)


def _add_site_builtins() -> None:
    # The server runs without `site`, which would define them.
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))


def _relocate(job: dict[str, Any], work: str) -> None:
    # Without a root of its own the program's directory has another name.
    job["argv"] = [word.replace(WORK, work) for word in job["argv"]]
    job["environment"] = {
        name: work if name == "TMPDIR" else value.replace(WORK, work)
        for name, value in job["environment"].items()
    }


def _rehearse(work: str) -> None:
    os.chdir(work)
    script.fresh_streams()
    script.rehearse("rehearsal.py")
    for name in [name for name in sys.modules if name.split(".")[0] == "rewardkit"]:
        del sys.modules[name]
    sys.setrecursionlimit(sys.getrecursionlimit() + _OWN_FRAMES)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_NPROC):
        resource.setrlimit(kind, resource.getrlimit(kind))
    json.loads(json.dumps({"files": [["main.py", 1, 2]], "limits": {"cpu_s": 1.5}}))


def _place_descriptors(descriptors: list[int], *, has_payload: bool) -> int | None:
    # Packets carry the host's socket, stdin, stdout, stderr, the payload if there are files, then
    # the extra pipes. They are first moved above every place that they may take, so that no copy
    # overwrites one that is still needed.
    moved = [_move_up(descriptor) for descriptor in descriptors]
    payload = moved.pop(3) if has_payload else None
    for place, descriptor in enumerate(moved):
        os.dup2(descriptor, place, inheritable=True)
    last = len(moved)
    if payload is None:
        os.closerange(last, 4096)
        return None
    os.closerange(last, payload)
    os.closerange(payload + 1, 4096)
    return payload


def _move_up(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _SAFE_BASE)


def _write_files(files: list[Any], payload: int) -> None:
    offset = 0
    for name, size, mode in files:
        directory = os.path.dirname(name)
        if directory:
            os.makedirs(directory, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        target = os.open(name, flags, mode)
        try:
            end = offset + size
            while offset < end:
                data = os.pread(payload, min(end - offset, 1 << 20), offset)
                written = os.write(target, data)
                offset += written
                if not data:
                    raise OSError("the payload is shorter than its index")
        finally:
            os.close(target)


def _put_on_limits(limits: dict[str, Any], extra_processes: int) -> None:
    megabyte = 1 << 20
    pairs = (
        (resource.RLIMIT_CORE, 1, 1),  # 0 would not keep a crash from a core handler of the host
        (resource.RLIMIT_CPU, limits["cpu_s"], limits["cpu_s"] + 1),
        (resource.RLIMIT_DATA, limits["memory_bytes"], limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_STACK, 64 * megabyte, 64 * megabyte),
        (resource.RLIMIT_MEMLOCK, megabyte, megabyte),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    )
    for kind, soft, hard in pairs:
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))
    processes = limits["processes"] + 1 + extra_processes
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))


def _become(job: dict[str, Any], known: dict[str, ModuleType]) -> None:
    if job["argv"]:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        try:
            os.execve(job["argv"][0], job["argv"], job["environment"])  # noqa: S606
        except OSError as error:
            os.write(2, f"{job['argv'][0]}: {error.strerror}\n".encode())
            os._exit(127)
    entry: Callable[..., int] = script.run_script
    if job["entry"]:
        module, _, function = job["entry"].partition(":")
        entry = getattr(known[module], function)
    script.exit_process(entry(*job["arguments"]))
