"""Standard streams of a program that is checked from another process.

What it prints travels with its next reply, and what it reads it asks for: so checks that catch
output, or put something in place of `input` or standard input, work as in one process.
"""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Shown", "share_streams"]

_SHOWN_BYTES = 1 << 20


def share_streams(call_back: Callable[..., Any]) -> dict[str, "Shown"]:
    """Replaces the process's streams; returns what keeps its output, by the key in a reply.

    Args:
        call_back: asks the checks: what, an unused number, arguments, keywords.
    """
    shown = {"o": Shown(1), "e": Shown(2)}
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            stream,  # type: ignore[type-var]
            "utf-8",
            "backslashreplace",
            newline="",
            write_through=True,
        )
        for stream in shown.values()
    )
    sys.stdin = _Asked(call_back)
    builtins.input = lambda prompt="", /: str(call_back("input", 0, [str(prompt)], {}))
    return shown


class Shown(io.BufferedIOBase):
    """Keeps what is printed, up to a bound, until the next reply takes it along."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.kept = bytearray()

    def writable(self) -> bool:
        """True, as for any file that is written."""
        return True

    def fileno(self) -> int:
        """Returns the descriptor whose place it takes."""
        return self.descriptor

    def write(self, data: Any) -> int:
        """Takes all of `data` and keeps what fits."""
        view = bytes(data)
        self.kept += view[: _SHOWN_BYTES - len(self.kept)]
        return len(view)

    def take(self) -> str:
        """Returns what was printed since the last time."""
        text = self.kept.decode("utf-8", "replace")
        self.kept.clear()
        return text


class _Asked(io.TextIOBase):
    """Standard input that the checks have in hand."""

    def __init__(self, call_back: Callable[..., Any]) -> None:
        self.call_back = call_back

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        return str(self.call_back("readline", 0, [-1 if size is None else size], {}))

    def read(self, size: int | None = -1, /) -> str:
        return str(self.call_back("read", 0, [-1 if size is None else size], {}))
