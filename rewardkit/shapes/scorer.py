"""A reward as trainers call it: a broken verifier is data there, and never the end of a run."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError, UndecidedError
from rewardkit.reward import Reward, RewardResult
from rewardkit.shapes.scored import ERROR, Scored, ScoredRow, row_status
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifier import Verifier

__all__ = ["OnMissing", "Scorer", "as_reward"]

OnMissing: TypeAlias = Literal["mask", "zero", "raise"]
"""What becomes of a completion that could not be scored: None, 0.0, or an `UndecidedError`."""


def as_reward(reward: Reward | Verifier) -> Reward:
    """Returns the reward itself, or one whose only component is the verifier.

    Raises:
        ConfigError: it is neither.
    """
    if isinstance(reward, Reward):
        return reward
    if not isinstance(reward, type) and isinstance(reward, Verifier):
        return Reward({reward.name: reward})
    raise ConfigError(f"give a Reward or a verifier, not {reward!r:.100}")


class Scorer:
    """Scores as trainers need it: the same `Reward`, and a status for what could not be scored.

    A time-out or a dead engine is None in a reward already. An exception (a reference that cannot
    be read, a shaper with a bug) ends a training run in most frameworks; here only the rows that
    raise it are missing, with the status `error`. Until a batch has been scored an exception
    passes, so a set-up that is wrong from the start says so.

    Args:
        reward: a `Reward`, or a verifier.
        on_missing: `"mask"` leaves None for the trainer to mask, `"zero"` makes it 0.0, `"raise"`
            raises.
        reference: the column that the framework calls otherwise: it is passed on as `reference`.

    Raises:
        ConfigError: an argument is outside what is said above.

    >>> def length(completions, /, **columns):
    ...     return [len(text) for text in completions]
    >>> Scorer(Reward({"length": length})).batch(["ab"], {}).scores
    [2.0]
    """

    def __init__(
        self,
        reward: Reward | Verifier,
        *,
        on_missing: OnMissing = "mask",
        reference: str = "reference",
    ) -> None:
        if on_missing not in get_args(OnMissing):
            raise ConfigError(
                f"on_missing is one of {', '.join(get_args(OnMissing))}, not {on_missing!r}"
            )
        self.reward = as_reward(reward)
        self.on_missing: OnMissing = on_missing
        self.reference = reference
        self._proven = False

    def batch(
        self, completions: Sequence[Completion], columns: Mapping[str, Sequence[Any]]
    ) -> Scored:
        """Returns the scores of a batch: batch columns, the first shape.

        Args:
            completions: what the model wrote.
            columns: one entry a completion each.

        Raises:
            RewardkitError: the set-up is wrong, or the policy is to raise.
        """
        columns = self._named(columns)
        try:
            result = self.reward.score(completions, **columns)
        except Exception as error:
            if not self._survives(error):
                raise
            apart = [self._alone(c, _row(columns, i)) for i, c in enumerate(completions)]
            good = [i for i, failure in enumerate(apart) if failure is None]
            part = self.reward.score(
                [completions[i] for i in good],
                **{name: [column[i] for i in good] for name, column in columns.items()},
            )
            return self._finish(_widened(part, good, len(completions)), apart)
        return self._finish(result, [None] * len(completions))

    async def abatch(
        self, completions: Sequence[Completion], columns: Mapping[str, Sequence[Any]]
    ) -> Scored:
        """Returns what `batch` returns, off the event loop; components run side by side."""
        try:
            result = await self.reward.ascore(completions, **self._named(columns))
        except Exception as error:
            if not self._survives(error):
                raise
            return await asyncio.to_thread(self.batch, completions, columns)
        return self._finish(result, [None] * len(completions))

    def one(self, completion: Completion, context: Mapping[str, Any]) -> ScoredRow:
        """Returns what `batch` says about this completion alone: the second shape."""
        return self.batch([completion], {name: [v] for name, v in context.items()}).row(0)

    async def aone(self, completion: Completion, context: Mapping[str, Any]) -> ScoredRow:
        """Returns what `one` returns, off the event loop."""
        return (await self.abatch([completion], {name: [v] for name, v in context.items()})).row(0)

    def _named(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        named = dict(columns)
        if self.reference != "reference" and self.reference in named:
            named["reference"] = named.pop(self.reference)
        return named

    def _survives(self, error: Exception) -> bool:
        return self._proven and self.on_missing != "raise"

    def _alone(self, completion: Completion, context: Mapping[str, Any]) -> str | None:
        try:
            self.reward.score_one(completion, **context)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _finish(self, result: RewardResult, failures: Sequence[str | None]) -> Scored:
        self._proven = self._proven or len(result) > 0
        scores, statuses, details = [], [], []
        for index, failure in enumerate(failures):
            status, detail = (ERROR, failure) if failure else row_status(result, index)
            score = result.scores[index]
            if score is None and self.on_missing == "raise":
                raise UndecidedError(f"row {index} has no score: {status}: {detail}")
            scores.append(0.0 if score is None and self.on_missing == "zero" else score)
            statuses.append(status)
            details.append(detail)
        return Scored(scores, statuses, details, result)


def _row(columns: Mapping[str, Sequence[Any]], index: int) -> dict[str, Any]:
    return {name: column[index] for name, column in columns.items()}


def _widened(part: RewardResult, rows: Sequence[int], count: int) -> RewardResult:
    """Returns a result over all rows from one over some of them."""
    place = {row: index for index, row in enumerate(rows)}

    def wide(values: Sequence[float | None]) -> list[float | None]:
        return [values[place[row]] if row in place else None for row in range(count)]

    lost = Verdict(None, Reason.ENGINE_FAILURE, detail="scoring this row raised an error")
    return RewardResult(
        wide(part.scores),
        {name: wide(values) for name, values in part.components.items()},
        {
            name: [verdicts[place[row]] if row in place else lost for row in range(count)]
            for name, verdicts in part.verdicts.items()
        },
    )
