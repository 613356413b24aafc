"""TRL environments: a model that runs Python, Prolog or SQL, hands in, and tries again.

Tested with trl 1.16, where `environment_factory` is experimental.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

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
    """One episode after the other, as TRL pools them; its other public methods are the tools."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        max_turns: int,
        max_chars: int,
        episode: Callable[[Sequence[float | None]], float | None],
        options: Mapping[str, Any],
    ) -> None:
        self._scorer, self._options = scorer, options
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
        self._begin(row)

    def _begin(self, row: Mapping[str, Any]) -> None: ...

    def _shown(self, text: str) -> str:
        cut = len(text) > self._max_chars
        return f"{text[: self._max_chars]}\n… cut off" if cut else text

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


class PythonEnvironment(Environment):
    """A task in which the model may run Python."""

    def run_python(self, code: str) -> str:
        """Runs a Python program and returns what it prints.

        Args:
            code: The whole program. It sees no files and no network.
        """
        source = str(code).encode("utf-8", "surrogatepass")  # a model may pass anything
        job = Job(files={"main.py": source}, limits=self._options["limits"])
        result = self._options["sandbox"].run(job)
        if result.status is Status.FAILED:
            return "The program could not be run."
        text = self._shown((result.stdout + result.stderr).decode("utf-8", "replace"))
        if result.status is not Status.EXITED:
            text = f"{text}\nended: {result.status.value}"
        return text


class PrologEnvironment(Environment):
    """A task in which the model may ask Prolog."""

    def _begin(self, row: Mapping[str, Any]) -> None:
        from rewardkit.verifiers.prolog.session import PrologSession

        self._prolog = PrologSession(engine=self._options["engine"])

    def prolog(self, program: str = "", query: str = "", reset: bool = False) -> str:
        """Runs SWI-Prolog: adds clauses to the program of this task, and answers a query from it.

        Args:
            program: Clauses to add; may be empty.
            query: A goal such as solve(X); may be empty.
            reset: Whether the earlier clauses are forgotten first.
        """
        call = {"program": program, "query": query, "reset": reset}
        return self._shown(self._prolog.call(call))


class SqlEnvironment(Environment):
    """A task in which the model may look at a database."""

    def _begin(self, row: Mapping[str, Any]) -> None:
        from rewardkit.verifiers.sql.session import SqlSession

        self._sql = SqlSession(row[self._options["reference"]], pool=self._options["pool"])

    def query(self, sql: str = "") -> str:
        """Runs one SQL query on the database of this task and returns the first rows.

        Args:
            sql: One SELECT; nothing can be written. Without it, the tables are listed.
        """
        return self._shown(self._sql.query(sql).text)


def environment_factory(
    reward: Reward | Verifier,
    *,
    tool: Literal["python", "prolog", "sql", "none"] = "python",
    max_turns: int = 3,
    on_missing: OnMissing = "mask",
    reference: str = "reference",
    limits: Limits | None = None,
    max_chars: int = 2000,
    episode: Callable[[Sequence[float | None]], float | None] = last_turn,
    sandbox: Mapping[str, Any] | None = None,
) -> Callable[[], Environment]:
    """Returns what `GRPOTrainer(environment_factory=…)` takes.

    Its environments share one sandbox, engine or pool. With the trainer of `rewardkit_trl` the
    rewards of the turns are the column `turn_rewards` of an `AdvantageStage`, and `turn_ends` the
    tokens at which the model's turns end.

    Args:
        reward: grades what is handed in.
        tool: beside `submit`: `run_python`; `prolog`, with clauses that stay for the episode;
            `query`, which reads the database of the task's SQL reference; or none.
        max_turns: how often an episode may hand in.
        on_missing: what becomes of a hand-in that could not be scored.
        reference: the dataset column with the references.
        limits: of a Python program; left out: 5 processor seconds, 10 on the clock.
        max_chars: of a tool's output that the model reads.
        episode: makes one number of the turns' rewards.
        sandbox: options of the `Sandbox` in which Python runs.

    Raises:
        ConfigError: an argument is outside what is said above.
        EngineMissingError: SWI-Prolog, or `rewardkit[sql]`, is not installed.
    """
    if max_turns < 1 or max_chars < 1:
        raise ConfigError(f"max_turns and max_chars are at least 1, not {max_turns}, {max_chars}")
    scorer = Scorer(reward, on_missing=on_missing, reference=reference)
    kind: type[Environment] = Environment
    options: dict[str, Any] = {"reference": reference}
    if tool == "python":
        allowed = limits or Limits(cpu_s=5, wall_s=10.0)
        options = {"sandbox": Sandbox(**(sandbox or {})), "limits": allowed}
        kind = PythonEnvironment
    elif tool == "prolog":
        from rewardkit.verifiers.prolog.engine import Engine

        kind, options = PrologEnvironment, {"engine": Engine()}
    elif tool == "sql":
        from rewardkit.verifiers.sql.session import sql_workers

        kind, options["pool"] = SqlEnvironment, sql_workers()
    elif tool != "none":
        raise ConfigError(f"tool is python, prolog, sql or none, not {tool!r}")
    more: dict[str, Any] = {"max_turns": max_turns, "max_chars": max_chars, "episode": episode}
    return lambda: kind(scorer, options=options, **more)
