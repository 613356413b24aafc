"""The REPL of leanprover-community, as a pool of sandboxed processes with their headers loaded."""

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
from rewardkit.verifiers.lean.messages import Message, message_of
from rewardkit.verifiers.lean.source import split_imports

__all__ = ["ReplLean", "read_answer"]

_BRIDGE = "rewardkit.verifiers.lean._inside.bridge"
_ATTEMPTS = 2
_MAX_BYTES = 64 << 20


@dataclass(slots=True)
class _Worker:
    session: Session
    header: str = ""
    env: int | None = None
    uses: int = 0


@dataclass(slots=True)
class _Idle:
    owner: int = field(default_factory=os.getpid)
    workers: list[_Worker] = field(default_factory=list)


class ReplLean:
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
        self.sandbox = Sandbox(isolation=isolation, modules=(_BRIDGE,), binds=shown, spare=1)
        self._reset()

    compiles = False
    core = False

    @property
    def key(self) -> str:
        """Names the toolchain and the library."""
        return f"repl|{self.version}|{' '.join(self.command)}|{self.project}"

    def check(self, text: str, *, fresh: bool = False, compiled: bool = False) -> Check:
        """Returns what the REPL says about a file; arguments as `Backend.check`."""
        began = time.monotonic()
        header, rest = split_imports(text)
        lost = ""
        for _ in range(_ATTEMPTS):
            try:
                found = self._attempt(header, rest, fresh)
                return Check(
                    found.messages, found.ended, b"", found.detail, time.monotonic() - began
                )
            except (OSError, LostError, ValueError) as error:
                lost = str(error)
        raise LostError(f"the REPL was lost {_ATTEMPTS} times: {lost}")

    def prewarm(self, header: str, count: int = 1) -> None:
        """Starts workers that have a header's imports loaded.

        Args:
            header: the lines of imports.
            count: workers.

        Raises:
            LostError: a worker did not start, or the header does not load.
        """
        for _ in range(count):
            self._give(self._load(self._start(), split_imports(header + "\n")[0]))

    def close(self) -> None:
        """Ends the workers. A later check starts others."""
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
        limits = Limits(
            cpu_s=math.ceil(self.timeout_s * self.max_uses),
            wall_s=min(86000.0, self.timeout_s * (self.max_uses + 8)),
            memory_bytes=self.memory_bytes,
            processes=512,
        )
        job = Job(entry=f"{_BRIDGE}:serve", arguments=(self.project, *self.command), limits=limits)
        environment = {**job.environment, **self.environment}
        job = Job(entry=job.entry, arguments=job.arguments, limits=limits, environment=environment)
        return _Worker(self.sandbox.start(job, channel=True, discard_output=True))

    def _attempt(self, header: str, rest: str, fresh: bool) -> Check:
        worker = self._load(self._take(header, fresh), header)
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

    def _take(self, header: str, fresh: bool) -> _Worker:
        if self._idle.owner != os.getpid():
            self._reset()
        with self._lock:
            fitting = [w for w in self._idle.workers if w.header == header]
            if fitting and not fresh:
                self._idle.workers.remove(fitting[-1])
                return fitting[-1]
        return self._start()

    def _give(self, worker: _Worker) -> None:
        with self._lock:
            self._idle.workers.append(worker)

    def _load(self, worker: _Worker, header: str) -> _Worker:
        if not header or worker.header == header:
            return worker
        answer = self._ask(worker, {"cmd": header}, 4 * self.timeout_s)
        if isinstance(answer, Check):
            raise LostError(f"the header does not load: {answer.ended}")
        if not isinstance(answer.get("env"), int):
            worker.session.close()
            raise LostError(f"the header does not load: {str(answer)[:200]}")
        worker.header, worker.env = header, answer["env"]
        return worker

    def _ask(
        self, worker: _Worker, command: dict[str, Any], wall_s: float
    ) -> dict[str, Any] | Check:
        frame = worker.session.exchange(
            json.dumps(command).encode(), wall_s=wall_s, max_bytes=_MAX_BYTES
        )
        if frame is not None:
            answer = json.loads(frame)
            if not isinstance(answer, dict):
                raise LostError("the REPL's answer is no object")
            return answer
        result = worker.session.wait(grace_s=0.2)
        names = {
            Status.MEMORY: "memory",
            Status.WALL: "timeout",
            Status.CPU: "timeout",
            Status.OUTPUT: "output",
        }
        if result.status in names:
            return Check((), names[result.status], detail=f"the {names[result.status]} limit")
        raise LostError(f"the REPL ended: {result.status} {result.detail}")


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
