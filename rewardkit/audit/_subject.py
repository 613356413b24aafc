"""The reward under audit, loaded in the process that runs it, behind one way to be called."""

import asyncio
import functools
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from rewardkit.audit._signature import CallPlan, plan_call
from rewardkit.completion import completion_text
from rewardkit.reward import Reward, RewardResult
from rewardkit.reward_file import load_module
from rewardkit.verdict import Verdict
from rewardkit.verifier import Verifier

__all__ = ["Case", "Spec", "Subject", "load"]


@dataclass(frozen=True, slots=True)
class Case:
    """One row that is scored."""

    completion: Any
    reference: Any = None
    prompt: Any = "Solve the task."


@dataclass(frozen=True, slots=True)
class Spec:
    """Which object is audited, as a worker finds it again."""

    place: str
    """A file that ends in `.py`, or a module."""
    name: str
    """The attribute, dotted for an inner one."""
    reference_column: str | None = None
    batched: bool | None = None
    """What a trial call showed; None before."""


@dataclass(slots=True)
class Subject:
    """A reward of any shape."""

    target: Any
    plan: CallPlan
    sort: str
    """`function`, `verifier` or `reward`."""
    module: ModuleType

    @property
    def is_async(self) -> bool:
        """True if its calls are awaited."""
        called = self.target if inspect.isroutine(self.target) else type(self.target).__call__
        return self.sort == "function" and inspect.iscoroutinefunction(called)

    def columns(self, cases: Sequence[Case], **stray: Any) -> dict[str, Any]:
        """Returns the batch columns beside the completions."""
        plan = self.plan
        columns: dict[str, Any] = {}
        if plan.reference is not None:
            columns[plan.reference] = [case.reference for case in cases]
        if plan.prompt is not None:
            columns[plan.prompt] = [case.prompt for case in cases]
        for name in plan.others:
            columns[name] = [_filler(name, case) for case in cases]
        return {**columns, **stray}

    def call(self, cases: Sequence[Case], columns: dict[str, Any]) -> Any:
        """Returns what the reward returns for a batch, without any repair of its shape."""
        return self.finish(self.start(cases, columns))

    def finish(self, value: Any) -> Any:
        """Returns a value that may have to be awaited."""
        return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value

    def start(self, cases: Sequence[Case], columns: dict[str, Any]) -> Any:
        """Returns what the call returns; an awaitable for an async reward."""
        completions = [case.completion for case in cases]
        if self.sort == "reward":
            return self.target.score(completions, **columns).scores
        if self.sort == "verifier":
            references = columns.pop("reference")
            verdicts = self.target.verify_batch(completions, references, **columns)
            return [verdict.score for verdict in verdicts]
        if self.plan.batched:
            return self._invoke(completions, columns)
        if self.is_async:
            return _gathered([self._invoke(c, _row(columns, i)) for i, c in enumerate(completions)])
        return [self._invoke(c, _row(columns, i)) for i, c in enumerate(completions)]

    def _invoke(self, completions: Any, columns: dict[str, Any]) -> Any:
        given = {self.plan.completion: completions, **columns}
        by_place = [given.pop(name) for name in self.plan.positional if name in given]
        return self.target(*by_place, **given)


async def _awaited(value: Any) -> Any:
    return await value


async def _gathered(values: Sequence[Any]) -> list[Any]:
    return [await value for value in values]


def _row(columns: dict[str, Any], index: int) -> dict[str, Any]:
    return {n: c[index] if isinstance(c, list) else c for n, c in columns.items()}


def _filler(name: str, case: Case) -> Any:
    text = completion_text(case.completion)
    if "ids" in name or "token" in name:
        return [1 + len(word) for word in text.split()]
    if name == "extra_info":
        return {}
    if name in ("trainer_state", "log_extra", "log_metric", "environments", "state", "rng"):
        return None
    if name == "seed":
        return 0
    return "math" if name == "data_source" else ""


@functools.lru_cache(maxsize=4)
def load(spec: Spec) -> Subject:
    """Returns the reward that a spec names.

    Raises:
        ValueError: there is no such file, module or attribute, or it cannot be called.
    """
    module = load_module(spec.place)
    target: Any = module
    for part in spec.name.split("."):
        try:
            target = getattr(target, part)
        except AttributeError:
            raise ValueError(f"{spec.place} has no {spec.name!r}") from None
    return make_subject(target, spec, module)


def make_subject(target: Any, spec: Spec, module: ModuleType) -> Subject:
    """Returns an object behind the one way to be called; a class is made with its defaults."""
    if inspect.isclass(target):
        try:
            target = target()
        except TypeError as error:
            raise ValueError(
                f"{spec.name} is a class that needs arguments ({error}): name an object of it"
            ) from None
    if isinstance(target, Reward) or (
        not callable(target) and callable(getattr(target, "score", None))
    ):
        names = list(dict.fromkeys(getattr(target, "references", {}).values()))
        column = spec.reference_column or (names[0] if names else "reference")
        plan = CallPlan("completions", True, True, column, "prompt", (), (), extra=True)
        return Subject(target, plan, "reward", module)
    if isinstance(target, Verifier) or (
        not callable(target) and callable(getattr(target, "verify", None))
    ):
        plan = CallPlan("completions", True, True, "reference", None, (), (), extra=True)
        return Subject(target, plan, "verifier", module)
    if not callable(target):
        raise ValueError(f"{spec.name} is a {type(target).__name__}: name a function or a reward")
    plan = plan_call(target, reference_column=spec.reference_column)
    if spec.batched is not None:
        plan = CallPlan(
            plan.completion, spec.batched, True, plan.reference, plan.prompt, plan.others,
            plan.positional, plan.extra,
        )  # fmt: skip
    return Subject(target, plan, "function", module)


def read_scores(value: Any) -> Any:
    """Returns the numbers within the results that trainers know: verdicts and score mappings."""
    if isinstance(value, Verdict):
        return value.score
    if isinstance(value, RewardResult):
        return value.scores
    if isinstance(value, dict):
        return next((value[k] for k in ("score", "reward") if k in value), value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return value[0]
    return value
