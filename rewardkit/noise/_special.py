"""The few special functions that exact intervals and tests need, without a numerical library."""

import math
from statistics import NormalDist

from rewardkit.errors import ConfigError

__all__ = ["beta_cdf", "beta_quantile", "chi2_tail", "expit", "normal_quantile"]

_TINY = 1e-300


def normal_quantile(confidence: float) -> float:
    """Returns z with P(|Z| <= z) = confidence for a standard normal Z.

    >>> round(normal_quantile(0.95), 6)
    1.959964

    Raises:
        ConfigError: the confidence is not strictly between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"a confidence is strictly between 0 and 1, as in 0.95, not {confidence}")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def expit(x: float) -> float:
    """Returns the rate whose logit is `x`; no overflow for any finite `x`."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Returns P(X <= x) for X ~ Beta(a, b): the regularised incomplete beta function.

    Source: the continued fraction of NIST DLMF 8.17.22, by the modified Lentz method.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges fast on the nearer side of the mean; the other is its complement.
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    # Some multiple of sqrt(max(a, b)) terms are needed: this is enough beyond 10^9 trials.
    for m in range(1, 200_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-15:
            break
    return value


def _away_from_zero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


def beta_quantile(share: float, a: float, b: float) -> float:
    """Returns the x with P(X <= x) = share for X ~ Beta(a, b), a and b above 0, to 1e-12."""
    low, high = 0.0, 1.0
    while high - low > 1e-13 * max(high, 1e-6):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def chi2_tail(x: float, degrees: int) -> float:
    """Returns P(X > x) for a chi-squared X with a whole number of degrees of freedom.

    Source: the finite sums for whole and half-whole orders, NIST DLMF 8.4.10 and 8.8.2.
    """
    half = x / 2
    if degrees % 2 == 0:
        tail = term = math.exp(-half)
        for k in range(1, degrees // 2):
            term *= half / k
            tail += term
        return tail
    tail = math.erfc(math.sqrt(half))
    term = math.sqrt(half / math.pi) * 2 * math.exp(-half)
    for k in range(degrees // 2):
        tail += term
        term *= half / (k + 1.5)
    return tail
