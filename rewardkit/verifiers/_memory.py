"""The memory of a verifier's workers: an option in bytes, as every verifier has it."""

from rewardkit.errors import ConfigError

__all__ = ["worker_mebibytes"]


def worker_mebibytes(memory_bytes: int) -> int:
    """Returns the whole MiB of a number of bytes, as `WorkerPool` takes them.

    Raises:
        ConfigError: it is less than 64 MiB, in which no worker starts.

    >>> worker_mebibytes(1 << 30)
    1024
    """
    if memory_bytes < 64 << 20:
        raise ConfigError(f"memory_bytes is at least {64 << 20:,}, not {memory_bytes!r}")
    return memory_bytes >> 20
