"""The true pass rate behind noisy verdicts."""

import math

from rewardkit.errors import ConfigError
from rewardkit.noise._special import normal_quantile
from rewardkit.noise.counts import Audit
from rewardkit.noise.rates import Estimate, Rates

__all__ = ["prediction_powered_pass_rate", "rogan_gladen"]


def rogan_gladen(accepted: int, total: int, rates: Rates, *, confidence: float = 0.95) -> Estimate:
    """Returns the true pass rate, (q - rho0) / (1 - rho0 - rho1), with q the accept rate.

    The interval takes in what is not known of the two rates, by the delta method.
    Source: Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test".

    >>> round(rogan_gladen(450, 1000, Rates.exact(0.1, 0.2)).value, 3)
    0.5

    Args:
        accepted: rows that the verifier accepted.
        total: rows that it decided.
        rates: its error rates, with intervals of the same confidence.
        confidence: in (0, 1).

    Raises:
        ConfigError: the counts are impossible, or J may be 0.
    """
    z = normal_quantile(confidence)
    if not 0 <= accepted <= total or total == 0:
        raise ConfigError(f"{accepted} accepted rows of {total} cannot be")
    if rates.j_low <= 0:
        raise ConfigError(f"J may be {rates.j_low:.3f}: at 0 or below verdicts say nothing")
    share = accepted / total
    raw = (share - rates.rho0.value) / rates.j
    variance = (
        share * (1 - share) / total
        + ((1 - raw) * _deviation(rates.rho0, z)) ** 2
        + (raw * _deviation(rates.rho1, z)) ** 2
    )
    half = z * math.sqrt(variance) / rates.j
    return _clipped(raw, half)


def prediction_powered_pass_rate(
    audit: Audit, accepted: int, total: int, *, confidence: float = 0.95
) -> Estimate:
    """Returns the true pass rate from many verdicts and few labels, whatever the verdicts' errors.

    It is the labelled share of right rows, moved by how the labelled rows' verdicts differ from
    all: mean(y) + w (mean(v of all) - mean(v of labelled)), with the weight w that makes its
    variance smallest. No error rate is assumed to be the same anywhere.
    Source: Angelopoulos, Duchi and Zrnic 2023, "PPI++", arXiv 2311.01453.

    Args:
        audit: labelled rows, drawn uniformly.
        accepted: accepted rows among those without a label.
        total: rows without a label, with a verdict.
        confidence: in (0, 1).

    Raises:
        ConfigError: the audit is by verdict or has fewer than two labels, or a count is impossible.
    """
    z = normal_quantile(confidence)
    n = audit.labelled
    if audit.is_by_verdict or n < 2:
        raise ConfigError("prediction-powered inference needs a uniform audit of two rows or more")
    if not 0 <= accepted <= total or total == 0:
        raise ConfigError(f"{accepted} accepted rows of {total} cannot be")
    right, said, all_said = audit.right / n, audit.accepted_labelled / n, accepted / total
    covariance = (audit.accepted_right / n - right * said) * n / (n - 1)
    pooled = (accepted + audit.accepted_labelled) / (total + n)
    spread = pooled * (1 - pooled)
    weight = min(max(covariance / (spread * (1 + n / total)), 0.0), 1.0) if spread else 0.0
    value = right + weight * (all_said - said)
    residual = (
        right * (1 - right)
        + weight**2 * said * (1 - said)
        - 2 * weight * (audit.accepted_right / n - right * said)
    )
    variance = residual / n + weight**2 * all_said * (1 - all_said) / total
    return _clipped(value, z * math.sqrt(max(variance, 0.0)))


def _deviation(one: Estimate, z: float) -> float:
    return (one.high - one.low) / (2 * z)


def _clipped(value: float, half: float) -> Estimate:
    low, middle, high = (min(max(x, 0.0), 1.0) for x in (value - half, value, value + half))
    return Estimate(middle, low, high)
