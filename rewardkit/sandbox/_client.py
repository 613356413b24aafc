"""The host's side of one fork server: starts it, hands it jobs, ends it."""

import os
import socket
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.sandbox._server import messages

__all__ = ["ForkServer", "ServerConfig", "python_prefixes", "site_directories"]

ServerConfig = dict[str, Any]

_SERVER_MODULES = (
    "bpf",
    "syscalls",
    "refusals",
    "filters",
    "linux",
    "landlock",
    "messages",
    "root",
    "script",
    "program",
    "memory",
    "watch",
    "stage",
    "delay",
    "server",
    "main",
)
_PREFIX = "rewardkit.sandbox._server."
# Modules are loaded by path and under their own names, without their packages: importing rewardkit
# here would need whatever it needs, and the server stays small.
_BOOTSTRAP = """
import sys, types, importlib.util as u
sys.path.extend({paths!r})
def package(name):
    if name not in sys.modules:
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        attach(name, module)
def attach(name, module):
    parent, _, child = name.rpartition(".")
    if parent:
        package(parent)
        setattr(sys.modules[parent], child, module)
for name, path in {modules!r}:
    spec = u.spec_from_file_location(name, path)
    module = u.module_from_spec(spec)
    sys.modules[name] = module
    attach(name, module)
    spec.loader.exec_module(module)
sys.modules["rewardkit.sandbox._server.main"].serve({descriptor})
"""
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PATH": "/usr/bin:/bin",
}


def site_directories() -> list[str]:
    """Returns the directories of installed packages that this interpreter imports from."""
    named = [sysconfig.get_path(key) for key in ("purelib", "platlib")]
    on_path = [p for p in sys.path if Path(p).name in {"site-packages", "dist-packages"}]
    found = dict.fromkeys(os.path.realpath(p) for p in [*named, *on_path] if p)
    return [path for path in found if os.path.isdir(path)]


def python_prefixes() -> list[str]:
    """Returns the host directories that a sandboxed interpreter must see."""
    base = [sys.base_prefix, sys.base_exec_prefix, *site_directories()]
    # /usr is always shown, and a whole root or home directory never is.
    return [p for p in dict.fromkeys(os.path.realpath(p) for p in base) if p.count("/") >= 2]


class ForkServer:
    """One running fork server. Made in the process that uses it, from any thread."""

    def __init__(self, config: ServerConfig, modules: tuple[str, ...]) -> None:
        """Starts the server and waits until its first sandbox has proved to work.

        Args:
            config: see `Sandbox`, which builds it.
            modules: names of modules that jobs may enter, in import order.

        Raises:
            EngineMissingError: the kernel refuses a step of the isolation asked for; the text names
                it.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        self.broken = False
        names = [*(_PREFIX + name for name in _SERVER_MODULES), *modules]
        text = _BOOTSTRAP.format(
            paths=site_directories(),
            modules=[(name, _origin(name)) for name in names],
            descriptor=theirs.fileno(),
        )
        errors = os.memfd_create("rewardkit-errors", os.MFD_CLOEXEC)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                [_interpreter(), "-S", "-s", "-P", "-c", text],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=_ENVIRONMENT,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                start_new_session=True,
            )
        try:
            messages.send(ours, config, [])
            packet = messages.receive(ours)
        except OSError:
            packet = None
        hello = packet[0] if packet else {"error": os.pread(errors, 4096, 0).decode()[-400:]}
        os.close(errors)
        if "error" in hello:
            self.close()
            raise EngineMissingError(
                f"the sandbox's tier {config['isolation']!r} ({hello['error']})",
                "see docs/sandbox.md, or choose another isolation by name",
            )
        self.proc = str(hello["proc"])

    @property
    def alive(self) -> bool:
        """True while the server's process runs."""
        return not self.broken and self.process.poll() is None

    def mark_broken(self) -> None:
        """Says that the server no longer serves; its process may not have been reaped yet."""
        self.broken = True

    def submit(self, job: dict[str, Any], descriptors: list[int]) -> None:
        """Hands over a job. Safe from several threads: a job is one packet.

        Raises:
            OSError: the server is gone.
        """
        try:
            messages.send(self.control, job, descriptors)
        except OSError:
            self.broken = True
            raise

    def close(self) -> None:
        """Ends the server, and with it every sandbox it holds."""
        self.control.close()
        try:
            self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _interpreter() -> str:
    found: str = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(found)


def _origin(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ConfigError(f"the sandbox cannot enter {name!r}: no such module file")
    return spec.origin
