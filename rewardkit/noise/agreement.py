"""Whether two people who label the same rows agree beyond chance."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rewardkit.errors import ConfigError

__all__ = ["Agreement", "cohen_kappa"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two people agree."""

    rows: int
    """Rows that both have labelled."""
    observed: float
    """The share of them with the same label."""
    kappa: float | None
    """1 for full agreement, 0 for as much as chance gives; None where both used one label only."""


def cohen_kappa(pairs: Iterable[tuple[str, str]]) -> Agreement:
    """Returns Cohen's kappa of pairs of labels.

    kappa = (observed - chance) / (1 - chance), where chance is that two people with these shares
    of labels agree. Source: Cohen 1960.

    >>> cohen_kappa([("right", "right"), ("wrong", "wrong"), ("right", "wrong")]).kappa
    0.4

    Raises:
        ConfigError: there is no pair.
    """
    both = list(pairs)
    if not both:
        raise ConfigError("no row was labelled by two people")
    n = len(both)
    first, second = Counter(one for one, _ in both), Counter(other for _, other in both)
    observed = sum(one == other for one, other in both) / n
    chance = math.fsum(first[label] * second[label] for label in first) / n**2
    kappa = None if chance == 1 else round((observed - chance) / (1 - chance), 12)
    return Agreement(n, observed, kappa)
