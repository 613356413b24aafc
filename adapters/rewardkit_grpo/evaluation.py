"""Evaluation: pass@k without bias."""

import math

from rewardkit.errors import ConfigError

__all__ = ["pass_at_k"]


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Returns the probability that one of k completions passes, estimated from more of them.

    1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv:2107.03374, equation 1): the mean over all
    subsets of k of the n samples, and so unbiased.

    Args:
        samples: n, at least k.
        passed: c of them passed.
        k: at least 1.

    Raises:
        ConfigError: the numbers do not fit each other.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not (1 <= k <= samples and 0 <= passed <= samples):
        raise ConfigError(f"pass@{k} of {passed} passed in {samples}: give 1 <= k <= samples")
    return 1 - math.comb(samples - passed, k) / math.comb(samples, k)
