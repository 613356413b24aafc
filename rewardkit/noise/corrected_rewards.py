"""Verdicts of a noisy verifier as rewards: unbiased by backward, weighted by forward correction."""

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.noise.channel import Channel
from rewardkit.noise.rates import Rates

__all__ = [
    "MIN_J",
    "Scores",
    "check_length",
    "correct_backward",
    "correct_forward",
    "rates_of_scores",
]

Scores: TypeAlias = Iterable[float | None]
"""0/1 verdicts in any iterable, an array too; None or NaN is an abstention."""

MIN_J = 0.1
"""The smallest J that is divided by: a correction multiplies the noise by 1 / J."""


def correct_backward(
    scores: Scores,
    channel: Rates | Channel,
    *,
    strata: Sequence[str] | None = None,
    min_j: float = MIN_J,
) -> list[float | None]:
    """Returns unbiased estimates of the true rewards: (score - rho0) / (1 - rho0 - rho1).

    >>> correct_backward([1, 0, None], Rates.exact(0.25, 0.25))
    [1.5, -0.5, None]

    Args:
        scores: (B,), each 0, 1, or None for an abstention, which stays None.
        channel: the verifier's rates.
        strata: (B,) which of the channel's strata each belongs to; None for its overall rates.
        min_j: the smallest J = 1 - rho0 - rho1 to divide by; the correction multiplies the noise
            by 1 / J.

    Raises:
        ConfigError: a score is not 0 or 1, J is too small or may be 0, or lengths differ.
    """
    decided = _decided(scores)
    return [
        None if score is None else (score - rates.rho0.value) / rates.j
        for score, rates in zip(
            decided, rates_of_scores(channel, strata, len(decided), min_j), strict=True
        )
    ]


def correct_forward(
    scores: Scores,
    channel: Rates | Channel,
    *,
    strata: Sequence[str] | None = None,
    min_j: float = MIN_J,
) -> list[float | None]:
    """Returns forward weights: score - (1 - rho1), so rho1 if accepted and rho1 - 1 if rejected.

    Their mean is 0 over right rollouts and -J over wrong ones, so the gradient they weigh is J
    times the clean one. Only rho1 enters. They must not be centred.

    >>> [round(w, 2) for w in correct_forward([1, 0], Rates.exact(0.0, 0.2))]
    [0.2, -0.8]

    Raises:
        ConfigError: as `correct_backward`.
    """
    decided = _decided(scores)
    return [
        None if score is None else score - (1.0 - rates.rho1.value)
        for score, rates in zip(
            decided, rates_of_scores(channel, strata, len(decided), min_j), strict=True
        )
    ]


def _decided(scores: Scores) -> list[float | None]:
    decided: list[float | None] = []
    for score in scores:
        number = None if score is None or math.isnan(score) else float(score)
        if number not in (None, 0.0, 1.0):
            raise ConfigError(
                f"a noisy channel is one of 0/1 verdicts, and a score is {number:g}: decide first "
                "from which partial credit on a completion counts as accepted"
            )
        decided.append(number)
    return decided


def rates_of_scores(
    channel: Rates | Channel, strata: Sequence[str] | None, length: int, min_j: float
) -> list[Rates]:
    """Returns each score's rates, after checking that all of them can be inverted.

    Raises:
        ConfigError: a J is too small or may be 0, or the strata do not fit.
    """
    if strata is None:
        rates = channel.rates if isinstance(channel, Channel) else channel
        _check_invertible(rates, "all rows", min_j)
        return [rates] * length
    if not isinstance(channel, Channel) or not channel.strata:
        raise ConfigError("strata are given, and the channel has no rates by stratum")
    names = list(strata)
    check_length("strata", len(names), length)
    by_name = {name: channel.rates_for(name) for name in dict.fromkeys(names)}
    for name, rates in by_name.items():
        _check_invertible(rates, f"stratum {name!r}", min_j)
    return [by_name[name] for name in names]


def _check_invertible(rates: Rates, where: str, min_j: float) -> None:
    if rates.j < min_j or rates.j_low <= 0:
        raise ConfigError(
            f"{where}: J = 1 - rho0 - rho1 is {rates.j:.3f} and may be {rates.j_low:.3f}. Below "
            f"{min_j:g} a correction multiplies the noise by more than {1 / min_j:g}, and at 0 or "
            "less it would learn the opposite. Label more rows, or mend the verifier."
        )


def check_length(name: str, found: int, wanted: int) -> None:
    """Raises ConfigError where a column has another length than the scores."""
    if found != wanted:
        raise ConfigError(f"{name} has {found} entries for {wanted} scores")
