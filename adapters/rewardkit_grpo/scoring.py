"""The reward call: what a dying reward may do to a run, and what it may not."""

import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rewardkit.errors import EngineMissingError, InvalidReferenceError
from rewardkit.reward import Reward, RewardResult
from rewardkit.shaping import CompletionShaper
from rewardkit.verifier import Verifier

__all__ = ["OnRewardError", "Scored", "looks_at_rows", "score_groups"]

_LOGGER = logging.getLogger(__name__)

OnRewardError: TypeAlias = Literal["abstain", "zero", "raise"]


@dataclass(slots=True)
class Scored:
    """What the reward said about a batch, in its order."""

    result: RewardResult
    seconds: float
    """Wall time of the call."""
    errors: list[str] = field(default_factory=list)
    """One line for each group whose reward raised."""

    @classmethod
    def joined(cls, parts: Sequence["Scored"]) -> "Scored":
        """Returns what was said of some batches, in their order, as if they were one."""
        if len(parts) == 1:
            return parts[0]
        results = [part.result for part in parts]
        names = dict.fromkeys(name for result in results for name in result.components)
        judged = dict.fromkeys(name for result in results for name in result.verdicts)
        whole = RewardResult(
            [score for result in results for score in result.scores],
            {
                name: [
                    value
                    for result in results
                    for value in result.components.get(name, [None] * len(result))
                ]
                for name in names
            },
            {
                name: [verdict for result in results for verdict in result.verdicts.get(name, [])]
                for name in judged
                # A verdict list with holes is no list of verdicts.
                if all(name in result.verdicts for result in results if len(result))
            },
        )
        seconds = sum(part.seconds for part in parts)
        return cls(whole, seconds, [line for part in parts for line in part.errors])

    def taken(self, rows: Sequence[int]) -> "Scored":
        """Returns what was said of some completions, in the order that is given."""
        result = self.result
        whole = RewardResult(
            [result.scores[i] for i in rows],
            {name: [column[i] for i in rows] for name, column in result.components.items()},
            {name: [column[i] for i in rows] for name, column in result.verdicts.items()},
        )
        return Scored(whole, self.seconds, self.errors)


def looks_at_rows(reward: Reward) -> bool:
    """Returns whether a reward is known to look at each completion by itself.

    Verifiers do, by their contract, and so does each `CompletionShaper`. A function may compare the
    completions of its batch.
    """
    return all(
        looks_at_rows(part)
        if isinstance(part, Reward)
        else isinstance(part, Verifier | CompletionShaper)
        for part in reward.components.values()
    )


def score_groups(
    reward: Reward,
    completions: Sequence[str],
    groups: Sequence[Hashable],
    columns: Mapping[str, Sequence[Any]],
    *,
    on_error: OnRewardError = "abstain",
    clock: Callable[[], float] = time.perf_counter,
) -> Scored:
    """Returns the rewards of a batch; what raises costs only its own group.

    The whole batch is scored at once. If that raises, each group is scored by itself, and the
    completions of a group that raises again get None (`abstain`) or 0 (`zero`).

    Args:
        reward: of the run.
        completions: (B,) texts.
        groups: (B,) ids.
        columns: (B,) each: the samples' columns.
        on_error: `raise` lets every error out.
        clock: for `seconds`.

    Raises:
        InvalidReferenceError: the data is wrong, which no policy mends.
        EngineMissingError: so is the installation.
    """
    start = clock()
    try:
        result = reward.score(completions, **columns) if completions else RewardResult([], {}, {})
        return Scored(result, clock() - start)
    except (InvalidReferenceError, EngineMissingError):
        raise
    except Exception as error:
        if on_error == "raise":
            raise
        _LOGGER.warning("the reward raised %s: %s; scoring group by group", _kind(error), error)
    rows: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        rows.setdefault(group, []).append(index)
    fallback = None if on_error == "abstain" else 0.0
    merged = RewardResult([fallback] * len(completions), {}, {})
    errors = []
    for group, own in rows.items():
        taken = {name: [column[i] for i in own] for name, column in columns.items()}
        try:
            _merge(merged, reward.score([completions[i] for i in own], **taken), own)
        except (InvalidReferenceError, EngineMissingError):
            raise
        except Exception as error:  # the policy of the run: a broken reward is data
            errors.append(f"group {group}: {_kind(error)}: {error}")
            _LOGGER.warning("%s", errors[-1])
    # A verdict list with holes is no list of verdicts.
    merged.verdicts.clear()
    return Scored(merged, clock() - start, errors)


def _merge(merged: RewardResult, part: RewardResult, rows: Sequence[int]) -> None:
    for place, row in enumerate(rows):
        merged.scores[row] = part.scores[place]
        for name, values in part.components.items():
            column = merged.components.setdefault(name, [None] * len(merged.scores))
            column[row] = values[place]


def _kind(error: Exception) -> str:
    return type(error).__name__
