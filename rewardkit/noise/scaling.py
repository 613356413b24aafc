"""A scale for advantages that does not depend on the batch it scales."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from rewardkit.errors import ConfigError

__all__ = ["EmaScale"]


@dataclass(frozen=True, slots=True)
class EmaScale:
    """The root mean square of earlier batches' coefficients, with exponential forgetting.

    Dividing a batch by its own spread cancels a correction. Dividing it by what earlier batches
    showed does not: take `value` for this batch, then `update` with its unscaled coefficients.

    >>> scale = EmaScale(decay=0.5)
    >>> scale.value
    1.0
    >>> scale.update([2.0, -2.0]).value
    2.0

    Raises:
        ConfigError: the decay is not in [0, 1).
    """

    decay: float = 0.9
    """How much of the past stays at each update."""
    mean_square: float | None = None
    """None before the first update."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay < 1.0:
            raise ConfigError(f"a decay is in [0, 1), not {self.decay}")

    @property
    def value(self) -> float:
        """What to divide by, above 0; 1 before the first update."""
        return 1.0 if self.mean_square is None else math.sqrt(self.mean_square)

    def update(self, coefficients: Iterable[float]) -> Self:
        """Returns the scale for the next batch; one that is all zeros teaches nothing."""
        squares = [float(c) ** 2 for c in coefficients]
        batch = sum(squares) / len(squares) if squares else 0.0
        if batch == 0.0:
            return self
        before = batch if self.mean_square is None else self.mean_square
        return replace(self, mean_square=self.decay * before + (1 - self.decay) * batch)
