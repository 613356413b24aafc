"""Lean on this machine, in the sandbox: warm workers, and a fresh process for every file."""

import json
import math
import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.sandbox import Job, Limits, Sandbox, Session, Status
from rewardkit.verifiers.lean.backends import Check, LostError
from rewardkit.verifiers.lean.messages import read_messages
from rewardkit.verifiers.lean.source import split_imports
from rewardkit.verifiers.lean.toolchain import Toolchain, find_toolchain

__all__ = ["LocalLean"]

_INSIDE = "rewardkit.verifiers.lean._inside."
_MODULES = (f"{_INSIDE}elpi", f"{_INSIDE}worker")
_MEBIBYTE = 1 << 20
_ATTEMPTS = 3
_MAX_OLEAN_BYTES = 256 << 20
_STACK_KB = 262144
_MAIN = "RewardkitMain"


@dataclass(slots=True)
class _Worker:
    session: Session
    uses: int = 0


@dataclass(slots=True)
class _Idle:
    """The warm workers that wait for work; never pickled."""

    owner: int = field(default_factory=os.getpid)
    workers: list[_Worker] = field(default_factory=list)


class LocalLean:
    """Runs the `lean` of a toolchain, or the wheel's, each file in a process of its own.

    A worker is a sandbox with a process in which Lean is initialised; a file is checked by a fork
    of it. A worker ends after `max_uses` files, when it has grown past `max_rss_bytes`, and after
    every file that ran into a limit.
    """

    def __init__(
        self,
        *,
        lean: str | None = None,
        project: str | None = None,
        path: tuple[str, ...] = (),
        timeout_s: float = 30.0,
        memory_bytes: int = 4 << 30,
        output_bytes: int = 4 << 20,
        threads: int = 2,
        max_uses: int = 200,
        max_rss_bytes: int = 1 << 30,
        isolation: str = "auto",
    ) -> None:
        """Finds the toolchain; starts nothing.

        Args:
            lean: see `find_toolchain`.
            project: folder of a lake project.
            path: folders with more compiled modules.
            timeout_s: processor seconds of a file; on the clock it has twice that and five.
            memory_bytes: memory of a check.
            output_bytes: what Lean may print about a file.
            threads: Lean's own threads for a file.
            max_uses: files that a worker checks before it is replaced.
            max_rss_bytes: resident size at which a worker is replaced.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.

        Raises:
            EngineMissingError: no Lean is here.
            ConfigError: a value outside its range.
        """
        if not 0 < timeout_s <= 3600:
            raise ConfigError(f"timeout_s is in (0, 3600], not {timeout_s!r}")
        if memory_bytes < 3072 * _MEBIBYTE:
            raise ConfigError(f"memory_bytes is at least {3072 * _MEBIBYTE}, not {memory_bytes!r}")
        for name, value in (("threads", threads), ("max_uses", max_uses)):
            if value < 1:
                raise ConfigError(f"{name} is at least 1, not {value!r}")
        self.toolchain: Toolchain = find_toolchain(lean=lean, project=project, path=path)
        self.timeout_s = timeout_s
        self.memory_bytes = memory_bytes
        self.output_bytes = output_bytes
        self.threads = threads
        self.max_uses = max_uses
        self.max_rss_bytes = max_rss_bytes
        self.sandbox = Sandbox(
            isolation=isolation,
            binds=self.toolchain.binds,
            modules=_MODULES,
            spare=1,
            disk_bytes=_MAX_OLEAN_BYTES,
        )
        self._reset()

    @property
    def compiles(self) -> bool:
        """A local Lean gives compiled files."""
        return True

    @property
    def core(self) -> bool:
        """True where only rewardkit's core library is there."""
        return self.toolchain.core

    @property
    def key(self) -> str:
        """Names the toolchain and the library."""
        return self.toolchain.key

    def check(self, text: str, *, fresh: bool = False, compiled: bool = False) -> Check:
        """Returns what Lean says about a file; arguments as `Backend.check`."""
        began = time.monotonic()
        arguments = ["--json", f"-s{_STACK_KB}", f"-j{self.threads}"]
        arguments += [f"-M{self.memory_bytes // _MEBIBYTE}"]
        options = [*arguments]
        if compiled:
            arguments += ["-o", f"{_MAIN}.olean"]
        request = {
            "files": {f"{_MAIN}.lean": text},
            "arguments": [*arguments, f"{_MAIN}.lean"],
            "environment": {"LEAN_PATH": ":".join(self.toolchain.path)},
            "returns": f"{_MAIN}.olean" if compiled else "",
            "output_bytes": self.output_bytes,
            "wall_s": 2 * self.timeout_s + 5,
            "options": options,
            "header": None if fresh else split_imports(text)[0],
        }
        error: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                check = self._attempt(request, fresh)
            except (OSError, LostError) as lost:
                error = lost
                continue
            return Check(
                check.messages, check.ended, check.olean, check.detail, time.monotonic() - began
            )
        raise LostError(f"lost {_ATTEMPTS} times: {error}")

    def prewarm(self, count: int = 1) -> None:
        """Starts workers ahead of their first file."""
        made = [self._start() for _ in range(count)]
        with self._lock:
            self._idle.workers += made

    def close(self) -> None:
        """Ends the workers and the fork server. A later check starts others."""
        with self._lock:
            workers, self._idle.workers = self._idle.workers, []
        for worker in workers:
            worker.session.close()
        self.sandbox.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._idle = _Idle()

    def _start(self) -> _Worker:
        wall_s = 2 * self.timeout_s + 5
        job = Job(
            entry=f"{_INSIDE}worker:serve",
            arguments=(self.toolchain.program,),
            limits=Limits(
                cpu_s=math.ceil(self.timeout_s),
                wall_s=min(86000.0, (self.max_uses + 1) * wall_s),
                memory_bytes=self.memory_bytes,
                processes=512,
                file_bytes=_MAX_OLEAN_BYTES,
            ),
        )
        return _Worker(self.sandbox.start(job, channel=True, discard_output=True))

    def _take(self, fresh: bool) -> _Worker:
        if self._idle.owner != os.getpid():
            self._reset()
        if not fresh:
            with self._lock:
                if self._idle.workers:
                    return self._idle.workers.pop()
        return self._start()

    def _attempt(self, request: dict[str, Any], fresh: bool) -> Check:
        worker = self._take(fresh)
        wall_s = float(request["wall_s"]) + 10
        frame = worker.session.exchange(
            json.dumps(request).encode("utf-8", "replace"),
            wall_s=wall_s,
            max_bytes=_MAX_OLEAN_BYTES,
        )
        if frame is None:
            return self._ending(worker)
        size = int.from_bytes(frame[:4], "little")
        report = json.loads(frame[4 : 4 + size])
        worker.uses += 1
        check = _read(report, frame[4 + size :], self.memory_bytes)
        spent = worker.uses >= self.max_uses or report["rss"] > self.max_rss_bytes
        if fresh or spent or check.ended != "done":
            worker.session.close()
        else:
            with self._lock:
                self._idle.workers.append(worker)
        return check

    def _ending(self, worker: _Worker) -> Check:
        result = worker.session.wait(grace_s=0.2)
        names = {Status.MEMORY: "memory", Status.WALL: "timeout", Status.CPU: "timeout"}
        if result.status not in names:
            raise LostError(f"the worker ended: {result.status} {result.detail}")
        return Check((), names[result.status], detail=f"the {names[result.status]} limit")


def _read(report: dict[str, Any], olean: bytes, memory_bytes: int) -> Check:
    messages = tuple(read_messages(report["stdout"]))
    errors = report["stderr"][-300:]
    if report["late"]:
        return Check(messages, "timeout", detail="the limit on the clock")
    if report["full"]:
        return Check(messages, "output", detail="the output limit")
    number = report["signal"]
    if number in (9, 24):
        return Check(messages, "timeout", detail="the processor limit")
    words = ("memory", "bad_alloc", "create thread", "tack overflow")
    memory = any(word in errors for word in words)
    if number is not None or report["code"] not in (0, 1):
        ended = "memory" if memory or report["rss"] > memory_bytes // 2 else "crash"
        return Check(messages, ended, detail=f"signal {number}, exit {report['code']}: {errors}")
    if report["code"] == 1 and not any(m.severity == "error" for m in messages):
        return Check(
            messages, "memory" if memory else "crash", detail=f"exit 1 without an error: {errors}"
        )
    return Check(messages, "done", olean if report["code"] == 0 else b"")
