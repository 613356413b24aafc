"""Verifiers and shapers composed into one number per completion."""

import asyncio
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, get_args

from rewardkit._reward_result import RewardResult, RewardRow
from rewardkit._reward_terms import (
    Shaper,
    ask_verifier,
    check_columns,
    order_of_reading,
    question,
    run_shaper,
)
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.runtime.runner import active_runner
from rewardkit.verdict import Verdict
from rewardkit.verifier import Verifier, row_contexts

__all__ = ["Combine", "Gate", "Missing", "Reward", "RewardResult", "RewardRow", "Shaper"]

Combine: TypeAlias = Literal["sum", "product"]
"""How components become one number."""

Missing: TypeAlias = Literal["propagate", "ignore", "zero"]
"""What a component without a value does to the total."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What a component must reach before anything else counts."""

    at_least: float = 1.0
    """The smallest value that passes."""
    otherwise: float = 0.0
    """The total of a completion that does not pass."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.at_least) and math.isfinite(self.otherwise)):
            raise ConfigError(f"a gate's numbers are finite, not {self!r}")


class Reward:
    """One number per completion, made of named components.

    A component is a `Verifier` (its score counts), a `Shaper` (any function of the batch that
    returns numbers), or another `Reward`. A shaper with a property `reads`, as those of
    `rewardkit.shaping`, gets the values of the components it names as columns.

    The total of a completion is, in this order:

    1. the first gate that its component does not pass gives the gate's `otherwise`;
    2. else the weighted sum, or the product, of the components;
    3. held to `clip`.

    None means "not decided" and never turns into a number by itself: with `missing="propagate"` a
    component of None makes the total None, unless its weight is 0 or a gate before it has decided.

    The same object goes into every trainer. It keeps no state: a total depends on its own row
    and, if a shaper compares completions, on what that shaper reads of the batch. It can be pickled
    if its components can.

    Args:
        components: by name; a name is not empty and has no `/`.
        weights: by name, finite, may be negative. Left out: 1, or 0 for a component that is a gate.
            In a product each is 0 (not a factor) or 1.
        gates: by name; the order is the order of asking.
        combine: `"sum"` or `"product"`.
        clip: smallest and largest total, or None. To hold one component only, make it a
            `Reward` of its own with a `clip`.
        missing: `"propagate"`: a missing component makes the total None. `"ignore"`: it is left
            out, as if its weight were 0 and its gate passed; a total of which nothing is left is
            None. `"zero"`: it counts as 0.
        references: for a verifier, the column that holds its references; left out: `"reference"`.

    Raises:
        ConfigError: an argument is outside what is said above.

    >>> def brevity(completions, /, **columns):
    ...     return [-len(text) / 100 for text in completions]
    >>> reward = Reward({"brevity": brevity}, weights={"brevity": 0.5}, clip=(-1.0, 1.0))
    >>> reward.score(["12", "The answer is 12."]).scores
    [-0.01, -0.085]
    """

    def __init__(
        self,
        components: Mapping[str, "Verifier | Shaper | Reward"],
        *,
        weights: Mapping[str, float] | None = None,
        gates: Mapping[str, Gate] | None = None,
        combine: Combine = "sum",
        clip: tuple[float, float] | None = None,
        missing: Missing = "propagate",
        references: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(components, Mapping):
            raise ConfigError(
                f"components is a {type(components).__name__}: give a name to each, as in "
                '{"math": MathVerifier()}'
            )
        self.components = dict(components)
        self.gates = dict(gates or {})
        self.weights = {name: 0.0 if name in self.gates else 1.0 for name in components}
        self.weights.update({name: _weight(name, w) for name, w in (weights or {}).items()})
        self.combine: Combine = combine
        self.clip = clip
        self.missing: Missing = missing
        self.references = dict(references or {})
        self._check()
        self._reads = order_of_reading(self.components)

    def score(self, completions: Sequence[Completion], /, **columns: Sequence[Any]) -> RewardResult:
        """Returns the totals, the components and the verdicts of a batch, in its order.

        Args:
            completions: what the model wrote.
            columns: the samples' other columns, one entry per completion, the references among
                them. Each verifier sees those that are not its references as context; each shaper
                sees all.

        Raises:
            ConfigError: a column is missing or has another length, or a shaper failed.
            InvalidReferenceError: a reference cannot be read.
        """
        check_columns(completions, columns)
        parts: dict[str, RewardResult] = {}
        for names in self._stages():
            for name in names:
                seen = self._seen(name, columns, parts)
                parts[name] = self._part(name, completions, seen)
        return self._total(len(completions), parts)

    def score_one(self, completion: Completion, /, **context: Any) -> RewardRow:
        """Returns what `score` says about a batch of this completion alone."""
        return self.score([completion], **{name: [value] for name, value in context.items()}).row(0)

    async def ascore(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> RewardResult:
        """Returns what `score` returns; the components run side by side, off the event loop."""
        check_columns(completions, columns)
        parts: dict[str, RewardResult] = {}
        for names in self._stages():
            found = await asyncio.gather(
                *(
                    self._apart(name, completions, self._seen(name, columns, parts))
                    for name in names
                )
            )
            parts.update(zip(names, found, strict=True))
        return self._total(len(completions), parts)

    async def ascore_one(self, completion: Completion, /, **context: Any) -> RewardRow:
        """Returns what `score_one` returns, off the event loop."""
        columns = {name: [value] for name, value in context.items()}
        return (await self.ascore([completion], **columns)).row(0)

    def totals(
        self,
        components: Mapping[str, Sequence[float | None]],
        *,
        without: Collection[str] = (),
    ) -> list[float | None]:
        """Returns the totals that component values make, as if some components were not there.

        Args:
            components: as in `RewardResult`; each of this reward's own names, with lists of one
                length.
            without: names that count neither as a term, nor as a factor, nor as a gate.

        Raises:
            ConfigError: a component is missing, or one in `without` is unknown.
        """
        for name in (*self.components, *without):
            if name not in components or name not in self.components:
                raise ConfigError(f"{name!r} is no component of this reward with values")
        rows = zip(*(components[name] for name in self.components), strict=True)
        return [
            self._combined(dict(zip(self.components, row, strict=True)), without) for row in rows
        ]

    def close(self) -> None:
        """Closes the components that are verifiers or rewards. The reward may be used again."""
        for component in self.components.values():
            if isinstance(component, Verifier | Reward):
                component.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _stages(self) -> tuple[list[str], list[str]]:
        """The components that read no other one, and those that do."""
        free = [name for name in self.components if not self._reads[name]]
        return free, [name for name in self.components if self._reads[name]]

    def _seen(
        self,
        name: str,
        columns: Mapping[str, Sequence[Any]],
        parts: Mapping[str, RewardResult],
    ) -> Mapping[str, Sequence[Any]]:
        return {**columns, **{other: parts[other].scores for other in self._reads[name]}}

    def _part(
        self, name: str, completions: Sequence[Completion], columns: Mapping[str, Sequence[Any]]
    ) -> RewardResult:
        component = self.components[name]
        if isinstance(component, Reward):
            return _nested(name, component.score(completions, **columns))
        if isinstance(component, Verifier):
            asked = question(name, self._column(name), completions, columns)
            return _judged(name, ask_verifier(name, component, asked))
        values = run_shaper(name, component, completions, columns)
        return RewardResult(values, {name: values}, {})

    async def _apart(
        self, name: str, completions: Sequence[Completion], columns: Mapping[str, Sequence[Any]]
    ) -> RewardResult:
        component = self.components[name]
        if isinstance(component, Reward):
            return _nested(name, await component.ascore(completions, **columns))
        if isinstance(component, Verifier) and len(completions) == 1 and active_runner() is None:
            # A verifier that waits for a network does so here without holding a thread.
            asked = question(name, self._column(name), completions, columns)
            context = row_contexts(1, asked.context)[0]
            verdict = await component.averify(completions[0], asked.references[0], **context)
            return _judged(name, [verdict])
        return await asyncio.to_thread(self._part, name, completions, columns)

    def _column(self, name: str) -> str:
        return self.references.get(name, "reference")

    def _total(self, count: int, parts: Mapping[str, RewardResult]) -> RewardResult:
        components: dict[str, list[float | None]] = {}
        verdicts: dict[str, list[Verdict]] = {}
        for name in self.components:
            part = parts[name]
            components.update(part.components)
            verdicts.update(part.verdicts)
        scores = [
            self._combined({name: part.scores[i] for name, part in parts.items()})
            for i in range(count)
        ]
        return RewardResult(scores, components, verdicts)

    def _combined(
        self, values: Mapping[str, float | None], without: Collection[str] = ()
    ) -> float | None:
        if self.missing == "zero":
            values = {name: 0.0 if value is None else value for name, value in values.items()}
        for name, gate in self.gates.items():
            if name in without:
                continue
            value = values[name]
            if value is None and self.missing == "propagate":
                return None
            if value is not None and value < gate.at_least:
                return gate.otherwise
        counted = {
            name: values[name]
            for name, weight in self.weights.items()
            if weight != 0 and name not in without
        }
        present = {name: value for name, value in counted.items() if value is not None}
        if not present or (len(present) < len(counted) and self.missing == "propagate"):
            return None
        try:
            total = self._folded(present)
        except (OverflowError, ValueError):  # what fsum says of inf, and of inf - inf
            total = math.inf
        if not math.isfinite(total):
            raise ConfigError(f"the total of {present} is no finite number: use smaller weights")
        return self._clipped(total)

    def _folded(self, present: Mapping[str, float]) -> float:
        # fsum rounds once and the product has one order, so the total does not depend on the order
        # in which the components were named.
        if self.combine == "product":
            return math.prod(present[name] for name in sorted(present))
        return math.fsum(self.weights[name] * value for name, value in present.items())

    def _clipped(self, total: float) -> float:
        if self.clip is None:
            return total
        low, high = self.clip
        return min(max(total, low), high)

    def _check(self) -> None:
        for name, component in self.components.items():
            if not name or "/" in name:
                raise ConfigError(f"a component's name is not empty and has no '/', not {name!r}")
            if isinstance(component, type):
                raise ConfigError(
                    f"the component {name!r} is the class {component.__name__} itself: give one "
                    f"made of it, {component.__name__}(…)"
                )
            if not isinstance(component, Verifier | Reward) and not callable(component):
                raise ConfigError(
                    f"the component {name!r} is a {type(component).__name__}: give a verifier, a "
                    "function of the batch, or a Reward"
                )
        for option, names in (
            ("weights", tuple(self.weights)),
            ("gates", tuple(self.gates)),
            ("references", tuple(self.references)),
        ):
            for name in names:
                if name not in self.components:
                    known = ", ".join(self.components) or "none"
                    raise ConfigError(f"{option} names {name!r}, which is no component ({known})")
        for name, gate in self.gates.items():
            if not isinstance(gate, Gate):
                raise ConfigError(
                    f"the gate {name!r} is {gate!r}: give a Gate, as in Gate(at_least=0.5)"
                )
        for name, weight in self.weights.items():
            if not math.isfinite(weight):
                raise ConfigError(f"the weight of {name!r} is finite, not {weight!r}")
            if self.combine == "product" and weight not in (0.0, 1.0):
                raise ConfigError(f"in a product the weight of {name!r} is 0 or 1, not {weight!r}")
        if not any(self.weights.values()):
            raise ConfigError("no component has a weight, so every total would be alike: give one")
        _check_choice("combine", self.combine, get_args(Combine))
        _check_choice("missing", self.missing, get_args(Missing))
        if self.clip is not None:
            try:
                low, high = self.clip
                ordered = low <= high
            except (TypeError, ValueError):
                ordered = False
            if not ordered:
                raise ConfigError(f"clip is (smallest, largest) or None, not {self.clip!r}")
            for name, gate in self.gates.items():
                if not low <= gate.otherwise <= high:
                    raise ConfigError(f"the gate {name!r} gives {gate.otherwise}, outside of clip")


def _judged(name: str, verdicts: list[Verdict]) -> RewardResult:
    scores = [verdict.score for verdict in verdicts]
    return RewardResult(scores, {name: scores}, {name: verdicts})


def _nested(name: str, inner: RewardResult) -> RewardResult:
    return RewardResult(
        inner.scores,
        {name: inner.scores, **{f"{name}/{key}": v for key, v in inner.components.items()}},
        {f"{name}/{key}": v for key, v in inner.verdicts.items()},
    )


def _weight(name: str, weight: float) -> float:
    try:
        return float(weight)
    except (TypeError, ValueError):
        raise ConfigError(f"the weight of {name!r} is a number, not {weight!r}") from None


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} is one of {', '.join(allowed)}, not {value!r}")
