"""The one protocol of everything that can check a Lean file."""

from dataclasses import dataclass
from typing import Protocol

from rewardkit.verifiers.lean.messages import Message

__all__ = ["Backend", "Check", "LostError", "Replay"]


class LostError(Exception):
    """The engine broke under a check: nothing is known about the file."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one run of Lean on one file gave."""

    messages: tuple[Message, ...]
    ended: str = "done"
    """`done`, or the limit that ended it: `timeout`, `memory`, `output`; or `crash`."""
    olean: bytes = b""
    """The compiled file; empty where there was an error, or the backend gives none."""
    detail: str = ""
    seconds: float = 0.0
    by_clock: bool = False
    """The limit was one on the clock, which runs for other work, too."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What the kernel said when it checked every declaration of a compiled file again."""

    ended: str
    """`accepted`, `refused`, or what ended it: `timeout`, `memory`, `output`, `crash`."""
    detail: str = ""


class Backend(Protocol):
    """Checks Lean files. Safe to use from threads."""

    @property
    def compiles(self) -> bool:
        """True if `check` gives compiled files, which an audit reads."""
        ...

    @property
    def core(self) -> bool:
        """True where only rewardkit's core library is there, and not Lean's own."""
        ...

    @property
    def key(self) -> str:
        """Names the toolchain and the library: verdicts of equal keys may be shared."""
        ...

    def check(self, text: str, *, fresh: bool = False, compiled: bool = False) -> Check:
        """Returns what Lean says about a file.

        Args:
            text: the whole file.
            fresh: use a sandbox that has seen no other file.
            compiled: give the compiled file, too.

        Raises:
            LostError: the engine broke, more than once.
            EngineMissingError: no engine, or no sandbox.
        """
        ...

    @property
    def replays(self) -> str:
        """Names the tool that `replay` uses; empty where there is none."""
        ...

    def replay(self, olean: bytes, statement: bytes, *, fresh: bool = False) -> Replay:
        """Returns what the kernel says to the declarations of a compiled file, all checked again.

        It runs in a process that never runs a submission.

        Args:
            olean: the compiled submission.
            statement: the compiled statement, for the tools that compare the two.
            fresh: use a sandbox that has seen no other file.

        Raises:
            LostError: the tool broke, or is none that is known: nothing is known about the file.
        """
        ...

    def close(self) -> None:
        """Stops what was started."""
        ...
