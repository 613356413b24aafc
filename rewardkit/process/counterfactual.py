"""Step credit from sibling rollouts: what a failed one lacks that a correct one shows (IBPO).

Neither code nor the numbers of the equations of IBPO (arXiv:2605.16302) could be had: the formulas
here are after descriptions of the paper, and each docstring writes out its own.
"""

from collections.abc import Callable, Hashable, Sequence

from rewardkit.errors import ConfigError

__all__ = ["changed_tokens", "counterfactual_rewards", "revision_gains"]


def counterfactual_rewards(
    rewards: Sequence[float | None],
    gains: Sequence[float],
    *,
    weight: float = 0.6,
    correct: float = 1.0,
) -> list[float | None]:
    """Returns rewards R' = R + weight phi, phi = 0 for a correct rollout (IBPO, arXiv:2605.16302).

    phi in [0, 1] says how near a failed rollout is to a correct one: 0.5 where the model, shown the
    rollout and a sibling, revises it into a right one. It is added before the group is centred, so
    failed rollouts of one group differ.

    Args:
        rewards: (B,) outcomes.
        gains: (B,) phi of each rollout, in [0, 1]; not read where the rollout is correct.
        weight: lambda; about 0.6 in the paper.
        correct: the reward from which a rollout counts as correct.

    Raises:
        ConfigError: the lists differ in length, or a gain is outside [0, 1].

    >>> counterfactual_rewards([1.0, 0.0, 0.0, None], [0.5, 0.5, 0.0, 0.5])
    [1.0, 0.3, 0.0, None]
    """
    if len(rewards) != len(gains):
        raise ConfigError(f"{len(gains)} gains for {len(rewards)} rewards")
    if not all(0 <= gain <= 1 for gain in gains):
        raise ConfigError("a gain is in [0, 1]")
    return [
        reward if reward is None or reward >= correct else reward + weight * gain
        for reward, gain in zip(rewards, gains, strict=True)
    ]


def revision_gains(
    completions: Sequence[str],
    rewards: Sequence[float | None],
    groups: Sequence[Hashable],
    revise: Callable[[int, Sequence[int]], float | None],
    *,
    siblings: int = 2,
    strength: float = 0.5,
    correct: float = 1.0,
) -> list[float]:
    """Returns (B,) phi: `strength` for a failed rollout whose revision is right, else 0 (IBPO).

    A failed rollout is shown with up to `siblings` others of its group, correct ones first, and the
    model writes it anew: Delta = rho 1[r(y) = 0 and r(revision) = 1]. Correct and undecided
    rollouts are not revised.

    Args:
        completions: (B,).
        rewards: (B,).
        groups: (B,) ids.
        revise: takes a row and the rows of its siblings; returns the reward of the revision.
        siblings: K - 1 in the paper, which finds that one is too few.
        strength: rho, in [0, 1].
        correct: as in `counterfactual_rewards`.
    """
    if not len(completions) == len(rewards) == len(groups):
        raise ConfigError("completions, rewards and groups have one entry a rollout")
    if siblings < 1 or not 0 <= strength <= 1:
        raise ConfigError("siblings is at least 1, and strength in [0, 1]")
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    gains = []
    for row, (reward, group) in enumerate(zip(rewards, groups, strict=True)):
        others = [other for other in members[group] if other != row]
        # None sorts with the failed ones: an undecided sibling shows nothing for sure.
        others.sort(key=lambda other: -(rewards[other] or 0.0))
        if reward is None or reward >= correct or not others:
            gains.append(0.0)
            continue
        revised = revise(row, others[:siblings])
        gains.append(strength if revised is not None and revised >= correct else 0.0)
    return gains


def changed_tokens(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[bool]:
    """Returns for each token of `after` whether a Levenshtein alignment with `before` changes it.

    IBPO's mask m_t = 1[t not in U], U the tokens that stay as they are: only what a revision
    changed is taught. Of several shortest alignments the one is taken that matches from the right.

    Args:
        before: (S,) tokens.
        after: (T,) tokens; S T is at most 4,000,000.

    >>> changed_tokens("kitten", "sitting")
    [True, False, False, False, True, False, True]
    """
    rows, columns = len(before), len(after)
    if rows * columns > 4_000_000:
        raise ConfigError(f"{rows} by {columns} tokens: align at most 4,000,000 pairs")
    cost = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows + 1):
        cost[i][0] = i
    cost[0] = list(range(columns + 1))
    for i, old in enumerate(before, 1):
        above, row = cost[i - 1], cost[i]
        for j, new in enumerate(after, 1):
            row[j] = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (old != new))
    changed, i, j = [True] * columns, rows, columns
    while i and j:
        same = before[i - 1] == after[j - 1]
        if same and cost[i][j] == cost[i - 1][j - 1]:
            changed[j - 1] = False
            i, j = i - 1, j - 1
        elif cost[i][j] == cost[i - 1][j - 1] + 1:
            i, j = i - 1, j - 1
        elif cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
    return changed
