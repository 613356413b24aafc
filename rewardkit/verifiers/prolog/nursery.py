"""Sandboxes that are kept, in each of which a warm Prolog is forked anew for every program.

A sandbox costs several times what a fork in it does. Programs that are graded one after another may
share one: each has a process of its own, with limits of its own and nothing open but its channel.
"""

import json
import math
import os
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rewardkit.sandbox import Job, Limits, Sandbox, Session
from rewardkit.sandbox.job import MEBIBYTE

if TYPE_CHECKING:
    from rewardkit.verifiers.prolog.engine import RunLimits

__all__ = ["Kept", "Nursery", "read_event"]

_SERVE = "rewardkit.verifiers.prolog._inside.runner:serve_many"
_PARENT_BYTES = 64 * MEBIBYTE
"""What the parent in the sandbox holds, beside the program's process."""
_MAX_USES = 256
_MAX_AGE_S = 3600.0
_LIFE_S = 86_000.0
_LEAVING_S = 10.0
_GONE_BYTES = 4096
_AHEAD = 2
"""Sandboxes at least, so that one can fork its next process while another is in use."""


@dataclass(slots=True)
class Kept:
    """One sandbox, in use by one thread or idle."""

    nursery: "Nursery"
    session: Session
    uses: int = 0
    began: float = field(default_factory=time.monotonic)
    leaving: bool = False
    """Whether a process of it has yet to say that it is gone."""


@dataclass(slots=True)
class _Idle:
    owner: int = field(default_factory=os.getpid)
    kept: deque[Kept] = field(default_factory=deque)

    def close(self) -> None:
        while self.owner == os.getpid() and self.kept:
            self.kept.popleft().session.close()


class Nursery:
    """Hands out processes in kept sandboxes. Safe to use from threads and in forked children."""

    def __init__(self, sandbox: Sandbox, limits: "RunLimits") -> None:
        """Says what programs may use; starts nothing."""
        self._sandbox = sandbox
        self._job = Job(
            entry=_SERVE,
            arguments=(math.ceil(limits.timeout_s), limits.memory_bytes),
            limits=Limits(
                cpu_s=int(_LIFE_S),
                wall_s=_LIFE_S,
                memory_bytes=limits.memory_bytes + _PARENT_BYTES,
                output_bytes=1,
                processes=16,
            ),
        )
        self._reset()

    def take(self) -> Kept:
        """Returns a sandbox whose next process awaits a program.

        Raises:
            OSError: the fork server died; a new call starts another.
            EngineMissingError: no tier of isolation works on this machine.
        """
        while (kept := self._oldest()) is not None:
            if not kept.leaving or self._has_left(kept):
                kept.session.begin_anew()
                return kept
            kept.session.close()
        session = self._sandbox.start(self._job, channel=True, discard_output=True)
        return Kept(self, session)

    def give_back(self, kept: Kept) -> None:
        """Keeps a sandbox whose last process has ended, or was asked to."""
        kept.uses += 1
        old = kept.uses >= _MAX_USES or time.monotonic() - kept.began > _MAX_AGE_S
        with self._lock:
            if not old and self._idle.owner == os.getpid():
                self._idle.kept.append(kept)
                return
        kept.session.close()

    def close(self) -> None:
        """Ends the sandboxes that are not in use. Later ones are started anew."""
        with self._lock:
            self._idle.close()

    def _oldest(self) -> Kept | None:
        if self._idle.owner != os.getpid():
            self._reset()
        with self._lock:
            return self._idle.kept.popleft() if len(self._idle.kept) >= _AHEAD else None

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._idle = _Idle()
        self._finalizer = weakref.finalize(self, self._idle.close)

    def _has_left(self, kept: Kept) -> bool:
        frame = kept.session.answer(wall_s=_LEAVING_S, max_bytes=_GONE_BYTES)
        kept.leaving = False
        return frame is not None and read_event(frame).get("k") == "gone"


def read_event(frame: bytes) -> dict[str, Any]:
    """Returns the event in a frame; one of the kind "unreadable" if there is none."""
    try:
        event = json.loads(frame)
    except (ValueError, RecursionError) as error:
        return {"k": "unreadable", "v": str(error)[:200]}
    return event if isinstance(event, dict) else {"k": "unreadable", "v": ""}
