"""Confidence that knows which prefixes are sound: the margin reward of RLCM."""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from rewardkit.errors import ConfigError

__all__ = ["OneSided", "confidence_margin"]

OneSided: TypeAlias = Literal["zero", "confidence"]
"""What a completion gets whose prefixes are all solved or all unsolved."""


def confidence_margin(
    confidence: Sequence[float],
    solved: Sequence[float | None],
    *,
    one_sided: OneSided = "zero",
) -> float:
    """Returns how much surer a completion is on prefixes that lead to the right answer.

    The mean confidence on prefixes from which every forced answer is right, less the mean on those
    from which none is; prefixes in between count for neither. RLCM (arXiv:2604.23333) trains on
    R_answer + 0.1 R_margin; R_margin is here as its authors' code has it. It is one number for the
    completion as a whole.

    Args:
        confidence: (b,) of the probe at each cut, in [0, 1].
        solved: (b,) share of forced answers there that are right; None where not known.
        one_sided: `zero`, or `confidence`: the mean confidence where all are solved, 1 less the
            mean where all are unsolved.

    Returns:
        A number in [-1, 1]; 0 where there is no cut.

    Raises:
        ConfigError: the lists differ in length, or a number is outside [0, 1].

    >>> confidence_margin([0.9, 0.7, 0.5, 0.2], [1.0, 1.0, 0.5, 0.0])
    0.6...
    """
    if len(confidence) != len(solved):
        raise ConfigError(f"{len(solved)} shares for {len(confidence)} confidences")
    if not all(0 <= number <= 1 for number in [*confidence, *(s for s in solved if s is not None)]):
        raise ConfigError("confidences and shares are in [0, 1]")
    if one_sided not in ("zero", "confidence"):
        raise ConfigError(f"one_sided is 'zero' or 'confidence', not {one_sided!r}")
    sound = [c for c, s in zip(confidence, solved, strict=True) if s == 1]
    lost = [c for c, s in zip(confidence, solved, strict=True) if s == 0]
    if sound and lost:
        return math.fsum(sound) / len(sound) - math.fsum(lost) / len(lost)
    if one_sided == "zero" or not (sound or lost):
        return 0.0
    return math.fsum(sound) / len(sound) if sound else 1.0 - math.fsum(lost) / len(lost)
