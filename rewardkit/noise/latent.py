"""Error rates of several verifiers without labels: from how they agree and differ.

All of it assumes that the verifiers err independently given the truth. They rarely do: what is hard
for one is hard for the other, and then the rates are biased, however much data there is.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.noise._special import normal_quantile
from rewardkit.noise.rates import Estimate, Rates

__all__ = ["LatentRates", "Recapture", "capture_recapture", "rates_without_labels"]

INDEPENDENCE = (
    "without labels the verifiers are taken to err independently; where what is hard for one is "
    "hard for the other, rates are biased, and more data does not help: label some rows"
)
_STEPS = 5000
_CLOSE, _NEAR = 1e-10, 1e-7
"""When the search ends: the largest step of a rate, for the estimate and for its resamples."""

_Pattern: TypeAlias = tuple[bool | None, ...]
_Cells: TypeAlias = dict[tuple[Hashable, _Pattern], float]


@dataclass(frozen=True, slots=True)
class LatentRates:
    """What the votes of several verifiers say of each, and of the truth."""

    verifiers: tuple[Rates, ...]
    """In the order of the votes."""
    pass_rates: dict[Hashable, float]
    """The true pass rate of each group."""
    warnings: tuple[str, ...]
    """The first is always that independence is assumed."""


@dataclass(frozen=True, slots=True)
class _Model:
    pass_rates: dict[Hashable, float]
    rho0: tuple[float, ...]
    rho1: tuple[float, ...]


def rates_without_labels(
    votes: Iterable[Sequence[bool | None]],
    *,
    groups: Iterable[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> LatentRates:
    """Returns each verifier's rates, by maximum likelihood of a two-class model.

    Three verifiers determine it (Dawid and Skene 1979). Two do if there are two or more groups of
    rows with different pass rates and the same error rates (Hui and Walter 1980).

    Args:
        votes: for each row one verdict a verifier: accepted, rejected, or None for an abstention.
        groups: for each row the group whose pass rate it shares; None for one group.
        confidence: of the bootstrap intervals, in (0, 1). They do not cover dependence.
        resamples: of the bootstrap, at least 20; an interval of confidence c needs 2 / (1 - c).
        seed: of the bootstrap.

    Raises:
        ConfigError: the votes cannot determine the rates, or have different lengths.
    """
    normal_quantile(confidence)
    if resamples < 20:
        raise ConfigError(f"resamples is at least 20, not {resamples}")
    cells = _count(votes, groups)
    verifiers = len(next(iter(cells))[1])
    names = list(dict.fromkeys(group for group, _ in cells))
    if verifiers < 2 or (verifiers == 2 and len(names) < 2):
        raise ConfigError(
            f"the votes of {verifiers} verifiers on {len(names)} group of rows do not determine "
            "their rates: add a third verifier, or a second group with another pass rate"
        )
    fitted = _fit(cells, _start(cells, names, verifiers))
    random = Random(seed)
    # The Bayesian bootstrap (Rubin 1981): a cell's weight has a gamma distribution about its count.
    drawn = [
        _fit({cell: random.gammavariate(n, 1.0) for cell, n in cells.items()}, fitted, close=_NEAR)
        for _ in range(resamples)
    ]
    tail = (1 - confidence) / 2
    rates = tuple(
        Rates(
            _between(fitted.rho0[k], sorted(model.rho0[k] for model in drawn), tail),
            _between(fitted.rho1[k], sorted(model.rho1[k] for model in drawn), tail),
        )
        for k in range(verifiers)
    )
    warnings = [INDEPENDENCE]
    shares = fitted.pass_rates.values()
    if verifiers == 2 and max(shares) - min(shares) < 0.1:
        warnings.append("the groups' pass rates are nearly one, so two verifiers determine little")
    return LatentRates(rates, fitted.pass_rates, tuple(warnings))


def _count(votes: Iterable[Sequence[bool | None]], groups: Iterable[Hashable] | None) -> _Cells:
    patterns = [tuple(None if v is None else bool(v) for v in row) for row in votes]
    names: list[Hashable] = [None] * len(patterns) if groups is None else list(groups)
    if len(names) != len(patterns):
        raise ConfigError(f"groups has {len(names)} entries for {len(patterns)} rows of votes")
    if not patterns or len({len(pattern) for pattern in patterns}) != 1:
        raise ConfigError("every row has one vote of each verifier, and there is at least one row")
    counted = Counter(zip(names, patterns, strict=True))
    return {cell: float(n) for cell, n in counted.items()}


def _start(cells: _Cells, names: Sequence[Hashable], verifiers: int) -> _Model:
    """Returns where the search begins: verifiers that are mostly right."""
    shares = {}
    for name in names:
        yes = sum(n * sum(v is True for v in p) for (g, p), n in cells.items() if g == name)
        said = sum(n * sum(v is not None for v in p) for (g, p), n in cells.items() if g == name)
        shares[name] = (yes + 1) / (said + 2)
    return _Model(shares, (0.2,) * verifiers, (0.2,) * verifiers)


def _fit(cells: _Cells, model: _Model, *, close: float = _CLOSE) -> _Model:
    """Returns the maximum-likelihood model near this one, by expectation-maximisation."""
    for _ in range(_STEPS):
        new = _step(cells, model)
        moved = max(
            *(abs(a - b) for a, b in zip(new.rho0, model.rho0, strict=True)),
            *(abs(a - b) for a, b in zip(new.rho1, model.rho1, strict=True)),
        )
        model = new
        if moved < close:
            break
    return model


def _step(cells: _Cells, model: _Model) -> _Model:
    verifiers = range(len(model.rho0))
    right, rows = dict.fromkeys(model.pass_rates, 0.0), dict.fromkeys(model.pass_rates, 0.0)
    errors = [[0.0, 0.0] for _ in verifiers]
    totals = [[0.0, 0.0] for _ in verifiers]
    for (group, pattern), n in cells.items():
        posterior = _posterior(pattern, model, model.pass_rates[group])
        right[group] += n * posterior
        rows[group] += n
        for k, vote in enumerate(pattern):
            if vote is not None:
                totals[k][0] += n * (1 - posterior)
                totals[k][1] += n * posterior
                errors[k][not vote] += n * (posterior if not vote else 1 - posterior)
    return _Model(
        {g: right[g] / rows[g] for g in right},
        *(
            tuple(_inside((errors[k][i] + 1e-9) / (totals[k][i] + 2e-9)) for k in verifiers)
            for i in (0, 1)
        ),
    )


def _posterior(pattern: _Pattern, model: _Model, share: float) -> float:
    right, wrong = share, 1 - share
    for vote, rho0, rho1 in zip(pattern, model.rho0, model.rho1, strict=True):
        if vote is not None:
            right *= 1 - rho1 if vote else rho1
            wrong *= rho0 if vote else 1 - rho0
    return right / (right + wrong) if right + wrong > 0 else 0.5


def _inside(rate: float) -> float:
    return min(max(rate, 1e-12), 1 - 1e-12)


def _between(value: float, drawn: Sequence[float], tail: float) -> Estimate:
    # The k-th of B resamples in order is at k / (B + 1): what one more would fall below.
    place = max(tail * (len(drawn) + 1) - 1, 0.0)
    step, part = int(place), place - int(place)
    after = min(step + 1, len(drawn) - 1)
    low = drawn[step] + part * (drawn[after] - drawn[step])
    high = drawn[-1 - step] + part * (drawn[-1 - after] - drawn[-1 - step])
    return Estimate(value, min(value, low), max(value, high))


@dataclass(frozen=True, slots=True)
class Recapture:
    """How many right rows there are, by how many two verifiers both find."""

    right: float
    """Right rows in all, found by either or by none."""
    low: float
    high: float
    rho1_first: float
    """The first verifier's false-negative rate: what it misses of the second's."""
    rho1_second: float


def capture_recapture(first: int, second: int, both: int, *, confidence: float = 0.95) -> Recapture:
    """Returns how many right rows there are, if two verifiers accept no wrong one.

    Valid where neither accepts anything wrong and each misses right rows independently of the
    other; where both miss the same hard ones, the count is too low.
    Source: Chapman 1951 for the count and its variance; Burnham et al. 1987 for the interval.

    >>> round(capture_recapture(800, 700, 560).right)
    1000

    Args:
        first: rows that the first verifier accepts.
        second: rows that the second accepts.
        both: rows that both accept, at least 1.
        confidence: of the interval, in (0, 1).

    Raises:
        ConfigError: the counts are impossible, or no row is accepted by both.
    """
    z = normal_quantile(confidence)
    if not 0 < both <= min(first, second):
        raise ConfigError(
            f"{both} rows accepted by both of {first} and {second}: at least one, at most the less"
        )
    right = (first + 1) * (second + 1) / (both + 1) - 1
    missed = (first - both) * (second - both)
    variance = (first + 1) * (second + 1) * missed / ((both + 1) ** 2 * (both + 2))
    seen = first + second - both
    unseen = right - seen
    spread = math.exp(z * math.sqrt(math.log1p(variance / unseen**2))) if unseen > 0 else 1.0
    return Recapture(
        right, seen + unseen / spread, seen + unseen * spread, 1 - both / second, 1 - both / first
    )
