"""Group-relative advantages as pure functions: rewards and group ids in, one number a row out."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from rewardkit.errors import ConfigError

__all__ = [
    "Advantages",
    "Estimator",
    "StdKind",
    "check_rewards",
    "estimate_advantages",
    "standard_deviation",
]

Estimator: TypeAlias = Literal["none", "mean", "leave_one_out", "group_z", "batch_z", "mad", "gdpo"]
"""How a baseline and a scale are taken from the rewards."""

StdKind: TypeAlias = Literal["sample", "population"]
"""Divisor of the variance: n - 1 (TRL's GRPOTrainer) or n (TRL's AsyncGRPOTrainer)."""

_LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class Advantages:
    """What a batch's gradient is multiplied by; every list has one entry a row, in order."""

    values: list[float]
    """One a row; exactly 0 where the reward was None."""
    decided: list[bool]
    """False where the reward was None: such a row taught nothing and was in no baseline."""
    zero_groups: frozenset[Hashable]
    """Ids of the groups without a contrast: fewer than two decided rows, or all rewards alike."""
    tokens: list[list[float]] | None = None
    """One a token, where step rewards or a correction differ within a row; else None."""

    def __len__(self) -> int:
        return len(self.values)

    def taken(self, rows: Sequence[int]) -> "Advantages":
        """Returns those of some rows, in the order that is given; the groups stay all."""
        return Advantages(
            [self.values[i] for i in rows],
            [self.decided[i] for i in rows],
            self.zero_groups,
            None if self.tokens is None else [self.tokens[i] for i in rows],
        )


def estimate_advantages(
    rewards: Sequence[float | None],
    groups: Sequence[Hashable],
    *,
    estimator: Estimator = "leave_one_out",
    std: StdKind = "sample",
    eps: float = 1e-4,
    components: Mapping[str, Sequence[float | None]] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Advantages:
    """Returns the advantages of a batch.

    With r a reward, m and s the mean and standard deviation of its group's decided rewards, S that
    of the whole batch, G the number of decided rows of the group:

    - `none`: r.
    - `mean`: r - m. Its expected gradient is 1 - 1/G times the true one.
    - `leave_one_out`: r minus the mean of the other rows, G/(G-1) * (r - m): unbiased
      (Kool et al. 2019; RLOO, arXiv:2402.14740).
    - `group_z`: (r - m) / (s + eps) (GRPO, arXiv:2402.03300, section 4.1.2).
    - `batch_z`: (r - m) / (S + eps) (arXiv:2508.08221).
    - `mad`: (r - m) / (d + eps), d the mean absolute deviation of the group from m. The median one
      would be 0 in a group of 0s and 1s with an uneven count of each.
    - `gdpo`: the weighted sum over the components of each one's `group_z`, and the z-score of that
      over the batch (arXiv:2601.05242).

    A group is all rows with one id, wherever they stand. A row whose reward is None is in no mean
    and no deviation, and its advantage is 0. A group without a contrast gets exactly 0 from every
    estimator with a baseline, so that rounding is never blown up by a small eps.

    Args:
        rewards: (B,) numbers up to 1e100 in size, or None for undecided.
        groups: (B,) the id of each row's group: any hashable value.
        estimator: one of the above.
        std: the divisor of the variances.
        eps: added to the deviation; in units of the reward, not negative.
        components: for `gdpo`, by name, (B,) each: the unweighted values. None leaves a component
            out of that row's sum.
        weights: for `gdpo`, by name; 1 where none is given.

    Raises:
        ConfigError: an argument is outside what is said above.

    >>> estimate_advantages([1.0, 0.0, None, 0.0], ["a", "a", "a", "b"]).values
    [1.0, -1.0, 0.0, 0.0]
    """
    check_rewards("rewards", rewards)
    _check(estimator, std, eps)
    members = _members(rewards, groups)
    decided = [reward is not None for reward in rewards]
    if estimator == "gdpo":
        values, zero = _gdpo(rewards, members, std, eps, components, weights)
    else:
        values, zero = _grouped(rewards, members, estimator, std, eps)
    return Advantages(values, decided, zero)


def standard_deviation(values: Sequence[float], std: StdKind) -> float:
    """Returns the deviation of the values; 0 where there are too few to have one.

    >>> standard_deviation([0.0, 1.0], "population")
    0.5
    """
    divisor = len(values) - 1 if std == "sample" else len(values)
    if divisor < 1 or min(values) == max(values):
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / divisor)


