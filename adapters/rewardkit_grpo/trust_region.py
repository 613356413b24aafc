"""QUATRO's multipliers: how hard each prompt's policy is held to the one it started from."""

import math
from collections.abc import Hashable, Sequence

from rewardkit.errors import ConfigError

__all__ = ["trust_region_multiplier", "trust_region_multipliers"]

_SMALLEST, _LARGEST = 1e-3, 1e4


def trust_region_multiplier(advantages: Sequence[float], bound: float) -> float:
    """Returns the lam at which the best policy of a group is `bound` nats from the old one.

    The policy q(i) = exp(A_i / lam) / sum_j exp(A_j / lam) on the group's samples maximises
    E_q[A] - lam KL(q || uniform); KL falls with lam, so lam is found by bisection. It is held to
    [1e-3, 1e4]: where even all mass on the best samples stays inside the bound, lam is the least.

    Args:
        advantages: of one group.
        bound: in nats, above 0.

    Raises:
        ConfigError: the bound is not above 0.

    >>> round(trust_region_multiplier([1.0, -1.0], 0.02), 3)
    4.95
    """
    if not bound > 0:
        raise ConfigError(f"trust_region is above 0, not {bound!r}")
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    for _ in range(60):
        middle = (low + high) / 2
        if _divergence(advantages, math.exp(middle)) > bound:
            low = middle
        else:
            high = middle
    return math.exp(high)


def trust_region_multipliers(
    advantages: Sequence[float], groups: Sequence[Hashable], bound: float
) -> list[float]:
    """Returns each row's multiplier: that of its group.

    >>> trust_region_multipliers([1.0, 0.5, -1.0], ["a", "b", "a"], 0.02)[0] > 4
    True
    """
    members: dict[Hashable, list[float]] = {}
    for value, group in zip(advantages, groups, strict=True):
        members.setdefault(group, []).append(value)
    found = {group: trust_region_multiplier(own, bound) for group, own in members.items()}
    return [found[group] for group in groups]


def _divergence(advantages: Sequence[float], multiplier: float) -> float:
    top = max(advantages)
    powers = [math.exp((value - top) / multiplier) for value in advantages]
    total = math.fsum(powers)
    shares = [power / total for power in powers]
    return math.fsum(p * math.log(p * len(shares)) for p in shares if p > 0)
