"""Errors that depend on the response: what no correction by rates mends.

Where a verifier errs more on answers of one kind, and the policy chooses the kind, the noisy
gradient points towards that kind. A correction needs the error to be independent of the response
given the truth (and the stratum), so here is a test of that on labelled rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Literal

from rewardkit.errors import ConfigError

__all__ = ["Dependence", "find_dependence"]


@dataclass(frozen=True, slots=True)
class Dependence:
    """How a rate differs between labelled rows with a feature and those without."""

    feature: str
    rate: Literal["rho0", "rho1"]
    with_feature: float
    """The error rate on rows that have the feature."""
    without_feature: float
    covariance: float
    """Of error and feature, over rows of this truth."""
    p_value: float
    """Fisher's exact test, corrected for how many were made (Holm)."""


def find_dependence(
    accepted: Sequence[bool], right: Sequence[bool], features: Mapping[str, Sequence[bool]]
) -> list[Dependence]:
    """Returns each feature and rate with its test, the least likely to be chance first.

    Args:
        accepted: (N,) the verifier's verdicts on labelled rows.
        right: (N,) the labels.
        features: by name, (N,) whether a row has it: a format, a length above the median, a phrase.

    Raises:
        ConfigError: lengths differ.
    """
    for name, column in {"right": right, **features}.items():
        if len(column) != len(accepted):
            raise ConfigError(f"{name} has {len(column)} entries for {len(accepted)} verdicts")
    found = []
    for feature, column in features.items():
        for truth in (False, True):
            rows = [
                (bool(a) != truth, bool(f))
                for a, r, f in zip(accepted, right, column, strict=True)
                if bool(r) == truth
            ]
            one = _test(feature, "rho1" if truth else "rho0", rows)
            if one is not None:
                found.append(one)
    return _holm(found)


def _test(
    feature: str, rate: Literal["rho0", "rho1"], rows: Sequence[tuple[bool, bool]]
) -> Dependence | None:
    having = [error for error, has in rows if has]
    lacking = [error for error, has in rows if not has]
    if not having or not lacking:
        return None
    n, errors = len(rows), sum(having) + sum(lacking)
    return Dependence(
        feature,
        rate,
        sum(having) / len(having),
        sum(lacking) / len(lacking),
        sum(having) / n - errors / n * len(having) / n,
        _fisher(sum(having), len(having), errors, n),
    )


def _fisher(hits: int, drawn: int, errors: int, total: int) -> float:
    """Returns the two-sided p-value: the tables that are no more likely than the one seen."""
    weights = {
        k: comb(errors, k) * comb(total - errors, drawn - k)
        for k in range(max(0, drawn - (total - errors)), min(drawn, errors) + 1)
    }
    extreme = sum(weight for weight in weights.values() if weight <= weights[hits])
    return extreme / comb(total, drawn)


def _holm(found: Sequence[Dependence]) -> list[Dependence]:
    corrected, floor = [], 0.0
    for i, one in enumerate(sorted(found, key=lambda one: one.p_value)):
        floor = max(floor, min(one.p_value * (len(found) - i), 1.0))
        corrected.append(replace(one, p_value=floor))
    return corrected
