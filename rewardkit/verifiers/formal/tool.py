"""A command-line checker in the sandbox."""

import json
import math
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.sandbox import Job, Limits, Sandbox, Status
from rewardkit.verifiers.formal.outcome import Finding, Outcome

__all__ = ["LostError", "Ran", "Tool"]

_INSIDE = "rewardkit.verifiers.formal._inside."
_COMMANDS = f"{_INSIDE}commands"
_MODULES = (f"{_INSIDE}frames", _COMMANDS)
_ATTEMPTS = 3
_MEBIBYTE = 1 << 20
_LIMITS = {
    Status.CPU: Outcome.TIMEOUT,
    Status.WALL: Outcome.TIMEOUT,
    Status.MEMORY: Outcome.MEMORY,
    Status.OUTPUT: Outcome.OUTPUT,
}
_SIGNALS = {-9: Outcome.TIMEOUT, -24: Outcome.TIMEOUT, -25: Outcome.OUTPUT}


class LostError(Exception):
    """The engine broke: nothing is known about the proof."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How one command ended."""

    code: int
    """Its exit code; negative for a signal."""
    stdout: str
    stderr: str

    @property
    def limit(self) -> Outcome | None:
        """The limit that ended it, if one did."""
        return _SIGNALS.get(self.code)


class Tool:
    """Runs commands over files, all of a proof in one fresh sandbox. Picklable."""

    def __init__(
        self,
        *,
        timeout_s: float,
        memory_bytes: int,
        binds: tuple[str, ...] = (),
        isolation: str = "auto",
    ) -> None:
        """Says with which limits; starts nothing.

        Args:
            timeout_s: processor seconds of each command; on the clock all have twice that and ten.
            memory_bytes: memory of a check.
            binds: host paths that the commands read besides `/usr`.
            isolation: the sandbox's tier.

        Raises:
            ConfigError: a value outside its range.
        """
        if not 0 < timeout_s <= 3600:
            raise ConfigError(f"timeout_s is in (0, 3600], not {timeout_s!r}")
        if memory_bytes < 128 * _MEBIBYTE:
            raise ConfigError(f"memory_bytes is at least {128 * _MEBIBYTE}, not {memory_bytes!r}")
        self.timeout_s = timeout_s
        self.memory_bytes = memory_bytes
        self.sandbox = Sandbox(isolation=isolation, modules=_MODULES, binds=binds, spare=1)

    def run(self, files: dict[str, str], commands: list[list[str]]) -> list[Ran] | Finding:
        """Returns how each command ended, or the limit that ended them all.

        Args:
            files: name -> text, in the working directory.
            commands: words of each; one that fails is the last.

        Raises:
            LostError: the sandbox was lost again and again.
            EngineMissingError: no tier of isolation works on this machine.
        """
        lost = ""
        for _ in range(_ATTEMPTS):
            try:
                return self._attempt(files, commands)
            except (OSError, LostError) as error:
                lost = str(error)
        raise LostError(f"lost {_ATTEMPTS} times: {lost}")

    def close(self) -> None:
        """Ends the fork server."""
        self.sandbox.close()

    def _attempt(self, files: dict[str, str], commands: list[list[str]]) -> list[Ran] | Finding:
        wall_s = 2 * self.timeout_s + 10
        job = Job(
            entry=f"{_COMMANDS}:serve",
            files={name: text.encode("utf-8", "replace") for name, text in files.items()},
            limits=Limits(
                cpu_s=math.ceil(self.timeout_s),
                wall_s=wall_s + 10,
                memory_bytes=self.memory_bytes,
                processes=128,
            ),
        )
        request: dict[str, Any] = {"commands": commands, "output_bytes": 1 << 20}
        session = self.sandbox.start(job, channel=True, discard_output=True)
        try:
            frame = session.exchange(
                json.dumps(request).encode(), wall_s=wall_s, max_bytes=16 << 20
            )
            if frame is None:
                result = session.wait(grace_s=0.2)
                if result.status in _LIMITS:
                    return Finding(_LIMITS[result.status], f"the {result.status.value} limit")
                raise LostError(f"{result.status} {result.detail}")
            return [Ran(one["code"], one["stdout"], one["stderr"]) for one in json.loads(frame)]
        finally:
            session.close()
