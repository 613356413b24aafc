"""How much was not seen: kinds of holes that the search has not met, by those it has met once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.noise import Interval

__all__ = ["Unseen", "estimate_unseen"]


@dataclass(frozen=True, slots=True)
class Unseen:
    """An estimate of the holes of the tried sorts that were not met."""

    seen: int
    """Different tricks that were paid."""
    kinds: float
    """Chao's lower bound of how many there are."""
    next_new: float
    """Good-Turing: the chance that the next attempt meets one that was not met before."""
    interval: Interval
    """95 % interval of `next_new`."""


def estimate_unseen(hits: Mapping[str, int], attempts: int) -> Unseen:
    """Returns the estimate from how often each trick was paid.

    `next_new` is f1/n (Good 1953), with an interval of half-width sqrt((f1 + 2 f2)/n) z / sqrt(n)
    around it (Esty 1983). `kinds` is S + (n-1)/n f1 (f1-1) / (2 (f2+1)), the bias-corrected form of
    Chao 1984. f1 and f2 are the numbers of tricks that were paid once and twice in n attempts.

    Args:
        hits: by trick, attempts that were paid.
        attempts: how many were made in all.

    Raises:
        ConfigError: there were fewer attempts than hits.

    >>> estimate_unseen({"a": 1, "b": 1, "c": 2}, 100).next_new
    0.02
    """
    paid = [count for count in hits.values() if count > 0]
    if attempts < sum(paid):
        raise ConfigError(f"{sum(paid)} hits in {attempts} attempts cannot be")
    if attempts == 0:
        return Unseen(0, 0.0, 1.0, Interval(0.0, 1.0))
    once, twice = paid.count(1), paid.count(2)
    rate = once / attempts
    # Nothing met once says little with few attempts: the rule of three bounds it then.
    half = 1.96 * math.sqrt(max(rate * (1 - rate) + 2 * twice / attempts, 0.0) / attempts)
    high = max(rate + half, 3 / attempts)
    kinds = len(paid) + (attempts - 1) / attempts * once * (once - 1) / (2 * (twice + 1))
    return Unseen(len(paid), kinds, rate, Interval(max(rate - half, 0.0), min(high, 1.0)))
