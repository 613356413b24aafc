"""The host's side of the engine: a sandbox whose fork server holds SWI-Prolog, to be forked."""

import json
import math
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.sandbox import Job, Limits, Sandbox, Session, Status
from rewardkit.sandbox.job import MEBIBYTE
from rewardkit.verifiers.prolog._inside.location import find_library

__all__ = ["INSTALL", "Engine", "LostError", "RunLimits", "Talk"]

INSTALL = "apt-get install swi-prolog-nox"
_INSIDE = "rewardkit.verifiers.prolog._inside."
_MODULES = tuple(_INSIDE + name for name in ("location", "swipl", "runner"))
_SERVE = _INSIDE + "runner:serve"
_MAX_FRAME_BYTES = 16 << 20
_MAX_REQUESTS = 4


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
        self.sandbox = Sandbox(isolation=isolation, modules=_MODULES, spare=2)

    def talk(self, *, output_bytes: int = 0) -> "Talk":
        """Returns a sandbox of its own for the runs of one program; close it, or use `with`.

        Args:
            output_bytes: keep so much of what the program prints, and end it where it prints more;
                0 throws it away, however much it is.

        Raises:
            LostError: the fork server died; a new call starts another.
            EngineMissingError: no tier of isolation works on this machine.
        """
        limits = self.limits
        job = Job(
            entry=_SERVE,
            limits=Limits(
                cpu_s=math.ceil(limits.timeout_s),
                wall_s=min(86000.0, _MAX_REQUESTS * limits.wall_s),
                memory_bytes=limits.memory_bytes,
                output_bytes=output_bytes or 1,
                processes=16,
            ),
        )
        try:
            session = self.sandbox.start(job, channel=True, discard_output=not output_bytes)
            return Talk(session, limits)
        except OSError as error:
            raise LostError(str(error)) from error

    def close(self) -> None:
        """Ends the fork server. A later run starts another."""
        self.sandbox.close()


class Talk:
    """Requests about one program, answered one after the other by one sandbox."""

    def __init__(self, session: Session, limits: RunLimits) -> None:
        self.session = session
        self.limits = limits

    def request(self, **request: Any) -> list[dict[str, Any]]:
        """Returns the events of a run (see `_inside.runner.serve`); the last one is `end`.

        `end` has `how`: "done", or the `Status` with which the process ended before that.

        Raises:
            LostError: the sandbox died under it.
        """
        data = json.dumps({"inferences": self.limits.inferences, **request}).encode()
        wall_s = self.limits.wall_s
        self.session.post(data, wall_s=wall_s)
        events: list[dict[str, Any]] = []
        while not events or events[-1].get("k") != "end":
            frame = self.session.answer(wall_s=wall_s, max_bytes=_MAX_FRAME_BYTES)
            if frame is None:
                events.append(self._ending())
                break
            events.append(_read_event(frame))
        return events

    def output(self) -> str:
        """Returns what the program has printed, and ends the talk."""
        return self.session.wait(grace_s=1.0).stdout.decode("utf-8", "replace")

    def close(self) -> None:
        """Lets go of the sandbox; the fork server ends what is left of it."""
        self.session.close()

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ending(self) -> dict[str, Any]:
        result = self.session.wait(grace_s=0.2)
        if self.session.lost or result.status is Status.FAILED:
            raise LostError(result.detail or "the sandbox was lost")
        how = str(result.status)
        if (
            result.status is Status.SIGNALED
            and result.max_rss_bytes > self.limits.memory_bytes // 2
        ):
            how = "memory"  # the engine gives up where the system refuses it more
        return {
            "k": "end",
            "how": how,
            "signal": result.signal,
            "cpu_s": result.cpu_s,
            "rss": result.max_rss_bytes,
            "denied": list(result.denied),
        }


def _read_event(frame: bytes) -> dict[str, Any]:
    try:
        event = json.loads(frame)
    except (ValueError, RecursionError) as error:
        return {"k": "unreadable", "v": str(error)[:200]}
    return event if isinstance(event, dict) else {"k": "unreadable", "v": ""}
