"""Verdicts that are known already."""

import threading
from collections import OrderedDict
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.verdict import Verdict

__all__ = ["VerdictCache"]


class VerdictCache:
    """The verdicts of the last `size` different proofs. Abstentions are never kept."""

    def __init__(self, size: int = 4096) -> None:
        """Makes an empty cache.

        Args:
            size: verdicts that it holds; 0 for none.

        Raises:
            ConfigError: a negative size.
        """
        if type(size) is not int or size < 0:
            raise ConfigError(f"cache is a number of verdicts of at least 0, not {size!r}")
        self.size = size
        self.hits = 0
        self._reset()

    def find(self, key: tuple[str, ...]) -> Verdict | None:
        """Returns the verdict of a key, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                self.hits += 1
            return found

    def keep(self, key: tuple[str, ...], verdict: Verdict) -> None:
        """Keeps a verdict, unless it abstains or ran into a limit of time."""
        if verdict.abstained or verdict.reason.value == "timeout" or not self.size:
            return
        with self._lock:
            self._kept[key] = verdict
            while len(self._kept) > self.size:
                self._kept.popitem(last=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"size": self.size, "hits": 0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.size, self.hits = state["size"], 0
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, ...], Verdict] = OrderedDict()
