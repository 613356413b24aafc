"""Advantages for what a set of completions is worth: pass@k, max@k, and rewards not known for sure.

Each is exact for the draws at hand: a mean over all subsets of size k, in closed form where there
is one. Tensors and arrays give their own type back.
"""

import itertools
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Literal, TypeAlias

from rewardkit.advantages.arrays import Array, namespace
from rewardkit.errors import ConfigError

__all__ = ["SetFunction", "max_at_k", "max_at_k_advantages", "set_advantages"]

SetFunction: TypeAlias = Literal["max", "softmax", "mean"]
"""What a set of rewards is worth."""

_MAX_SUBSETS = 200_000


def max_at_k(rewards: Array, k: int) -> Array:
    """Returns the expected best reward of k of the n draws: pass@k where rewards are 0 or 1.

    sum_i C(i - 1, k - 1) r_(i) / C(n, k) over the rewards in rising order, which for 0 and 1 is
    1 - C(n - c, k) / C(n, k) (arXiv:2107.03374, equation 1; for numbers arXiv:2505.15201).

    Args:
        rewards: (n,).
        k: at most n.

    Returns:
        A scalar of the same type.
    """
    xp, n = namespace(rewards), _size(rewards, k)
    weights = [math.comb(i, k - 1) / math.comb(n, k) for i in range(n)]
    ordered = xp.sort(rewards) if xp.__name__ == "numpy" else xp.sort(rewards).values
    return (ordered * _like(xp, weights, rewards)).sum()


def max_at_k_advantages(rewards: Array, k: int) -> Array:
    """Returns (n,) coefficients whose policy gradient is that of `max_at_k`, without bias.

    A_i is the mean, over the sets T of k - 1 other draws, of max(T with i) - max(T). What is taken
    off does not depend on draw i: it is a baseline (as in PKPO, arXiv:2505.15201).
    The mean over i of k A_i grad log pi(i) has the gradient of max@k as its mean; A_i leaves the
    factor k to the learning rate, so that k = 1 gives r_i: the empty set is worth 0.

    Args:
        rewards: (n,) of one prompt's draws.
        k: at most n.

    Raises:
        ConfigError: k does not fit.
    """
    xp, n = namespace(rewards), _size(rewards, k)
    values = [float(value) for value in rewards]
    order = sorted(range(n), key=values.__getitem__)
    found = [0.0] * n
    for row in order:
        others = [values[other] for other in order if other != row]
        # Of the sets of k - 1 others, C(j, k - 2) have the j-th in rising order as their largest.
        share = math.comb(n - 1, k - 1)
        with_row = without = 0.0
        for j, value in enumerate(others):
            weight = math.comb(j, k - 2) / share if k >= 2 else 0.0
            with_row += weight * max(value, values[row])
            without += weight * value
        found[row] = values[row] if k == 1 else with_row - without
    return _like(xp, found, rewards)


def set_advantages(
    rewards: Array, *, k: int | None = None, worth: SetFunction = "max", temperature: float = 1.0
) -> Array:
    """Returns (n,) coefficients for a set of draws under rewards that are not known for sure.

    The objective is E_m E_S f(r_m(a) for a in S): m a draw of the reward function, S a set of k
    completions, f not linear, so that covering several possible rewards pays (arXiv:2606.03962;
    max and softmax are its two variants). The coefficient of completion i is the mean over m and
    over the sets of k with i of f(S) - f(S without i); the second term does not depend on i's draw,
    so the gradient keeps its mean. With one reward function and k = 1 it is the plain policy
    gradient.

    Args:
        rewards: (m, n): draws of the reward function by completions of one prompt.
        k: size of a set; None for n.
        worth: max; softmax, the sum of r weighted by softmax(r / temperature); or mean.
        temperature: of the softmax, above 0.

    Raises:
        ConfigError: the shape or k do not fit, or there would be more than 200,000 sets.
    """
    if len(rewards.shape) != 2:
        raise ConfigError(f"rewards are (reward functions, completions), not {rewards.shape}")
    if worth not in ("max", "softmax", "mean") or not temperature > 0:
        raise ConfigError("worth is 'max', 'softmax' or 'mean', and temperature is above 0")
    xp, n = namespace(rewards), int(rewards.shape[1])
    size = n if k is None else k
    _size(rewards[0], size)
    if worth == "max":
        rows = [max_at_k_advantages(row, size) for row in rewards]
        return sum(rows[1:], rows[0]) / len(rows)
    if math.comb(n - 1, size - 1) * n > _MAX_SUBSETS:
        raise ConfigError(f"more than {_MAX_SUBSETS:,} sets of {size}: give k=None, or a smaller k")
    found = [0.0] * n
    for row in [[float(value) for value in values] for values in rewards]:
        for i in range(n):
            others = [j for j in range(n) if j != i]
            sets = list(itertools.combinations(others, size - 1))
            gains = [
                _worth([row[i], *(row[j] for j in chosen)], worth, temperature)
                - _worth([row[j] for j in chosen], worth, temperature)
                for chosen in sets
            ]
            found[i] += math.fsum(gains) / len(gains) / int(rewards.shape[0])
    return _like(xp, found, rewards[0])


def _worth(values: Sequence[float], worth: SetFunction, temperature: float) -> float:
    if not values:
        return 0.0
    if worth == "mean":
        return math.fsum(values) / len(values)
    top = max(values)
    weights = [math.exp((value - top) / temperature) for value in values]
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


def _size(rewards: Array, k: int) -> int:
    if len(rewards.shape) != 1:
        raise ConfigError(f"rewards are (n,) of one prompt, not {rewards.shape}")
    n = int(rewards.shape[0])
    if not 1 <= k <= n:
        raise ConfigError(f"k is from 1 to the {n} completions, not {k}")
    return n


def _like(xp: ModuleType, values: Sequence[float], like: Array) -> Array:
    out = xp.zeros_like(like)
    for index, value in enumerate(values):
        out[index] = value
    return out
