"""Advantages that differ within a completion: step rewards, and how spans become tokens."""

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence

from rewardkit.advantages.estimators import StdKind, check_rewards, standard_deviation
from rewardkit.errors import ConfigError
from rewardkit.verdict import StepVerdict

__all__ = ["process_advantages", "span_tokens", "spread"]


def spread(values: Sequence[float], lengths: Sequence[int]) -> list[list[float]]:
    """Returns each row's number once a token.

    Args:
        values: (B,).
        lengths: (B,) tokens of each completion.

    >>> spread([0.5, -1.0], [2, 1])
    [[0.5, 0.5], [-1.0]]
    """
    return [[value] * length for value, length in zip(values, lengths, strict=True)]


def span_tokens(steps: Sequence[StepVerdict], token_starts: Sequence[int]) -> list[int]:
    """Returns the last token of each step: the last that begins before the step's end.

    Args:
        steps: spans in characters of the completion's text.
        token_starts: (T,) where each token begins in that text, ascending.

    >>> from rewardkit.verdict import Reason
    >>> span_tokens([StepVerdict(0, 5, 1.0, Reason.MATCH)], [0, 3, 5, 9])
    [1]
    """
    return [max(bisect_left(token_starts, step.end) - 1, 0) for step in steps]


def process_advantages(
    step_rewards: Sequence[Sequence[float | None]],
    step_tokens: Sequence[Sequence[int]],
    lengths: Sequence[int],
    groups: Sequence[Hashable],
    *,
    std: StdKind = "sample",
    eps: float = 1e-4,
) -> list[list[float]]:
    """Returns token advantages from step rewards.

    All step rewards of a group are normalised together, (r - mean) / (deviation + eps), and a token
    gets the sum of the normalised rewards of the steps that end at it or after it (GRPO with
    process supervision, arXiv:2402.03300, section 4.1.3).

    Args:
        step_rewards: (B,) lists, one number a step; None for an undecided step, which adds nothing.
        step_tokens: (B,) lists, the last token of each step, as `span_tokens` finds it.
        lengths: (B,) tokens of each completion.
        groups: (B,) the id of each row's group.
        std: the divisor of the variance.
        eps: added to the deviation, in units of the reward.

    Returns:
        (B,) lists of one number a token. All 0 in a group whose step rewards are alike.

    Raises:
        ConfigError: the lists do not fit each other, or a token is outside its completion.

    >>> process_advantages(
    ...     [[1.0, 0.0], []], [[0, 2], []], [3, 1], ["a", "a"], std="population", eps=0
    ... )
    [[0.0, -1.0, -1.0], [0.0]]
    """
    if not len(step_rewards) == len(step_tokens) == len(lengths) == len(groups):
        raise ConfigError("step_rewards, step_tokens, lengths and groups have one entry a row")
    pooled: dict[Hashable, list[float]] = {}
    for row, (rewards, group) in enumerate(zip(step_rewards, groups, strict=True)):
        check_rewards(f"step_rewards[{row}]", rewards)
        pooled.setdefault(group, []).extend(r for r in rewards if r is not None)
    tokens = []
    for row, (rewards, ends, length, group) in enumerate(
        zip(step_rewards, step_tokens, lengths, groups, strict=True)
    ):
        if len(rewards) != len(ends):
            raise ConfigError(f"row {row} has {len(rewards)} step rewards and {len(ends)} tokens")
        if any(not 0 <= end < length for end in ends):
            raise ConfigError(f"row {row}: a step's token is outside its {length} tokens")
        own = pooled[group]
        deviation = standard_deviation(own, std)
        mean = math.fsum(own) / len(own) if own else 0.0
        added = [0.0] * length
        for reward, end in zip(rewards, ends, strict=True):
            if reward is not None and deviation > 0:
                added[end] += (reward - mean) / (deviation + eps)
        tokens.append(_sums_from_the_right(added))
    return tokens


def _sums_from_the_right(values: list[float]) -> list[float]:
    total, sums = 0.0, []
    for value in reversed(values):
        total += value
        sums.append(total)
    return sums[::-1]
