"""Lean on this machine, in the sandbox: warm workers, and a fresh process for every file."""

import json
import math
import re
import time
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.sandbox import Job, Limits, Sandbox
from rewardkit.verifiers.formal.scan import LEAN, read_code
from rewardkit.verifiers.lean.backends import Check, Replay
from rewardkit.verifiers.lean.messages import read_messages
from rewardkit.verifiers.lean.pool import (
    PooledLean,
    Worker,
    limit_of,
    repeat,
    settle,
    speaks_of_memory,
)
from rewardkit.verifiers.lean.replay import (
    COMPARE,
    KERNEL,
    read_replay,
    replay_files,
    replay_name,
    replay_tools,
)
from rewardkit.verifiers.lean.source import split_imports
from rewardkit.verifiers.lean.toolchain import Toolchain, find_toolchain

__all__ = ["LocalLean"]

_INSIDE = "rewardkit.verifiers.lean._inside."
_MODULES = (
    "rewardkit.verifiers.formal._inside.frames",
    *(_INSIDE + name for name in ("elpi", "runtime", "replay", "frontend", "child", "worker")),
)
_MEBIBYTE = 1 << 20
_ATTEMPTS = 3
_MAX_OLEAN_BYTES = 256 << 20
_STACK_KB = 262144
_MAIN = "RewardkitMain"
_CHECK = "check"
_HEADER = re.compile(r"(?:module|prelude|public|private|meta|import)\b")
"""What begins a header that is more than plain imports."""


class LocalLean(PooledLean):
    """Runs the `lean` of a toolchain, or the wheel's, each file in a process of its own.

    A worker is a sandbox with a process in which the wheel's Lean and its files' imports are
    loaded; a file is checked by a fork of it. With a toolchain it starts `lean` ahead of its file.
    Replays have workers of their own. A worker ends after `max_uses` files, when it has grown past
    `max_rss_bytes`, and after every file that ran into a limit.
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

    @property
    def replays(self) -> str:
        """Names the tool that `replay` uses; empty where the toolchain has none."""
        return replay_name(self.toolchain)

    def check(self, text: str, *, fresh: bool = False, compiled: bool = False) -> Check:
        """Returns what Lean says about a file; arguments as `Backend.check`."""
        began = time.monotonic()
        settings = {
            "stack_kb": _STACK_KB,
            "threads": self.threads,
            "memory_mb": self.memory_bytes // _MEBIBYTE,
        }
        arguments = ["--json", f"-s{_STACK_KB}", f"-j{self.threads}", f"-M{settings['memory_mb']}"]
        if compiled:
            arguments += ["-o", f"{_MAIN}.olean"]
        header, body = split_imports(text)
        request = {
            "input": text,
            "body": body,
            "settings": settings,
            "arguments": [*arguments, "--stdin"],
            "environment": {"LEAN_PATH": ":".join(self.toolchain.path)},
            "returns": f"{_MAIN}.olean" if compiled else "",
        }

        def attempt(alone: bool) -> Check:
            loads = not alone and not _HEADER.match(read_code(body, LEAN).bare.lstrip())
            asked = {**request, "header": header if loads else None}
            return repeat(_ATTEMPTS, lambda: self._attempt(asked, alone))

        return replace(settle(self._load, attempt, fresh), seconds=time.monotonic() - began)

    def replay(self, olean: bytes, statement: bytes, *, fresh: bool = False) -> Replay:
        """Returns what the kernel says to a compiled file; arguments as `Backend.replay`."""

        def attempt(kind: str, alone: bool) -> Check:
            request = replay_files(self.toolchain, kind, olean, statement)
            answer = self._exchange(request, kind, alone)
            if isinstance(answer, Check):
                return answer
            said = read_replay(self.toolchain, kind, answer.report, self.memory_bytes)
            return Check((), said.ended, detail=said.detail, by_clock=answer.report["late"])

        check = Check((), "refused", detail="there is nothing to replay it with")
        for kind in replay_tools(self.toolchain, fresh):

            def attempts(alone: bool, kind: str = kind) -> Check:
                return repeat(_ATTEMPTS, lambda: attempt(kind, alone))

            check = settle(self._load, attempts, fresh)
            if check.ended != "accepted":
                break
        return Replay(check.ended, check.detail)

    def prewarm(self, count: int = 1) -> None:
        """Starts workers ahead of their first file."""
        for worker in [self._start(_CHECK) for _ in range(count)]:
            self._give(worker)

    def _start(self, kind: str) -> Worker:
        programs = {KERNEL: self.toolchain.replay, COMPARE: self.toolchain.compare}
        wall_s = 2 * self.timeout_s + 5
        job = Job(
            entry=f"{_INSIDE}worker:serve",
            arguments=(programs.get(kind, self.toolchain.program),),
            limits=Limits(
                cpu_s=math.ceil(self.timeout_s),
                wall_s=min(86000.0, (self.max_uses + 1) * wall_s),
                memory_bytes=self.memory_bytes,
                processes=512,
                file_bytes=_MAX_OLEAN_BYTES,
            ),
        )
        return Worker(self.sandbox.start(job, channel=True, discard_output=True), kind)

    def _attempt(self, request: dict[str, Any], fresh: bool) -> Check:
        answer = self._exchange(request, _CHECK, fresh)
        if isinstance(answer, Check):
            return answer
        return _read(answer.report, answer.returned, self.memory_bytes)

    def _exchange(self, request: dict[str, Any], kind: str, fresh: bool) -> "_Answer | Check":
        """Returns a worker's answer, or the limit that ended the worker."""
        wall_s = 2 * self.timeout_s + 5
        limits = {"output_bytes": self.output_bytes, "wall_s": wall_s, "last": fresh}
        worker = self._take(kind, fresh)
        frame = worker.session.exchange(
            json.dumps({**request, **limits}).encode("utf-8", "replace"),
            wall_s=wall_s + 10,
            max_bytes=_MAX_OLEAN_BYTES,
        )
        if frame is None:
            return self._ending(worker)
        size = int.from_bytes(frame[:4], "little")
        report: dict[str, Any] = json.loads(frame[4 : 4 + size])
        worker.uses += 1
        spent = worker.uses >= self.max_uses or report["rss"] > self.max_rss_bytes
        if fresh or spent or limit_of(report, self.memory_bytes) is not None:
            worker.session.close()
        else:
            self._give(worker)
        return _Answer(report, frame[4 + size :])


@dataclass(frozen=True, slots=True)
class _Answer:
    report: dict[str, Any]
    """See `_inside/worker.py`."""
    returned: bytes
    """The file that was asked for."""


def _read(report: dict[str, Any], olean: bytes, memory_bytes: int) -> Check:
    messages = tuple(read_messages(report["stdout"]))
    limit = limit_of(report, memory_bytes)
    if limit is not None:
        return replace(limit, messages=messages)
    if report["code"] == 1 and not any(m.severity == "error" for m in messages):
        errors = report["stderr"][-300:]
        ended = "memory" if speaks_of_memory(errors) else "crash"
        return Check(messages, ended, detail=f"exit 1 without an error: {errors}")
    return Check(messages, "done", olean if report["code"] == 0 else b"")
