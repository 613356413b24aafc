"""A fork of a worker: its text in, its output and its end out.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import contextlib
import os
import resource
import select
import signal
import struct
import time
from dataclasses import dataclass
from typing import Any

__all__ = ["Child", "feed", "reap", "say_end", "watch"]

_CHUNK = 1 << 16
_END = struct.Struct("<iQ")


@dataclass(slots=True)
class Child:
    """A fork that waits for the file's text."""

    process: int
    """Its number; 0 once its end was awaited."""
    folder: str
    orders: dict[str, Any]
    """What it was started for."""
    text: int
    """Where it reads the text."""
    out: int
    err: int
    end: int
    """Where a fork says how it ended, before it has taken itself apart; that takes a while."""


def say_end(code: int) -> None:
    """Says in a fork, on descriptor 3, that it is done, and closes its output."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    os.write(3, _END.pack(code, peak << 10))
    os.closerange(1, 4)


def reap(child: Child) -> None:
    """Ends what is left of a fork, and what it started and left behind."""
    if child.process:
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError):
                kill(child.process, signal.SIGKILL)
        os.waitpid(child.process, 0)
    os.close(child.end)


def watch(child: Child, text: bytes, request: dict[str, Any]) -> dict[str, Any]:
    """Gives a fork the rest of its text, and returns how it ended; see `worker.serve`."""
    deadline = time.monotonic() + float(request["wall_s"])
    poller = select.poll()
    captured: dict[int, bytearray] = {child.out: bytearray(), child.err: bytearray()}
    for descriptor in captured:
        poller.register(descriptor, select.POLLIN)
    waiting = {*captured}
    if text:
        poller.register(child.text, select.POLLOUT)
        waiting.add(child.text)
    full = late = False
    while waiting and not (full or late):
        left = deadline - time.monotonic()
        late = left <= 0
        for descriptor, _event in poller.poll(max(0, int(left * 1000) + 1)) if not late else ():
            if descriptor == child.text:
                text = feed(descriptor, text)
                over = not text
            else:
                data = os.read(descriptor, _CHUNK)
                captured[descriptor] += data
                full = full or sum(map(len, captured.values())) > request["output_bytes"]
                over = not data
            if over:
                waiting.discard(descriptor)
                poller.unregister(descriptor)
                os.close(descriptor)
    for descriptor in waiting:
        os.close(descriptor)
    limit = int(request["output_bytes"])
    return {
        **_ending(child, killed=full or late),
        "stdout": bytes(captured[child.out][:limit]).decode("utf-8", "replace"),
        "stderr": bytes(captured[child.err][:limit]).decode("utf-8", "replace"),
        "full": full,
        "late": late,
    }


def _ending(child: Child, *, killed: bool) -> dict[str, Any]:
    said = b"" if killed else os.read(child.end, _END.size)
    if len(said) == _END.size:
        code, peak = _END.unpack(said)
        return {"code": code, "signal": None, "rss": peak}
    if killed:
        os.killpg(child.process, signal.SIGKILL)
    _, status, usage = os.wait4(child.process, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.process, signal.SIGKILL)
    child.process = 0  # the number may soon be another's
    return {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "rss": usage.ru_maxrss << 10,
    }


def feed(descriptor: int, text: bytes) -> bytes:
    """Returns what of a text is left after one write; nothing if nobody reads it any more."""
    try:
        return text[os.write(descriptor, text) :] if text else b""
    except BlockingIOError:
        return text
    except BrokenPipeError:
        return b""
