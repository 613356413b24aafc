"""Rates of several strata together: do they differ, and what each is worth beside the others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.noise._special import chi2_tail, expit, normal_quantile
from rewardkit.noise.counts import Audit
from rewardkit.noise.rates import Estimate, LogitEstimate, Rates, logit_rates

__all__ = ["Spread", "measure_spread", "pool_partially"]


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a rate differs between strata, on the logit scale."""

    mean: float
    """The mean over strata, weighted by what is known of each."""
    variance: float
    """tau^2: how much the true rates vary; 0 where chance explains all."""
    q: float
    """Cochran's Q: chi-squared with one degree less than there are strata, if all rates are one."""
    p_value: float
    """How often chance alone makes Q as large."""


def measure_spread(estimates: Sequence[LogitEstimate]) -> Spread:
    """Returns how far a rate differs between strata.

    Source: Cochran 1954 for Q; DerSimonian and Laird 1986 for tau^2.

    Raises:
        ConfigError: there are fewer than two strata.
    """
    if len(estimates) < 2:
        raise ConfigError("rates of at least two strata can differ")
    weights = [1 / one.variance for one in estimates]
    total = sum(weights)
    mean = sum(w * one.centre for w, one in zip(weights, estimates, strict=True)) / total
    q = sum(w * (one.centre - mean) ** 2 for w, one in zip(weights, estimates, strict=True))
    degrees = len(estimates) - 1
    spare = total - sum(w * w for w in weights) / total
    tau2 = max((q - degrees) / spare, 0.0)
    wider = [1 / (one.variance + tau2) for one in estimates]
    centre = sum(w * one.centre for w, one in zip(wider, estimates, strict=True)) / sum(wider)
    return Spread(centre, tau2, q, chi2_tail(q, degrees))


def pool_partially(audits: Mapping[str, Audit], *, confidence: float = 0.95) -> dict[str, Rates]:
    """Returns each stratum's rates, drawn towards their common mean as far as chance suggests.

    A stratum with many labels keeps its own rate; one with few borrows from the others. With
    weights B = v / (v + tau^2) on the logit scale the rate is (1 - B) own + B mean, its variance
    (1 - B) v + B^2 var(mean). Source: Morris 1983, "Parametric empirical Bayes inference".

    Args:
        audits: by stratum; each may be small, and may lack right or wrong rows.
        confidence: of the intervals, in (0, 1).

    Raises:
        ConfigError: there are fewer than two strata.
    """
    z = normal_quantile(confidence)
    both = [logit_rates(audit) for audit in audits.values()]
    rho0 = _shrink([pair[0] for pair in both], z)
    rho1 = _shrink([pair[1] for pair in both], z)
    return {
        name: Rates(fp, fn, audit)
        for (name, audit), fp, fn in zip(audits.items(), rho0, rho1, strict=True)
    }


def _shrink(estimates: Sequence[LogitEstimate], z: float) -> list[Estimate]:
    spread = measure_spread(estimates)
    of_mean = 1 / sum(1 / (one.variance + spread.variance) for one in estimates)
    shrunk = []
    for one in estimates:
        share = one.variance / (one.variance + spread.variance)
        centre = (1 - share) * one.centre + share * spread.mean
        half = z * math.sqrt((1 - share) * one.variance + share**2 * of_mean)
        shrunk.append(Estimate(*(expit(centre + step) for step in (0.0, -half, half))))
    return shrunk
