"""What came of a task that ran in a worker."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

__all__ = ["Outcome", "OutcomeStatus"]

T = TypeVar("T")

MAX_DETAIL = 500
"""Characters of detail that an outcome keeps."""


class OutcomeStatus(StrEnum):
    """How a task ended."""

    OK = "ok"
    """The function returned; `value` holds what it returned."""
    TIMEOUT = "timeout"
    """The deadline passed, and the worker with all its children was killed."""
    CRASH = "crash"
    """The worker died: a signal, an exit, a killed machine part."""
    MEMORY = "memory"
    """The memory limit was reached."""
    ERROR = "error"
    """The function raised, or what it returned cannot travel back."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """The end of one task. It never raises for what the task did; the caller reads `status`.

    >>> Outcome(OutcomeStatus.OK, 4).ok
    True
    """

    status: OutcomeStatus
    value: T | None = None
    """What the function returned; None unless `status` is ok."""
    detail: str = ""
    """One line for a person, at most 500 characters; empty if `status` is ok."""
    seconds: float = 0.0
    """Wall time from the start of the task, without the wait for a free worker."""

    @property
    def ok(self) -> bool:
        """True if the function returned."""
        return self.status is OutcomeStatus.OK
