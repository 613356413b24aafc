"""Steps that were not needed: the tail that can be cut, and repetition within and after.

The formulas are those of arXiv:2605.23926 and arXiv:2508.02178; the numbers of their equations
could not be had, so each docstring writes its own out.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from rewardkit.errors import ConfigError
from rewardkit.process.segmentation import Segmentation

__all__ = [
    "external_redundancy",
    "internal_redundancy",
    "redundancy_reward",
    "truncation_redundancy",
    "windows",
]


def truncation_redundancy(
    steps: Segmentation, still_right: Callable[[str], bool | None], *, monotone: bool = False
) -> float | None:
    """Returns rho: the largest share of trailing steps that can go with the answer still right.

    rho = 1 - k* / K, k* the fewest first steps from which the model, made to answer at once, is
    right (arXiv:2605.23926). Of an undecided probe nothing is concluded.

    Args:
        steps: of a correct completion.
        still_right: takes the text of the first k steps; whether the forced answer is right, or
            None. It is asked from the shortest prefix on; the whole is not asked.
        monotone: search by halves, as if a longer prefix were never worse: about log2 K probes.

    Returns:
        A number in [0, 1); None if there is no step.
    """
    count = len(steps)
    if not count:
        return None
    if monotone:
        low, high = 0, count  # the fewest is above low - 1 and at most high
        while low < high:
            middle = (low + high) // 2
            if still_right(steps.text[: steps.bounds[middle]]):
                high = middle
            else:
                low = middle + 1
        return 1 - high / count
    for kept in range(count):
        if still_right(steps.text[: steps.bounds[kept]]):
            return 1 - kept / count
    return 0.0


def internal_redundancy(embeddings: Sequence[Sequence[float]]) -> float:
    """Returns IRD: the mean cosine of neighbouring windows, negative ones as 0 (arXiv:2508.02178).

    IRD = mean over i of max(0, cos(e_i, e_(i+1))), over windows of the reasoning up to the first
    right answer: floor(0.1 N) sentences each, every floor(0.05 N). More is more repetitive.

    Args:
        embeddings: (W, D) of the windows, in order.

    Returns:
        A number in [0, 1]; 0 for fewer than two windows.

    Raises:
        ConfigError: the embeddings differ in length.
    """
    if len({len(row) for row in embeddings}) > 1:
        raise ConfigError("all embeddings have the same length")
    cosines = []
    for one, two in pairwise(embeddings):
        norms = math.hypot(*one) * math.hypot(*two)
        dot = math.fsum(a * b for a, b in zip(one, two, strict=True))
        cosines.append(min(max(dot / norms, 0.0), 1.0) if norms else 0.0)
    return math.fsum(cosines) / len(cosines) if cosines else 0.0


def external_redundancy(steps: Segmentation, holds_answer: Callable[[str], bool]) -> float:
    """Returns ERD: the share of the text after the first step with the right answer (as above).

    Args:
        steps: sentences of the reasoning.
        holds_answer: whether a sentence states the right answer.

    Returns:
        A number in [0, 1]; 0 where no step does.
    """
    for step, (_, end) in zip(steps, steps.spans, strict=True):
        if holds_answer(step):
            return 1 - end / len(steps.text)
    return 0.0


def redundancy_reward(
    correct: bool, internal: float, external: float, *, slope: float = 20.0, centre: float = 0.3
) -> float:
    """Returns the reward of a completion with both redundancies taken off (arXiv:2508.02178).

    1[right] (s(1 - IRD) - s(0)) / (s(1) - s(0)) (1 - ERD), s(x) = sigmoid(slope (x - centre)):
    between 0 and 1, falling in both.

    Args:
        correct: whether the answer is right.
        internal: IRD, in [0, 1].
        external: ERD, in [0, 1].
        slope: 20 in the paper.
        centre: 0.3 in the paper.
    """
    if not (0 <= internal <= 1 and 0 <= external <= 1):
        raise ConfigError("both redundancies are in [0, 1]")

    def squash(x: float) -> float:
        return 1 / (1 + math.exp(-slope * (x - centre)))

    low, high = squash(0.0), squash(1.0)
    return float(correct) * (squash(1 - internal) - low) / (high - low) * (1 - external)


def windows(count: int) -> list[tuple[int, int]]:
    """Returns the windows over N sentences: floor(0.1 N) wide, one every floor(0.05 N).

    >>> windows(20)[:2], windows(3)
    ([(0, 2), (1, 3)], [(0, 1), (1, 2), (2, 3)])
    """
    width, stride = max(count // 10, 1), max(count // 20, 1)
    return [(start, start + width) for start in range(0, count - width + 1, stride)]
