"""Rates of several strata together: do they differ, and what each is worth beside the others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.noise._special import chi2_tail, expit, normal_quantile
from rewardkit.noise.counts import Audit
from rewardkit.noise.rates import Estimate, LogitEstimate, Rates, logit_rates

__all__ = ["Spread", "known_logits", "measure_spread", "pool_partially"]


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


def known_logits(audits: Sequence[Audit]) -> tuple[list[LogitEstimate | None], ...]:
    """Returns rho0 and rho1 of each audit on the logit scale.

    None stands where no row of the rate's truth is labelled: the halves that are added to counts
    would make a rate of nothing.
    """
    both = [logit_rates(audit) for audit in audits]
    rho0 = [pair[0] if audit.wrong else None for pair, audit in zip(both, audits, strict=True)]
    rho1 = [pair[1] if audit.right else None for pair, audit in zip(both, audits, strict=True)]
    return rho0, rho1


def pool_partially(audits: Mapping[str, Audit], *, confidence: float = 0.95) -> dict[str, Rates]:
    """Returns each stratum's rates, drawn towards their common mean as far as chance suggests.

    A stratum with many labels keeps its own rate; one with few borrows from the others, and one
    without gets the mean, with the spread between strata as its doubt. With weights
    B = v / (v + tau^2) on the logit scale the rate is (1 - B) own + B mean, its variance
    (1 - B) v + B^2 var(mean). Source: Morris 1983, "Parametric empirical Bayes inference".

    Args:
        audits: by stratum; each may be small, and may lack right or wrong rows.
        confidence: of the intervals, in (0, 1).

    Raises:
        ConfigError: no stratum has right rows, or none has wrong ones.
    """
    z = normal_quantile(confidence)
    rho0, rho1 = (_shrink(column, z) for column in known_logits(list(audits.values())))
    return {
        name: Rates(fp, fn, audit)
        for (name, audit), fp, fn in zip(audits.items(), rho0, rho1, strict=True)
    }


def _shrink(estimates: Sequence[LogitEstimate | None], z: float) -> list[Estimate]:
    known = [one for one in estimates if one is not None]
    if not known:
        raise ConfigError("no stratum has a labelled row of each truth: label more rows")
    if len(known) == 1:
        mean, tau2, of_mean = known[0].centre, 0.0, known[0].variance
    else:
        spread = measure_spread(known)
        mean, tau2 = spread.mean, spread.variance
        of_mean = 1 / sum(1 / (one.variance + tau2) for one in known)
    shrunk = []
    for one in estimates:
        if one is None:
            centre, variance = mean, tau2 + of_mean
        else:
            share = one.variance / (one.variance + tau2)
            centre = (1 - share) * one.centre + share * mean
            variance = (1 - share) * one.variance + share**2 * of_mean
        half = z * math.sqrt(variance)
        shrunk.append(Estimate(*(expit(centre + step) for step in (0.0, -half, half))))
    return shrunk
