"""The fork server's start: it leaves the host behind, then serves."""

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
from typing import Any

from rewardkit.sandbox._server import filters, landlock, linux, messages, root, syscalls
from rewardkit.sandbox._server.server import Server
from rewardkit.sandbox._server.stage import Shape

__all__ = ["serve"]

_NOBODY = 65534
_SLACK_TASKS = 32
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
