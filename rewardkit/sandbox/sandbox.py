"""The sandbox: a pool of fork servers that run hostile programs."""

import os
import socket
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.sandbox._client import ForkServer, ServerConfig, python_prefixes
from rewardkit.sandbox.job import MEBIBYTE, Job
from rewardkit.sandbox.result import Result, Status
from rewardkit.sandbox.session import Session, Streams, sealed_memory

__all__ = ["ISOLATIONS", "Sandbox"]

ISOLATIONS = ("auto", "namespaces", "landlock", "unsafe")
_AUTOMATIC = ("namespaces", "landlock")
_ATTEMPTS = 3


@dataclass(slots=True)
class _Pool:
    """The running servers of one process; never pickled."""

    owner: int = field(default_factory=os.getpid)
    servers: list[ForkServer] = field(default_factory=list)
    turn: int = 0
    tier: str = ""

    def close(self) -> None:
        servers, self.servers = self.servers, []
        if self.owner == os.getpid():
            for server in servers:
                server.close()


class Sandbox:
    r"""Runs programs that may be hostile, each in a fresh sandbox made ahead of time.

    Servers start at the first run. A sandbox is picklable, and safe to use from threads and in
    forked children (which start servers of their own). `close`, or a `with` block, ends the
    servers.

    >>> with Sandbox() as sandbox:
    ...     sandbox.run(Job(files={"main.py": b"print(6 * 7)"})).stdout
    b'42\n'
    """

    def __init__(
        self,
        *,
        isolation: str = "auto",
        binds: tuple[str, ...] = (),
        modules: tuple[str, ...] = (),
        warm: tuple[str, ...] = (),
        disk_bytes: int = 64 * MEBIBYTE,
        disk_files: int = 4096,
        servers: int | None = None,
        spare: int | None = None,
    ) -> None:
        """Says what to run with; starts nothing.

        Args:
            isolation: "auto" takes the strongest tier that works here and refuses below "landlock";
                "namespaces" and "landlock" ask for that tier; "unsafe" only ends runaways.
            binds: host paths that programs may read, besides `/usr` and the Python in use.
            modules: modules whose functions a job may name as its `entry`, in import order. They
                may import the standard library and each other.
            warm: names of modules to import ahead of time (`numpy`, `pytest`).
            disk_bytes: size of each run's writable file system, which lives in memory.
            disk_files: number of files that it holds.
            servers: fork servers; by default one for every four processors.
            spare: sandboxes that each server keeps ready; by default 2.

        Raises:
            ConfigError: a value outside its range.
        """
        if isolation not in ISOLATIONS:
            raise ConfigError(f"isolation is one of {ISOLATIONS}, not {isolation!r}")
        for path in binds:
            if not os.path.isabs(path) or os.path.normpath(path).count("/") < 1 or path == "/":
                raise ConfigError(f"a bind is an absolute path below /, not {path!r}")
        self.isolation = isolation
        self.binds = binds
        self.modules = modules
        self.warm = warm
        self.disk_bytes = disk_bytes
        self.disk_files = disk_files
        self.servers = servers if servers is not None else max(1, processors() // 4)
        self.spare = spare if spare is not None else 2
        self._reset()

    def run(self, job: Job) -> Result:
        """Returns how a job ended. A run lost to a dying server is repeated on a new one."""
        for _ in range(_ATTEMPTS):
            try:
                session = self.start(job)
            except OSError:
                continue
            result = session.wait()
            if not session.lost:
                return result
        return Result(status=Status.FAILED, detail="the fork server died again and again")

    def start(
        self,
        job: Job,
        *,
        channel: bool = False,
        pipes: tuple[int, ...] = (),
        discard_output: bool = False,
    ) -> Session:
        """Starts a job and returns it while it runs.

        Args:
            job: what to run.
            channel: give the program two pipes to the caller, on its descriptors 3 (reads) and 4
                (writes).
            pipes: descriptors of the caller that the program gets after those; the caller closes
                its own.
            discard_output: send standard output and error nowhere, so that nobody needs to drain
                them.

        Raises:
            EngineMissingError: no allowed tier of isolation works on this machine.
            OSError: the server died; a new call starts another.
        """
        server = self._server()
        ours: list[int] = []
        theirs: list[int] = []
        host, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            theirs.append(sealed_memory(job.stdin))
            for _stream in ("stdout", "stderr"):
                read_end, write_end = os.pipe()
                if discard_output:
                    os.close(write_end)
                    write_end = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
                ours.append(read_end)
                theirs.append(write_end)
            if job.files:
                theirs.append(sealed_memory(b"".join(job.files.values())))
            streams = Streams(*ours)
            if channel:
                program_reads, streams.to_program = os.pipe()
                theirs.append(program_reads)
                ours.append(streams.to_program)
                streams.from_program, program_writes = os.pipe()
                theirs.append(program_writes)
                ours.append(streams.from_program)
            server.submit(_message(job), [remote.fileno(), *theirs, *pipes])
            return Session(job, host, streams, self._pool.tier, server.mark_broken)
        except BaseException:
            host.close()
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            remote.close()
            for descriptor in theirs:
                os.close(descriptor)

    def tier(self) -> str:
        """Returns the tier in use, starting a server to find out.

        Raises:
            EngineMissingError: no allowed tier works on this machine.
        """
        self._server()
        return self._pool.tier

    def close(self) -> None:
        """Ends the servers and every run in progress. A later run starts new ones."""
        with self._lock:
            self._pool.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._pool = _Pool()
        self._finalizer: Callable[[], Any] = weakref.finalize(self, self._pool.close)

    def _server(self) -> ForkServer:
        if self._pool.owner != os.getpid():
            self._reset()
        with self._lock:
            pool = self._pool
            pool.servers = [server for server in pool.servers if _keep(server)]
            while len(pool.servers) < self.servers:
                pool.servers.append(self._start_server())
            pool.turn += 1
            return pool.servers[pool.turn % len(pool.servers)]

    def _start_server(self) -> ForkServer:
        tiers = _AUTOMATIC if self.isolation == "auto" else (self.isolation,)
        tiers = (self._pool.tier,) if self._pool.tier else tiers
        refused = []
        for tier in tiers:
            try:
                server = ForkServer(self._config(tier), self.modules)
            except EngineMissingError as error:
                refused.append(error.engine)
                continue
            self._pool.tier = tier
            return server
        raise EngineMissingError(
            "; ".join(refused),
            "a kernel with user namespaces or Landlock, or isolation='unsafe' asked for by name",
        )

    def _config(self, tier: str) -> ServerConfig:
        return {
            "isolation": tier,
            "binds": list(dict.fromkeys([*python_prefixes(), *self.binds])),
            "warm": list(self.warm),
            "spare": self.spare,
            "disk_bytes": self.disk_bytes,
            "disk_files": self.disk_files,
        }


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def _keep(server: ForkServer) -> bool:
    if server.alive:
        return True
    server.close()
    return False


def _message(job: Job) -> dict[str, Any]:
    limits = job.limits
    return {
        "argv": list(job.argv),
        "entry": job.entry,
        "arguments": list(job.arguments),
        "environment": dict(job.environment),
        "files": [
            [name, len(content), 0o755 if name in job.executables else 0o644]
            for name, content in job.files.items()
        ],
        "limits": {
            "cpu_s": limits.cpu_s,
            "wall_s": limits.wall_s,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
            "file_bytes": limits.file_bytes,
            "open_files": limits.open_files,
        },
    }
