"""What judging has cost so far, failed parses included."""

import threading
from collections import Counter

from rewardkit.verdict import Json
from rewardkit.verifiers.judge.parsing import Reply, Trouble

__all__ = ["Usage"]


class Usage:
    """Counters that any thread may raise.

    >>> usage = Usage(price_per_million=(1.0, 2.0))
    >>> usage.add_reply(Reply("x", prompt_tokens=500_000, completion_tokens=1_000_000), None)
    >>> usage.to_json()["cost"]
    2.5
    """

    def __init__(self, price_per_million: tuple[float, float] | None = None) -> None:
        self._price = price_per_million
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._troubles: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        """Raises a counter: `requests`, `retries`, `cache_hits`, `verdicts` and so on."""
        with self._lock:
            self._counts[name] += count

    def add_reply(self, reply: Reply, trouble: Trouble | None) -> None:
        """Books a reply that was paid for, whether it could be read or not."""
        with self._lock:
            self._counts["replies"] += 1
            self._counts["prompt_tokens"] += reply.prompt_tokens
            self._counts["completion_tokens"] += reply.completion_tokens
            if trouble is not None:
                self._troubles[trouble.value] += 1
                self._counts["unreadable_tokens"] += reply.prompt_tokens + reply.completion_tokens

    def add_failure(self, kind: str) -> None:
        """Books a request that brought no reply."""
        with self._lock:
            self._failures[kind] += 1

    def to_json(self) -> dict[str, Json]:
        """Returns the counters; `cost` is in the unit of the prices, None without prices."""
        with self._lock:
            counts = {name: self._counts[name] for name in _NAMES}
            cost = None
            if self._price is not None:
                cost = (
                    self._price[0] * counts["prompt_tokens"]
                    + self._price[1] * counts["completion_tokens"]
                ) / 1e6
            return {
                **counts,
                "cost": cost,
                "unreadable": dict(self._troubles),
                "failed_requests": dict(self._failures),
            }


_NAMES = (
    "verdicts",
    "abstentions",
    "gated",
    "requests",
    "retries",
    "replies",
    "cache_hits",
    "prompt_tokens",
    "completion_tokens",
    "unreadable_tokens",
)
