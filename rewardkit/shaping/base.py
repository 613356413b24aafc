"""What a shaper is: one of a completion by itself, or one that compares a prompt's completions.

Both are `rewardkit.Shaper`s, functions of a batch, and so components of a `Reward`. Beyond that
they declare their range and the components that they read.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import Unit

__all__ = [
    "CompletionShaper",
    "GroupShaper",
    "Range",
    "Row",
    "Unit",
    "group_key",
]

_WORD = re.compile(r"\S+")


class Range(NamedTuple):
    """The smallest and the largest number that a shaper can give."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """One completion with its columns."""

    completion: Completion
    columns: Mapping[str, Any]
    """The sample's other columns: one entry each, that of this completion."""

    @property
    def text(self) -> str:
        """The text that is graded, as `completion_text` has it."""
        return completion_text(self.completion)

    def column(self, name: str) -> object:
        """Returns this row's entry of a column.

        Raises:
            ConfigError: the batch has no such column.
        """
        if name not in self.columns:
            given = ", ".join(sorted(self.columns)) or "none"
            raise ConfigError(
                f"the column {name!r} is not there (given: {given}). Pass it, name another in the "
                "shaper's options, or give the reward a component of that name"
            )
        return self.columns[name]

    @property
    def token_ids(self) -> Sequence[int]:
        """The column `completion_ids`.

        Raises:
            ConfigError: there is none, or its entry is no list of integers.
        """
        ids = self.column("completion_ids")
        ids = ids.tolist() if hasattr(ids, "tolist") else ids
        if isinstance(ids, list | tuple) and all(isinstance(one, int) for one in ids):
            return ids
        raise ConfigError(f"completion_ids holds lists of token ids, not {ids!r:.100}")

    def score(self, name: str) -> float | None:
        """Returns a score in [0, 1], or None where it was not decided.

        Args:
            name: a component of the same reward, or a column.

        Raises:
            ConfigError: there is neither, or the entry is no number in [0, 1].
        """
        value = self.column(name)
        if value is None:
            return None
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            return float(value)
        raise ConfigError(f"{name!r} holds scores in [0, 1] or None, not {value!r:.100}")

    def length(self, unit: Unit) -> int:
        """Returns the completion's length.

        Raises:
            ConfigError: tokens are to be counted, and there is no column `completion_ids`.
        """
        if unit == "tokens":
            return len(self.token_ids)
        text = self.text
        return len(text) if unit == "characters" else sum(1 for _ in _WORD.finditer(text))


class CompletionShaper(ABC):
    """Looks at one completion by itself: its neighbours in the batch do not matter.

    A value is None only where the batch lacks something that the caller gives (a score that was not
    decided, an entry of None in a column). What a model writes always gets a number.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def range(self) -> Range:
        """The smallest and the largest value."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of components whose scores it reads as columns, if the reward has them."""
        return ()

    @abstractmethod
    def shape(self, row: Row) -> float | None:
        """Returns the value of one completion.

        Raises:
            ConfigError: a column is missing or holds what it must not.
        """

    def __call__(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> list[float | None]:
        """Returns one value a completion, as `rewardkit.Shaper` asks."""
        return [self.shape(row) for row in _rows(completions, columns)]


class GroupShaper(ABC):
    """Compares the completions of one group, mostly those of one prompt.

    Groups are by the value of a column, wherever their rows stand. The order of a group's rows does
    not matter.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def range(self) -> Range:
        """The smallest and the largest value."""

    @property
    @abstractmethod
    def group_column(self) -> str | None:
        """The column whose equal entries make a group; None for one group of all."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of components whose scores it reads as columns, if the reward has them."""
        return ()

    @abstractmethod
    def shape_group(self, rows: Sequence[Row]) -> Sequence[float | None]:
        """Returns one value a row of a group, in its order.

        Raises:
            ConfigError: a column is missing or holds what it must not.
        """

    def __call__(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> list[float | None]:
        """Returns one value a completion, as `rewardkit.Shaper` asks."""
        rows = _rows(completions, columns)
        groups: dict[Hashable, list[int]] = {}
        for index, row in enumerate(rows):
            column = self.group_column
            key = None if column is None else group_key(row.column(column))
            groups.setdefault(key, []).append(index)
        found: list[float | None] = [None] * len(rows)
        for own in groups.values():
            values = self.shape_group([rows[index] for index in own])
            for index, value in zip(own, values, strict=True):
                found[index] = value
        return found


def group_key(value: object) -> Hashable:
    """Returns what tells a group apart; a prompt that is a chat becomes its JSON.

    >>> group_key("2+2") == group_key("2+2"), group_key([{"content": "2+2"}])
    (True, '[{"content": "2+2"}]')
    """
    if isinstance(value, str | int | float | bool | None):
        return value
    return json.dumps(value, sort_keys=True, default=repr)


def _rows(completions: Sequence[Completion], columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    names = list(columns)
    return [
        Row(completion, dict(zip(names, entries, strict=True)))
        for completion, entries in zip(
            completions,
            zip(*columns.values(), strict=True) if names else [()] * len(completions),
            strict=True,
        )
    ]
