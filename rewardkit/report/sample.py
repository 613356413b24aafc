"""A fair sample of a stream, of bounded size, that is the same at every run."""

import hashlib
import heapq
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Sample"]

T = TypeVar("T")


class Sample(Generic[T]):
    """Keeps the items of a stream whose keys have the smallest hashes.

    An item is only made when it is kept.

    >>> sample = Sample[int](2)
    >>> for number in range(100):
    ...     sample.offer(str(number), lambda: number)
    >>> len(sample.items())
    2
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[int, int, T]] = []
        self._offered = 0

    def offer(self, key: str, make: Callable[[], T]) -> None:
        """Keeps what `make` returns if the key's hash is among the smallest."""
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        rank = -int.from_bytes(digest, "big")
        self._offered += 1
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, (rank, self._offered, make()))
        elif rank > self._heap[0][0]:
            heapq.heapreplace(self._heap, (rank, self._offered, make()))

    def items(self) -> list[T]:
        """Returns what was kept, in the order of the stream."""
        return [item for _, _, item in sorted(self._heap, key=lambda kept: kept[1])]
