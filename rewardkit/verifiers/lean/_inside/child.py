"""A fork of a worker: its text in, its output and its end out.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import Any

__all__ = ["Child", "feed", "watch"]

_CHUNK = 1 << 16


@dataclass(slots=True)
class Child:
    """A fork that waits for the file's text."""

    process: int
    folder: str
    orders: dict[str, Any]
    """What it was started for."""
    text: int
    """Where it reads the text."""
    out: int
    err: int


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
    if full or late:
        os.killpg(child.process, signal.SIGKILL)
    _, status, usage = os.wait4(child.process, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.process, signal.SIGKILL)  # what it started and left behind
    for descriptor in waiting:
        os.close(descriptor)
    limit = int(request["output_bytes"])
    return {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "stdout": bytes(captured[child.out][:limit]).decode("utf-8", "replace"),
        "stderr": bytes(captured[child.err][:limit]).decode("utf-8", "replace"),
        "full": full,
        "late": late,
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
