"""A TRL environment: a model that runs Python in the sandbox, hands in, and tries again.

Tested with trl 1.16, where `environment_factory` is experimental.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit.sandbox import Job, Limits, Sandbox, Status
from rewardkit.shapes import EnvironmentSession, OnMissing, Scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "Environment", "environment_factory", "last_turn"]

TESTED = "trl>=1.16,<1.17"


def last_turn(rewards: Sequence[float | None]) -> float | None:
    """Returns the reward of the last hand-in: the episode's, unless you choose another.

    >>> last_turn([0.0, 0.5])
    0.5
    """
    return rewards[-1]


class Environment:
    """One episode after the other, as TRL pools them: `reset`, the tools, `get_reward`.

    `turn_rewards` has one entry a hand-in. Use `environment_factory` to make a factory.
    """

    def __init__(
        self,
        scorer: Scorer,
        sandbox: Sandbox,
        *,
        max_turns: int,
        limits: Limits,
        max_chars: int,
        episode: Callable[[Sequence[float | None]], float | None],
    ) -> None:
        self._scorer, self._sandbox, self._limits = scorer, sandbox, limits
        self._max_turns, self._max_chars, self._episode = max_turns, max_chars, episode
        self._session = EnvironmentSession(scorer)
        self._done = False
        self.turn_rewards: list[float | None] = []
        """Of this episode's hand-ins, in order."""

    def reset(self, **row: Any) -> None:
        """Begins an episode: the row's columns are the task, its reference among them."""
        self._session = EnvironmentSession(self._scorer, row, max_turns=self._max_turns)
        self.turn_rewards = self._session.rewards
        self._done = False

    def run_python(self, code: str) -> str:
        """Runs a Python program and returns what it prints.

        Args:
            code: The whole program. It sees no files and no network.
        """
        source = str(code).encode("utf-8", "surrogatepass")  # a model may pass anything
        result = self._sandbox.run(Job(files={"main.py": source}, limits=self._limits))
        if result.status is Status.FAILED:
            return "The program could not be run."
        text = (result.stdout + result.stderr).decode("utf-8", "replace")
        if len(text) > self._max_chars:
            text = f"{text[: self._max_chars]}\n… cut off"
        if result.status is not Status.EXITED:
            text = f"{text}\nended: {result.status.value}"
        return text

    def submit(self, answer: str) -> str:
        """Hands in an answer and says whether it is right.

        Args:
            answer: The whole answer, in the form that the task asks for.
        """
        if self._done:
            return "This task is over."
        step = self._session.step(answer)
        self._done = step.done
        if step.reward is None:
            return "The answer could not be checked."
        if step.reward >= self._session.passing:
            return "That is right."
        return step.observation or "That is not right, and there are no tries left."

    def get_reward(self) -> float | None:
        """Returns the episode's reward; None, which TRL masks, where it could not be decided."""
        if not self.turn_rewards:
            # Nothing was handed in: what the reward says of an empty answer.
            self._session.step(None)
        return self._episode(self.turn_rewards)


def environment_factory(
    reward: Reward | Verifier,
    *,
    max_turns: int = 3,
    on_missing: OnMissing = "mask",
    reference: str = "reference",
    limits: Limits | None = None,
    max_chars: int = 2000,
    episode: Callable[[Sequence[float | None]], float | None] = last_turn,
    sandbox: Mapping[str, Any] | None = None,
) -> Callable[[], Environment]:
    """Returns what `GRPOTrainer(environment_factory=…)` takes.

    Its environments share one sandbox. With the trainer of `rewardkit_trl` the rewards of the turns
    are the column `turn_rewards` of an `AdvantageStage`, and `turn_ends` the tokens at which the
    model's turns end.

    Args:
        reward: grades what is handed in.
        max_turns: how often an episode may hand in.
        on_missing: what becomes of a hand-in that could not be scored.
        reference: the dataset column with the references.
        limits: of a program; left out: 5 processor seconds, 10 on the clock.
        max_chars: of a program's output that the model reads.
        episode: makes one number of the turns' rewards.
        sandbox: options of the `Sandbox`.

    Raises:
        ConfigError: an argument is outside what is said above.
    """
    if max_turns < 1 or max_chars < 1:
        raise ConfigError(f"max_turns and max_chars are at least 1, not {max_turns}, {max_chars}")
    scorer = Scorer(reward, on_missing=on_missing, reference=reference)
    shared = Sandbox(**(sandbox or {}))
    allowed = limits or Limits(cpu_s=5, wall_s=10.0)

    def make() -> Environment:
        return Environment(
            scorer,
            shared,
            max_turns=max_turns,
            limits=allowed,
            max_chars=max_chars,
            episode=episode,
        )

    return make
