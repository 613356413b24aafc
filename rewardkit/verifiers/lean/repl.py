"""The REPL of leanprover-community, as a pool of sandboxed processes with their headers loaded."""

import json
import math
import os
import time
from dataclasses import replace
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.sandbox import Job, Limits, Sandbox
from rewardkit.verifiers.lean.backends import Check, LostError, Replay
from rewardkit.verifiers.lean.messages import Message, message_of
from rewardkit.verifiers.lean.pool import PooledLean, Worker, repeat, settle
from rewardkit.verifiers.lean.source import split_imports

__all__ = ["ReplLean", "read_answer"]

_BRIDGE = "rewardkit.verifiers.lean._inside.bridge"
_MODULES = ("rewardkit.verifiers.formal._inside.frames", _BRIDGE)
_ATTEMPTS = 2
_MAX_BYTES = 64 << 20


class ReplLean(PooledLean):
    """Checks files with a REPL that keeps a header's imports loaded.

    A worker belongs to the header that it has loaded. It ends after `max_uses` files, and after a
    file that ran into a limit or broke it. All files of a worker share a process, and the REPL
    gives no compiled file: see docs/verifiers/lean.md for what that does not stop.
    """

    def __init__(
        self,
        *,
        command: tuple[str, ...],
        project: str = "",
        binds: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        version: str = "",
        timeout_s: float = 60.0,
        memory_bytes: int = 8 << 30,
        max_uses: int = 100,
        isolation: str = "auto",
    ) -> None:
        """Says what to run; starts nothing.

        Args:
            command: the REPL's absolute path and its arguments.
            project: the folder it runs in, a built lake project.
            binds: folders that the sandbox shows, such as the toolchain's and the project's.
            environment: variables besides the sandbox's own, such as LEAN_PATH.
            version: names the toolchain in caches.
            timeout_s: seconds on the clock for a file; a header has four times that.
            memory_bytes: memory of a worker.
            max_uses: files that a worker checks before it is replaced.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.

        Raises:
            ConfigError: a value outside its range.
        """
        if not command or not os.path.isabs(command[0]):
            raise ConfigError(f"command begins with an absolute path, not {command[:1]!r}")
        if not 0 < timeout_s <= 3600 or max_uses < 1:
            raise ConfigError("timeout_s is in (0, 3600], and max_uses at least 1")
        self.command = command
        self.project = project
        self.environment = environment or {}
        self.version = version
        self.timeout_s = timeout_s
        self.memory_bytes = memory_bytes
        self.max_uses = max_uses
        shown = tuple(dict.fromkeys(p for p in (*binds, project) if p))
        self.sandbox = Sandbox(isolation=isolation, modules=_MODULES, binds=shown, spare=1)
        self._reset()

    compiles = False
    core = False
    replays = ""

    @property
    def key(self) -> str:
        """Names the toolchain and the library."""
        return f"repl|{self.version}|{' '.join(self.command)}|{self.project}"

    def check(self, text: str, *, fresh: bool = False, compiled: bool = False) -> Check:
        """Returns what the REPL says about a file; arguments as `Backend.check`."""
        began = time.monotonic()
        header, rest = split_imports(text)

        def attempt(alone: bool) -> Check:
            return repeat(_ATTEMPTS, lambda: self._attempt(header, rest, alone))

        return replace(settle(self._load, attempt, fresh), seconds=time.monotonic() - began)

    def replay(self, olean: bytes, statement: bytes, *, fresh: bool = False) -> Replay:
        """Raises: a REPL gives no compiled file to replay."""
        raise LostError("a REPL replays nothing")

    def prewarm(self, header: str, count: int = 1) -> None:
        """Starts workers that have a header's imports loaded.

        Args:
            header: the lines of imports.
            count: workers.

        Raises:
            LostError: a worker did not start, or the header does not load.
        """
        for _ in range(count):
            self._give(self._load_header(self._start(""), split_imports(header + "\n")[0]))

    def _start(self, kind: str) -> Worker:
        limits = Limits(
            cpu_s=math.ceil(self.timeout_s * self.max_uses),
            wall_s=min(86000.0, self.timeout_s * (self.max_uses + 8)),
            memory_bytes=self.memory_bytes,
            processes=512,
        )
        job = Job(entry=f"{_BRIDGE}:serve", arguments=(self.project, *self.command), limits=limits)
        environment = {**job.environment, **self.environment}
        job = Job(entry=job.entry, arguments=job.arguments, limits=limits, environment=environment)
        return Worker(self.sandbox.start(job, channel=True, discard_output=True))

    def _attempt(self, header: str, rest: str, fresh: bool) -> Check:
        worker = self._load_header(self._take(header, fresh), header)
        command: dict[str, Any] = {"cmd": rest, "gc": True}
        if worker.env is not None:
            command["env"] = worker.env
        answer = self._ask(worker, command, self.timeout_s)
        if isinstance(answer, Check):
            return answer
        worker.uses += 1
        if fresh or worker.uses >= self.max_uses:
            worker.session.close()
        else:
            self._give(worker)
        return Check(read_answer(answer))

    def _load_header(self, worker: Worker, header: str) -> Worker:
        if not header or worker.kind == header:
            return worker
        answer = self._ask(worker, {"cmd": header}, 4 * self.timeout_s)
        if isinstance(answer, Check):
            raise LostError(f"the header does not load: {answer.ended}")
        if not isinstance(answer.get("env"), int):
            worker.session.close()
            raise LostError(f"the header does not load: {str(answer)[:200]}")
        worker.kind, worker.env = header, answer["env"]
        return worker

    def _ask(
        self, worker: Worker, command: dict[str, Any], wall_s: float
    ) -> dict[str, Any] | Check:
        frame = worker.session.exchange(
            json.dumps(command).encode(), wall_s=wall_s, max_bytes=_MAX_BYTES
        )
        if frame is not None:
            answer = json.loads(frame)
            if not isinstance(answer, dict):
                raise LostError("the REPL's answer is no object")
            return answer
        return self._ending(worker)


def read_answer(answer: dict[str, Any]) -> tuple[Message, ...]:
    """Returns the messages in an answer of the REPL, and one for each hole that it lists.

    Raises:
        LostError: the REPL says that it could not do its work.
    """
    if isinstance(answer.get("message"), str):
        raise LostError(f"the REPL says: {answer['message'][:200]}")
    found = []
    for data in answer.get("messages") or ():
        try:
            found.append(message_of(data))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise LostError("a message of another form") from None
    if answer.get("sorries") and not any(message.says_sorry for message in found):
        found.append(Message("warning", "hasSorry", 1, 0, 1, 0, "declaration uses `sorry`"))
    return tuple(found)
