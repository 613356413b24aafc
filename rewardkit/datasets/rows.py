"""One row of a data file: a completion, its reference, and the columns that travel with them."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.completion import Completion
from rewardkit.datasets._values import plain_json
from rewardkit.errors import DataError
from rewardkit.verdict import Json

__all__ = ["Columns", "Record", "Row", "expand_record", "find_column", "hash_content", "look_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns hold what is graded.

    A name that is not a column is read as a path into nested objects: `reward_model.ground_truth`.
    """

    completion: str = "completion"
    """What the model wrote: a string, a chat message list, or a list of either (rollouts)."""
    reference: str = "reference"
    """What the verifier compares with."""
    rollout: str = "rollout"
    """The column that is added when a row holds several completions: 0, 1, 2, …"""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a data file, before its columns are looked at."""

    position: int
    """0 for the first record of the file."""
    place: str
    """File and line (or row) for messages: `rollouts.jsonl:17`."""
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One completion to grade."""

    position: int
    """0 for the first record of the file; the rollouts of one record share it."""
    rollout: int | None
    """Which completion of a record that holds several, from 0; None where there is just one."""
    place: str
    """File and line (or row) for messages: `rollouts.jsonl:17`."""
    completion: Completion
    reference: Json
    columns: dict[str, Any]
    """Every column of the record, by its own name; a list of rollouts is replaced by this one."""
    context_names: tuple[str, ...]
    """The columns that are neither the completion nor the reference: a verifier's context."""

    @property
    def context(self) -> dict[str, Any]:
        """The columns that a verifier gets beside the completion and the reference."""
        return {name: self.columns[name] for name in self.context_names}


def hash_content(completion: object, reference: object) -> str:
    """Returns 16 hexadecimal digits that stand for a completion and its reference.

    Raises:
        DataError: the data is nested too deep to be written as JSON.
    """
    try:
        text = json.dumps([completion, reference], sort_keys=True, default=plain_json)
    except RecursionError:
        raise DataError("the row is nested too deep") from None
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


_Value: TypeAlias = Any
_MISSING = object()


def look_up(data: Mapping[str, Any], name: str, default: object = None) -> _Value:
    """Returns the value of a column, or at a dotted path into nested columns.

    >>> look_up({"reward_model": {"ground_truth": "7"}}, "reward_model.ground_truth")
    '7'
    """
    if name in data:
        return data[name]
    value: Any = data
    for key in name.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return default
        value = value[key]
    return value


def _replace(data: Mapping[str, Any], name: str, value: object) -> dict[str, Any]:
    """Returns a copy of `data` with `value` at `name`; what lies on the path is copied too."""
    if name in data or "." not in name:
        return {**data, name: value}
    head, rest = name.split(".", 1)
    return {**data, head: _replace(data[head], rest, value)}


def find_column(record: Record, name: str, option: str) -> _Value:
    """Returns the value at a column name or a dotted path.

    Args:
        record: where to look.
        name: a column, or a path into nested objects.
        option: what the column is for, `completion` or `reference`: named in the message.

    Raises:
        DataError: there is no such column; the message lists those that exist.
    """
    value = look_up(record.data, name, _MISSING)
    if value is _MISSING:
        found = ", ".join(sorted(record.data)) or "none"
        raise DataError(
            f"{record.place}: no column {name!r} for the {option}. The columns here: {found}. "
            f"Name the right one with --{option}-column."
        )
    return value


def _is_chat(items: list[Any]) -> bool:
    return any(
        isinstance(item, Mapping) and ("role" in item or "content" in item) for item in items
    )


def _is_rollouts(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and not _is_chat(value)
        and all(item is None or isinstance(item, str | list) for item in value)
    )


def _check_completion(value: object, record: Record, name: str) -> Completion:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and (not value or _is_chat(value)):
        return value
    raise DataError(
        f"{record.place}: the completion in {name!r} is {_describe(value)}; it must be text, "
        "a list of chat messages, or a list of either (one entry a rollout)."
    )


def _describe(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__} of another shape")


def expand_record(record: Record, columns: Columns) -> Iterator[Row]:
    """Yields the rows of one record: one, or one for each completion of a list.

    An empty list is one completion that says nothing, so that no record is lost.

    Raises:
        DataError: a column is missing, or the completion is not text or chat messages.
    """
    completion = find_column(record, columns.completion, "completion")
    reference = find_column(record, columns.reference, "reference")
    graded = {_top(record.data, columns.completion), _top(record.data, columns.reference)}
    names = tuple(name for name in record.data if name not in graded)
    if not _is_rollouts(completion):
        checked = _check_completion(completion, record, columns.completion)
        yield Row(record.position, None, record.place, checked, reference, dict(record.data), names)
        return
    if columns.rollout in record.data:
        raise DataError(
            f"{record.place}: the rows hold lists of completions and already have a column "
            f"{columns.rollout!r}. Name the added one with --rollout-column."
        )
    for index, one in enumerate(completion):
        data = _replace(record.data, columns.completion, one)
        data[columns.rollout] = index
        checked = _check_completion(one, record, columns.completion)
        yield Row(record.position, index, record.place, checked, reference, data, names)


def _top(data: Mapping[str, Any], name: str) -> str:
    """Returns the column that holds `name`; a column that also holds other things stays context."""
    return name if name in data else ""
