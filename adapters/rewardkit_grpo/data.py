"""Prompts, checked before the first step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.errors import DataError, InvalidReferenceError
from rewardkit.reward import Reward
from rewardkit.verifier import Verifier

__all__ = [
    "Prompt",
    "Tokenizer",
    "check_columns",
    "check_references",
    "columns_of",
    "load_prompts",
]

Tokenizer: TypeAlias = Any
"""What has `encode`, `decode`, `eos_token_id` and, for chats, `apply_chat_template`."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One row of the data set."""

    index: int
    text: str
    """What the model reads; a chat in the template of its tokenizer."""
    ids: tuple[int, ...]
    columns: Mapping[str, Any]
    """All columns of the row, `prompt` among them as it was given."""


def load_prompts(
    rows: Iterable[Mapping[str, Any]],
    tokenizer: Tokenizer,
    *,
    reward: Reward | None = None,
    max_tokens: int | None = None,
    where: str = "the data set",
) -> list[Prompt]:
    """Returns the rows with their prompts as token ids.

    Args:
        rows: each with `prompt`, a text or chat messages, and the columns that the reward reads.
        tokenizer: of the model.
        reward: whose reference columns must be there and readable.
        max_tokens: the longest prompt; None for no bound.
        where: what messages call the data.

    Raises:
        DataError: there is no row, or one lacks a column, has a prompt of another kind or too long.
        InvalidReferenceError: a reference cannot be read; its row is named.
    """
    prompts: list[Prompt] = []
    for index, columns in enumerate(check_columns(rows, where=where)):
        text, ids = _tokens(columns["prompt"], tokenizer, f"{where}, row {index}")
        if not ids or (max_tokens is not None and len(ids) > max_tokens):
            raise DataError(
                f"{where}, row {index}: the prompt has {len(ids)} tokens; allowed are 1 to "
                f"{max_tokens or 'any number'} (max_prompt_tokens)"
            )
        prompts.append(Prompt(index, text, ids, columns))
    if reward is not None:
        check_references(reward, [prompt.columns for prompt in prompts], where=where)
    return prompts


def check_columns(
    rows: Iterable[Mapping[str, Any]], *, where: str = "the data set"
) -> Iterator[dict[str, Any]]:
    """Yields the rows, each after it was seen to have a `prompt` and the columns of the first.

    Args:
        rows: as for `load_prompts`.
        where: what messages call the data.

    Raises:
        DataError: there is no row, or one lacks a column.
    """
    first: dict[str, Any] | None = None
    for index, row in enumerate(rows):
        columns = dict(row)
        if "prompt" not in columns:
            raise DataError(
                f"{where}, row {index}: no column 'prompt' (there are: "
                f"{', '.join(map(str, columns)) or 'none'})"
            )
        first = columns if first is None else first
        if columns.keys() != first.keys():
            odd = sorted(columns.keys() ^ first.keys())
            raise DataError(
                f"{where}, row {index}: other columns than row 0 ({', '.join(odd)}); give every "
                "row the same, None where there is nothing to say"
            )
        yield columns
    if first is None:
        raise DataError(f"{where} has no rows")


def columns_of(prompts: Iterable[Prompt]) -> dict[str, list[Any]]:
    """Returns the columns of some prompts, one entry a prompt, as a reward takes them."""
    found: dict[str, list[Any]] = {}
    for prompt in prompts:
        for name, value in prompt.columns.items():
            found.setdefault(name, []).append(value)
    return found


def prompt_tokens(prompt: object, tokenizer: Tokenizer, where: str) -> tuple[int, ...]:
    """Returns a prompt's tokens: of its text, or of its chat with the tokenizer's template.

    Raises:
        DataError: it is neither, or there is no template.
    """
    return _tokens(prompt, tokenizer, where)[1]


def _tokens(prompt: object, tokenizer: Tokenizer, where: str) -> tuple[str, tuple[int, ...]]:
    if isinstance(prompt, str):
        return prompt, tuple(tokenizer.encode(prompt))
    if isinstance(prompt, list) and all(isinstance(message, Mapping) for message in prompt):
        if getattr(tokenizer, "chat_template", None) is None:
            raise DataError(
                f"{where}: the prompt is a chat and the tokenizer has no chat template; give text"
            )
        text = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        return text, tuple(tokenizer.encode(text, add_special_tokens=False))
    raise DataError(
        f"{where}: the prompt is a {type(prompt).__name__}; give text or a list of chat messages"
    )


def check_references(
    reward: Reward, rows: Sequence[Mapping[str, Any]], *, where: str = "the data set"
) -> None:
    """Checks that every verifier of a reward finds its references in the rows and can read them.

    Args:
        reward: what will grade.
        rows: columns by name, the same in each.
        where: what messages call the data.

    Raises:
        DataError: a column is missing.
        InvalidReferenceError: a reference cannot be read; its row is named.
    """
    for name, component in reward.components.items():
        if isinstance(component, Reward):
            check_references(component, rows, where=where)
        elif isinstance(component, Verifier):
            column = reward.references.get(name, "reference")
            for index, row in enumerate(rows):
                if column not in row:
                    raise DataError(
                        f"{where}, row {index}: no column {column!r}, from which the component "
                        f"{name!r} reads its references (there are: {', '.join(row)})"
                    )
                try:
                    component.check_reference(row[column])
                except InvalidReferenceError as error:
                    raise InvalidReferenceError(f"{where}, row {index}: {error}") from error
