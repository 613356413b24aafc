"""A step of an environment: the fifth shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.shapes.scored import ScoredRow
from rewardkit.shapes.scorer import Scorer

__all__ = ["EnvironmentSession", "EnvironmentStep"]


@dataclass(frozen=True, slots=True)
class EnvironmentStep:
    """What an environment says to one action."""

    observation: str
    """What the model reads next; empty at the end."""
    reward: float | None
    """Of this turn; None where the verifier abstains."""
    done: bool
    """True when the episode is over."""
    row: ScoredRow
    """What the reward said about the action."""


@dataclass(slots=True)
class EnvironmentSession:
    """One episode: a task, and up to `max_turns` tries, each with its own reward.

    A try that passes ends the episode. After one that does not, `feedback` is what the model reads.

    >>> from rewardkit.reward import Reward
    >>> def is_four(completions, /, **columns):
    ...     return [float(text == "4") for text in completions]
    >>> session = EnvironmentSession(Scorer(Reward({"four": is_four})), max_turns=2)
    >>> [(s.reward, s.done) for s in (session.step("5"), session.step("4"))]
    [(0.0, False), (1.0, True)]
    """

    scorer: Scorer
    context: Mapping[str, Any] = field(default_factory=dict)
    """The task's columns, its reference among them."""
    max_turns: int = 1
    passing: float = 1.0
    """The reward that ends the episode."""
    feedback: str = "That is not right yet. Try again."
    rewards: list[float | None] = field(default_factory=list)
    """Of the turns so far."""

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise ConfigError(f"max_turns is at least 1, not {self.max_turns}")

    def step(self, action: Completion) -> EnvironmentStep:
        """Returns the answer to an action."""
        return self._answer(self.scorer.one(action, self.context))

    async def astep(self, action: Completion) -> EnvironmentStep:
        """Returns what `step` returns, off the event loop."""
        return self._answer(await self.scorer.aone(action, self.context))

    def _answer(self, row: ScoredRow) -> EnvironmentStep:
        self.rewards.append(row.score)
        passed = row.score is not None and row.score >= self.passing
        done = passed or len(self.rewards) >= self.max_turns
        return EnvironmentStep("" if done else self.feedback, row.score, done, row)