def check_rewards(name: str, rewards: Sequence[float | None]) -> None:
    """Checks that each entry is None or a number whose square is a float too: up to 1e100.

    Raises:
        ConfigError: one is not; its row is named.
    """
    for row, reward in enumerate(rewards):
        if reward is not None and not abs(reward) <= _LARGEST:
            raise ConfigError(f"{name}[{row}] is {reward}: give a number of modest size, or None")


def _check(estimator: str, std: str, eps: float) -> None:
    if estimator not in get_args(Estimator):
        raise ConfigError(
            f"estimator is one of {', '.join(get_args(Estimator))}, not {estimator!r}"
        )
    if std not in get_args(StdKind):
        raise ConfigError(f"std is one of {', '.join(get_args(StdKind))}, not {std!r}")
    if not (math.isfinite(eps) and eps >= 0):
        raise ConfigError(f"eps is a finite number from 0 on, not {eps!r}")


def _members(
    rewards: Sequence[float | None], groups: Sequence[Hashable]
) -> dict[Hashable, list[int]]:
    if len(groups) != len(rewards):
        raise ConfigError(f"groups has {len(groups)} entries for {len(rewards)} rewards")
    members: dict[Hashable, list[int]] = {}
    for row, (group, reward) in enumerate(zip(groups, rewards, strict=True)):
        try:
            rows = members.setdefault(group, [])
        except TypeError:
            raise ConfigError(f"groups[{row}] is {group!r}: give a hashable id") from None
        if reward is not None:
            rows.append(row)
    return members


def _grouped(
    rewards: Sequence[float | None],
    members: Mapping[Hashable, Sequence[int]],
    estimator: Estimator,
    std: StdKind,
    eps: float,
) -> tuple[list[float], frozenset[Hashable]]:
    values, zero = [0.0] * len(rewards), set()
    batch_std = standard_deviation([r for r in rewards if r is not None], std)
    for group, rows in members.items():
        own = [reward for row in rows if (reward := rewards[row]) is not None]
        flat = len(own) < 2 or min(own) == max(own)
        if flat:
            zero.add(group)
        if estimator == "none":
            centred, scale = own, 1.0
        elif flat:
            continue
        else:
            mean = math.fsum(own) / len(own)
            centred = [reward - mean for reward in own]
            scale = {
                "leave_one_out": (len(own) - 1) / len(own),
                "group_z": standard_deviation(own, std) + eps,
                "batch_z": batch_std + eps,
                "mad": math.fsum(abs(value) for value in centred) / len(own) + eps,
            }.get(estimator, 1.0)
        for row, value in zip(rows, centred, strict=True):
            values[row] = value / scale
    return values, frozenset(zero)


def _gdpo(
    rewards: Sequence[float | None],
    members: Mapping[Hashable, Sequence[int]],
    std: StdKind,
    eps: float,
    components: Mapping[str, Sequence[float | None]] | None,
    weights: Mapping[str, float] | None,
) -> tuple[list[float], frozenset[Hashable]]:
    if not components:
        raise ConfigError("gdpo normalises each component by itself: give components")
    sums, zero = [0.0] * len(rewards), set(members)
    for name, column in components.items():
        if len(column) != len(rewards):
            raise ConfigError(
                f"the component {name!r} has {len(column)} entries for {len(rewards)} rewards"
            )
        check_rewards(f"the component {name!r}", column)
        weight = (weights or {}).get(name, 1.0)
        if weight == 0:
            continue
        inner = {g: [row for row in rows if column[row] is not None] for g, rows in members.items()}
        scores, flat = _grouped(column, inner, "group_z", std, eps)
        zero &= flat
        sums = [total + weight * score for total, score in zip(sums, scores, strict=True)]
    decided = [row for rows in members.values() for row in rows]
    present = [sums[row] for row in decided]
    if not present:
        return [0.0] * len(rewards), frozenset(zero)
    mean, scale = math.fsum(present) / len(present), standard_deviation(present, std) + eps
    values = [0.0] * len(rewards)
    for row in decided:
        values[row] = (sums[row] - mean) / scale if scale else 0.0
    return values, frozenset(zero)
