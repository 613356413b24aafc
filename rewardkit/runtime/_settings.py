"""The settings of a pool, as they travel to its fork server."""

from dataclasses import dataclass

__all__ = ["PoolSettings"]


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What `WorkerPool` was built with; its docstring says what each field means."""

    preload: tuple[str, ...]
    memory_mb: int | None
    max_tasks: int
    max_result_bytes: int
    start_timeout_s: float
    initializer: bytes
    """A pickled pair of the function or None, and its arguments."""


@dataclass(frozen=True, slots=True)
class PoolState:
    """The workers of a pool at one moment."""

    alive: int
    busy: int
    most: int
