"""The parts of a reward: what may be a component, and how its values are read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, SupportsFloat, SupportsIndex, runtime_checkable

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.runtime.runner import run_batch
from rewardkit.verdict import Json, Verdict
from rewardkit.verifier import Verifier, check_entries

__all__ = [
    "Question",
    "ReadingShaper",
    "Shaper",
    "ask_verifier",
    "check_columns",
    "order_of_reading",
    "question",
    "run_shaper",
]


@runtime_checkable
class Shaper(Protocol):
    """A component that is not a verdict: length, format, diversity, confidence and so on.

    Any function of this shape is one. It sees the whole batch, so that it may compare the
    completions of one prompt. An exception it raises is the caller's mistake and stops the scoring.
    """

    def __call__(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> Sequence[float | None]:
        """Returns one finite number per completion, or None where it has nothing to say."""
        ...


@runtime_checkable
class ReadingShaper(Shaper, Protocol):
    """A shaper that looks at other components' values: a length reward for right answers."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names. Those of the reward's components come to it as columns, with their values."""
        ...


def order_of_reading(components: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Returns which of the other components each one reads.

    Raises:
        ConfigError: one reads itself, or one that reads another.
    """
    reads = {
        name: tuple(one for one in component.reads if one in components)
        if isinstance(component, ReadingShaper)
        else ()
        for name, component in components.items()
    }
    for name, own in reads.items():
        for other in own:
            if reads[other]:
                raise ConfigError(
                    f"the component {name!r} reads {other!r}, which itself reads a component: let "
                    "it read a verifier, a reward, or a shaper that reads none"
                )
    return reads


def check_columns(completions: Sequence[Completion], columns: Mapping[str, object]) -> None:
    """Checks that every column is a sequence with one entry per completion.

    Raises:
        ConfigError: one is not; it is named.
    """
    check_entries("completions", completions)
    count = len(completions)
    for name, column in columns.items():
        if not isinstance(column, Sequence) or isinstance(column, str | bytes | bytearray):
            raise ConfigError(
                f"the column {name!r} is a {type(column).__name__}: give a list with one entry per "
                "completion"
            )
        if len(column) != count:
            raise ConfigError(
                f"the column {name!r} has {len(column)} entries for {count} completions"
            )


@dataclass(frozen=True, slots=True)
class Question:
    """A batch as a verifier takes it."""

    completions: Sequence[Completion]
    references: Sequence[Json]
    context: Mapping[str, Sequence[Any]]
    """The columns without the references."""


def question(
    name: str,
    column: str,
    completions: Sequence[Completion],
    columns: Mapping[str, Sequence[Any]],
) -> Question:
    """Returns the batch with its references taken out of the columns.

    Args:
        name: of the component that asks, for the error.
        column: which of the columns holds its references.
        completions: the batch.
        columns: the samples' columns.

    Raises:
        ConfigError: the column is not there.
    """
    context = dict(columns)
    references = context.pop(column, None)
    if references is None:
        given = ", ".join(sorted(columns)) or "none"
        raise ConfigError(
            f"the component {name!r} reads its references from the column {column!r}, which is not "
            f"there (given: {given}). Pass it, or name another column in `references`"
        )
    return Question(completions, references, context)


def ask_verifier(name: str, verifier: Verifier, asked: Question) -> list[Verdict]:
    """Returns a component's verdicts.

    Raises:
        ConfigError: the verifier does not return one verdict per completion.
        InvalidReferenceError: a reference cannot be read.
    """
    verdicts = run_batch(verifier, asked.completions, asked.references, asked.context)
    if len(verdicts) != len(asked.completions):
        raise ConfigError(
            f"the verifier {name!r} returned {len(verdicts)} verdicts for "
            f"{len(asked.completions)} completions"
        )
    return verdicts


def run_shaper(
    name: str,
    shaper: Shaper,
    completions: Sequence[Completion],
    columns: Mapping[str, Sequence[Any]],
) -> list[float | None]:
    """Returns a shaper's values as plain floats.

    Raises:
        ConfigError: the shaper raised, or did not return one finite number or None per completion.
    """
    try:
        values = list(shaper(completions, **columns))
    except RewardkitError:
        raise
    except Exception as error:
        raise ConfigError(f"the shaper {name!r} raised {type(error).__name__}: {error}") from error
    if len(values) != len(completions):
        raise ConfigError(
            f"the shaper {name!r} returned {len(values)} values for {len(completions)} completions"
        )
    return [None if value is None else _number(name, value) for value in values]


def _number(name: str, value: SupportsFloat | SupportsIndex) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"the shaper {name!r} returned {value!r:.100}, which is no number: return a float, or "
            "None to say nothing"
        ) from error
    if not math.isfinite(number):
        raise ConfigError(
            f"the shaper {name!r} returned {number}: return a finite float, or None to say nothing"
        )
    return number
