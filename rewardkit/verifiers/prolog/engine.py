"""The host's side of the engine: sandboxes in which a warm SWI-Prolog is forked."""

import json
import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.sandbox import Job, Limits, Sandbox, Session, Status
from rewardkit.sandbox.job import MEBIBYTE
from rewardkit.verifiers.prolog._inside.location import find_library
from rewardkit.verifiers.prolog.nursery import Kept, Nursery, read_event

__all__ = ["INSTALL", "Engine", "LostError", "RunLimits", "Talk"]

INSTALL = "apt-get install swi-prolog-nox"
_INSIDE = "rewardkit.verifiers.prolog._inside."
_MODULES = tuple(_INSIDE + name for name in ("location", "swipl", "runner"))
_SERVE = _INSIDE + "runner:serve"
_MAX_FRAME_BYTES = 16 << 20
_MAX_REQUESTS = 4
_LEAVING_S = 1.0
_FROM_OUTSIDE = (Status.MEMORY, Status.WALL, Status.OUTPUT)
"""How a run ends that its limits end, and neither its program nor a fault."""


class LostError(Exception):
    """The sandbox was lost under a run, which says nothing about the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What one run of a program (loading it, and all of its queries) may use."""

    inferences: int = 20_000_000
    """Logical inferences of loading, and of each query: the same on every machine."""
    timeout_s: float = 5.0
    """Processor seconds, rounded up to whole ones."""
    wall_s: float = 30.0
    """Seconds on the clock, for a program that waits."""
    memory_bytes: int = 256 * MEBIBYTE
    """Data memory of its process. The Prolog stacks have 64 MiB of it."""

    def __post_init__(self) -> None:
        if type(self.inferences) is not int or self.inferences < 1000:
            raise ConfigError(f"inferences is a whole number from 1000, not {self.inferences!r}")
        if not 0 < self.timeout_s <= 3600:
            raise ConfigError(f"timeout_s is in (0, 3600], not {self.timeout_s!r}")
        if not 0 < self.wall_s <= 7200:
            raise ConfigError(f"wall_s is in (0, 7200], not {self.wall_s!r}")
        if type(self.memory_bytes) is not int or self.memory_bytes < 128 * MEBIBYTE:
            raise ConfigError(
                f"memory_bytes is at least {128 * MEBIBYTE}, not {self.memory_bytes!r}"
            )


class Engine:
    """Runs Prolog programs, each in a fork of an engine that is already warm. Picklable."""

    def __init__(self, *, limits: RunLimits | None = None, isolation: str = "auto") -> None:
        """Says how programs are run; starts nothing.

        Raises:
            EngineMissingError: SWI-Prolog is not installed, or not as a shared library.
        """
        if not find_library():
            raise EngineMissingError("SWI-Prolog (swipl, libswipl in /usr or /usr/local)", INSTALL)
        self.limits = limits or RunLimits()
        self.sandbox = Sandbox(isolation=isolation, modules=_MODULES, spare=1)
        self._nursery = Nursery(self.sandbox, self.limits)

    def talk(self, *, output_bytes: int = 0) -> "Talk":
        """Returns a process of its own for the runs of one program; close it, or use `with`.

        Args:
            output_bytes: keep so much of what the program prints, and end it where it prints more,
                in a sandbox of its own; 0 throws it away, however much it is.

        Raises:
            LostError: the fork server died; a new call starts another.
            EngineMissingError: no tier of isolation works on this machine.
        """
        limits = self.limits
        try:
            if not output_bytes:
                kept = self._nursery.take()
                return Talk(kept.session, limits, kept=kept)
        except OSError as error:
            raise LostError(str(error)) from error
        job = Job(
            entry=_SERVE,
            limits=Limits(
                cpu_s=math.ceil(limits.timeout_s),
                wall_s=min(86000.0, _MAX_REQUESTS * limits.wall_s),
                memory_bytes=limits.memory_bytes,
                output_bytes=output_bytes,
                processes=16,
            ),
        )
        try:
            return Talk(self.sandbox.start(job, channel=True), limits)
        except OSError as error:
            raise LostError(str(error)) from error

    def close(self) -> None:
        """Ends the fork server. A later run starts another."""
        self._nursery.close()
        self.sandbox.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._nursery = Nursery(self.sandbox, self.limits)


class Talk:
    """Requests about one program, answered one after the other by one process."""

    def __init__(self, session: Session, limits: RunLimits, *, kept: Kept | None = None) -> None:
        """Speaks with a sandbox of its own, or with the next process of one that is kept."""
        self.session = session
        self.limits = limits
        self._kept = kept
        self._alive = True
        """Whether the program's process still takes requests."""
        self._waits = False
        """Whether a request has not come to its end."""

    def request(self, **request: Any) -> list[dict[str, Any]]:
        """Returns the events of a run (see `_inside.runner.serve`); the last one is `end`.

        `end` has `how`: "done", or the `Status` with which the process ended before that.

        Raises:
            LostError: the sandbox died under it.
        """
        data = json.dumps({"inferences": self.limits.inferences, **request}).encode()
        wall_s = self.limits.wall_s
        self._waits = True
        self.session.post(data, wall_s=wall_s)
        events: list[dict[str, Any]] = []
        while not events or events[-1].get("k") != "end":
            frame = self.session.answer(wall_s=wall_s, max_bytes=_MAX_FRAME_BYTES)
            event = self._ending() if frame is None else read_event(frame)
            if event.get("k") == "gone":
                self._alive = False
                event = self._gone(event)
            events.append(event)
        self._waits = False
        return events

    def output(self) -> str:
        """Returns what the program has printed, and ends the talk."""
        return self.session.wait(grace_s=1.0).stdout.decode("utf-8", "replace")

    def close(self) -> None:
        """Lets go of the process; what is left of it is ended."""
        kept, self._kept = self._kept, None
        if kept is None or self._waits or self.session.ended:
            self.session.close()
            return
        if self._alive:
            # A frame without content: the process leaves, and its parent says that it has.
            self.session.post(b"", wall_s=_LEAVING_S)
            kept.leaving = True
        kept.nursery.give_back(kept)

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ending(self) -> dict[str, Any]:
        result = self.session.wait(grace_s=0.2)
        lost = self.session.lost or result.status is Status.FAILED
        # Where the sandbox is kept, its own process is the parent, which only a fault can end.
        if lost or (self._kept is not None and result.status not in _FROM_OUTSIDE):
            if self._kept is not None:
                self._kept.nursery.close()  # what ended this one may have ended those that wait
            raise LostError(result.detail or "the sandbox was lost")
        return {
            "k": "end",
            "how": self._how(result.status, result.max_rss_bytes),
            "signal": result.signal,
            "cpu_s": result.cpu_s,
            "rss": result.max_rss_bytes,
            "denied": list(result.denied),
        }

    def _gone(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the end of a process that its parent in the sandbox has seen."""
        number, cpu_s, rss = event.get("signal"), float(event["cpu_s"]), int(event["rss"])
        spent = cpu_s >= math.ceil(self.limits.timeout_s)
        status = Status.EXITED if number is None else Status.SIGNALED
        if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
            status = Status.CPU
        how = self._how(status, rss)
        return {"k": "end", "how": how, "signal": number, "cpu_s": cpu_s, "rss": rss}

    def _how(self, status: Status, rss: int) -> str:
        if status is Status.SIGNALED and rss > self.limits.memory_bytes // 2:
            return "memory"  # the engine gives up where the system refuses it more
        return str(status)
