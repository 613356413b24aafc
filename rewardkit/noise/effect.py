"""Whether a correction reached the gradient: two sets of advantages, compared."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rewardkit.errors import ConfigError

__all__ = ["CorrectionAudit", "audit"]


@dataclass(frozen=True, slots=True)
class CorrectionAudit:
    """How corrected advantages differ from plain ones on the same batch."""

    mean: float
    """Mean absolute difference."""
    max: float
    """Largest absolute difference."""
    cosine: float | None
    """Of the two as vectors: 1 means the same direction. None where one of them is all zeros."""

    @property
    def cancelled(self) -> bool:
        """True if the correction has no effect: no difference reaches a thousandth.

        Not 0, because the small constant that a z-score adds to its divisor leaves a trace.
        """
        return self.max < 1e-3


def audit(plain: Iterable[float], corrected: Iterable[float]) -> CorrectionAudit:
    """Returns how corrected advantages differ from plain ones.

    A cosine of 1 with a difference above 0 is a change of length only, which an optimiser such as
    Adam undoes again. Source: the advantage audit of arXiv 2510.00915, appendix B.4.

    >>> audit([1.0, -1.0], [2.0, -2.0])
    CorrectionAudit(mean=1.0, max=1.0, cosine=1.0)

    Raises:
        ConfigError: the two differ in length, or are empty.
    """
    before, after = [float(x) for x in plain], [float(x) for x in corrected]
    if len(before) != len(after) or not before:
        raise ConfigError(
            f"{len(before)} plain and {len(after)} corrected advantages: give as many"
        )
    differences = [abs(a - b) for a, b in zip(before, after, strict=True)]
    lengths = math.sqrt(math.fsum(a * a for a in before) * math.fsum(b * b for b in after))
    dot = math.fsum(a * b for a, b in zip(before, after, strict=True))
    return CorrectionAudit(
        mean=math.fsum(differences) / len(differences),
        max=max(differences),
        cosine=max(-1.0, min(1.0, dot / lengths)) if lengths else None,
    )
