"""Which runner grades what is called here: that of the innermost `with` block around the caller.

A module of its own below `verifier.py`, which asks it, and `runtime`, which fills it.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, cast

__all__ = ["ACTIVE", "Active", "on_runner", "outside_runners"]


_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Active:
    """A runner in whose block the caller is, and the deadline of that block."""

    runner: Any
    """A `rewardkit.runtime.Runner`."""
    until: float
    """On the clock of `time.monotonic`."""


ACTIVE: ContextVar[tuple[Active, ...]] = ContextVar("rewardkit_runners", default=())
"""The runners of the blocks around the caller, the innermost last; of its thread or task alone."""


@contextmanager
def outside_runners() -> Iterator[None]:
    """Has what is graded inside graded right here: a runner's own work must not come back to it."""
    before = ACTIVE.set(())
    try:
        yield
    finally:
        ACTIVE.reset(before)


def on_runner(verify_batch: _Function) -> _Function:
    """Returns a verifier's `verify_batch` that inside a runner's block grades on the runner."""
    if getattr(verify_batch, "_goes_to_runner", False):
        return verify_batch

    @functools.wraps(verify_batch)
    def redirected(self: Any, completions: Any, references: Any, /, **columns: Any) -> Any:  # noqa: ANN401 # typed by the cast
        active = ACTIVE.get()
        if not active:
            return verify_batch(self, completions, references, **columns)
        runner, until = active[-1].runner, active[-1].until
        return runner.verify_columns(self, completions, references, columns, until=until)

    redirected._goes_to_runner = True  # type: ignore[attr-defined]
    return cast("_Function", redirected)
