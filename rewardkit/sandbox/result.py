"""How a sandboxed run ended."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Result", "Status"]


class Status(StrEnum):
    """Why a run ended. Only the first two are the program's own doing."""

    EXITED = "exited"
    """The main process returned an exit code."""
    SIGNALED = "signaled"
    """The main process died of a signal."""
    CPU = "cpu"
    """The processor limit."""
    WALL = "wall"
    """The limit on the clock."""
    MEMORY = "memory"
    """The memory limit of the whole tree."""
    OUTPUT = "output"
    """The output limit."""
    STOPPED = "stopped"
    """The caller ended it."""
    FAILED = "failed"
    """The sandbox could not do its work; nothing is known about the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one run left."""

    status: Status
    exit_code: int | None = None
    """0 to 255 if the status is EXITED."""
    signal: int | None = None
    """The signal's number if the status is SIGNALED."""
    stdout: bytes = b""
    stderr: bytes = b""
    """At most `output_bytes` together."""
    cpu_s: float = 0.0
    """Processor seconds of the whole tree."""
    wall_s: float = 0.0
    """Seconds from the job's hand-over to its result."""
    max_rss_bytes: int = 0
    """Largest resident size of the main process."""
    denied: tuple[str, ...] = ()
    """Names of system calls that were refused."""
    isolation: str = ""
    """The tier that contained it."""
    detail: str = ""
    """For FAILED: which step failed."""

    @property
    def succeeded(self) -> bool:
        """True if the program returned 0."""
        return self.status is Status.EXITED and self.exit_code == 0
