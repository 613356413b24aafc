"""Corrections of step verdicts: a coefficient for each step, and for each token."""

from collections.abc import Sequence

from rewardkit.errors import ConfigError
from rewardkit.noise.channel import Channel
from rewardkit.noise.corrected_rewards import MIN_J, Scores, correct_backward, correct_forward
from rewardkit.noise.corrections import Correction, Scale, check_combination
from rewardkit.noise.rates import Rates

__all__ = ["return_to_go", "step_coefficients", "token_coefficients"]


def return_to_go(values: Sequence[float | None]) -> list[float]:
    """Returns for each step the sum of its own value and all later ones; None counts as 0.

    >>> return_to_go([1.0, None, 2.0])
    [3.0, 2.0, 2.0]
    """
    total, sums = 0.0, []
    for value in reversed(values):
        total += 0.0 if value is None else value
        sums.append(total)
    return sums[::-1]


def step_coefficients(
    steps: Sequence[Scores],
    channel: Rates | Channel,
    *,
    correction: Correction = "backward",
    strata: Sequence[str] | None = None,
    scale: Scale = 1.0,
    min_j: float = MIN_J,
) -> list[list[float]]:
    """Returns, for each trajectory, the corrected return-to-go at each of its steps.

    The sums are not centred: a step's corrected verdict is unbiased by itself.
    Source: arXiv 2510.00915, the process version of both corrections.

    Args:
        steps: for each trajectory its step verdicts in order: 0, 1 or None.
        channel: the error rates of the step verifier.
        correction: backward or forward.
        strata: one stratum for each trajectory, or None.
        scale: what all is divided by, a number above 0.
        min_j: as in `correct_backward`.

    Raises:
        ConfigError: as `correct_backward`, or the scale is refused.
    """
    check_combination(correction, baseline="none", scale=scale)
    if scale == "j":
        raise ConfigError('step coefficients are divided by a number: give rates.j, not "j"')
    if strata is not None and len(strata) != len(steps):
        raise ConfigError(f"strata has {len(strata)} entries for {len(steps)} trajectories")
    correct = correct_forward if correction == "forward" else correct_backward
    coefficients = []
    for i, scores in enumerate(steps):
        verdicts = list(scores)
        names = None if strata is None else [strata[i]] * len(verdicts)
        corrected = correct(verdicts, channel, strata=names, min_j=min_j)
        coefficients.append([value / float(scale) for value in return_to_go(corrected)])
    return coefficients


def token_coefficients(
    coefficients: Sequence[float], ends: Sequence[int], *, length: int
) -> list[float]:
    """Returns a coefficient for each token: that of the step it stands in.

    Args:
        coefficients: one for each step.
        ends: one past the last token of each step, rising.
        length: tokens in all; those after the last step get 0.

    >>> token_coefficients([3.0, 2.0], [2, 3], length=4)
    [3.0, 3.0, 2.0, 0.0]

    Raises:
        ConfigError: lengths differ, or the ends do not rise within the length.
    """
    if len(coefficients) != len(ends):
        raise ConfigError(f"{len(ends)} ends for {len(coefficients)} steps")
    if any(a > b for a, b in zip([0, *ends], [*ends, length], strict=True)):
        raise ConfigError(f"ends rise from 0 to the length {length}, not {list(ends)}")
    tokens = [0.0] * length
    for start, end, value in zip([0, *ends][: len(ends)], ends, coefficients, strict=True):
        tokens[start:end] = [value] * (end - start)
    return tokens
