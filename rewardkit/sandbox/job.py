"""What runs in a sandbox, and under which limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewardkit.errors import ConfigError

__all__ = ["Job", "Limits"]

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use. Each limit ends the run with a status of its own.

    >>> Limits(cpu_s=2).wall_s
    20.0
    """

    cpu_s: int = 10
    """Processor seconds of each process, in whole seconds; holds however busy the machine is."""
    wall_s: float = 20.0
    """Seconds on the clock, for programs that sleep."""
    memory_bytes: int = 512 * MEBIBYTE
    """Data memory of each process (RLIMIT_DATA), and resident memory of all of them together."""
    output_bytes: int = 8 * MEBIBYTE
    """Standard output and standard error together; the run is ended when they pass it."""
    processes: int = 64
    """Processes and threads that exist at one time."""
    file_bytes: int = 64 * MEBIBYTE
    """Size of any one file."""
    open_files: int = 256
    """Descriptors of each process."""

    def __post_init__(self) -> None:
        for name in ("cpu_s", "memory_bytes", "output_bytes", "processes", "file_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name} is a whole number of at least 1, not {value!r}")
        if not 0 < self.wall_s < 86400:
            raise ConfigError(f"wall_s is between 0 and 86400 seconds, not {self.wall_s!r}")
        if not 16 <= self.open_files <= 4096:
            raise ConfigError(f"open_files is between 16 and 4096, not {self.open_files!r}")


def _environment() -> dict[str, str]:
    return {
        "HOME": "/tmp/box",  # noqa: S108
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": "/tmp",  # noqa: S108
        "USER": "user",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to run: an executable (`argv`), or Python in the warm interpreter (`argv` empty).

    Without `argv` and `entry`, the file `main.py` runs as `python main.py` would.
    """

    argv: tuple[str, ...] = ()
    """An absolute path of an executable inside the sandbox, and its arguments."""
    entry: str = ""
    """`module:function` of a module that the sandbox was built with; it runs in the fresh
    process."""
    arguments: tuple[str | int, ...] = ()
    """What `entry` is called with. Small: they pass through the fork server."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Relative path -> content, written into the working directory before the start."""
    executables: frozenset[str] = frozenset()
    """Those of `files` that get the execute bit."""
    stdin: bytes = b""
    """Standard input; a regular file to the program."""
    environment: Mapping[str, str] = field(default_factory=_environment)
    """The whole environment; nothing of the host's is added."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.argv and (self.entry or not self.argv[0].startswith("/")):
            raise ConfigError(f"argv begins with an absolute path and excludes entry: {self.argv}")
        for name in self.files:
            parts = name.split("/")
            if not name or "\0" in name or any(part in {"", ".", ".."} for part in parts):
                raise ConfigError(f"a file's name is a plain relative path, not {name!r}")
