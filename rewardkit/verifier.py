"""The one protocol of everything that grades."""

import asyncio
from collections.abc import Mapping, Sequence, Sized
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from rewardkit._active import on_runner
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Verdict

__all__ = ["LargeBatches", "Verifier", "check_batch", "check_entries", "row_contexts"]


@runtime_checkable
class Verifier(Protocol):
    """Grades completions against references.

    A class with `name` and these methods is a verifier; subclassing is not needed, but gives the
    methods below `verify` for nothing. A verifier is picklable, and safe to call from threads, from
    asyncio and in forked children. Its engines start at the first call, and `close` (or a `with`
    block) stops them.

    Inside the `with` block of a runner `verify_batch` grades on the runner, also where a subclass
    has one of its own. `verify` grades here.
    """

    name: str
    """The name under which rewards and reports list it."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "verify_batch" in cls.__dict__:
            cls.verify_batch = on_runner(cls.verify_batch)  # type: ignore[method-assign]

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion.

        Args:
            completion: what the model wrote; anything at all gets a verdict.
            reference: plain JSON data in the shape that the verifier documents.
            context: the sample's other columns; a verifier reads those that it documents.

        Raises:
            InvalidReferenceError: the reference cannot be read; the caller's data is wrong.
        """
        ...

    @on_runner
    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion: same order, same length, always.

        Args:
            completions: what the model wrote.
            references: one per completion, each as `verify` takes it.
            columns: the samples' other columns, one entry per completion.

        Raises:
            ConfigError: a column is no list, or has another length than `completions`.
            InvalidReferenceError: a reference cannot be read.
        """
        check_batch(completions, references, columns)
        return [
            self.verify(completion, reference, **context)
            for completion, reference, context in zip(
                completions, references, row_contexts(len(completions), columns), strict=True
            )
        ]

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns warnings on a reference, one line each: what is ambiguous or slow.

        `rewardkit lint-references` calls it on a whole data set before training.

        Raises:
            InvalidReferenceError: the reference cannot be read.
        """
        return []

    async def averify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion without blocking the event loop."""
        return await asyncio.to_thread(self.verify, completion, reference, **context)

    def close(self) -> None:
        """Stops what the verifier started. It may be used again afterwards."""
        return  # an empty body would make this method abstract for a type checker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@runtime_checkable
class LargeBatches(Protocol):
    """A verifier that waits for others, and is the faster the more rows it has at a time."""

    batch_rows: int
    """Rows below which a batch leaves it idle."""


def check_batch(
    completions: Sequence[Completion],
    references: Sequence[Json],
    columns: Mapping[str, Sequence[Any]],
) -> None:
    """Checks that a batch is rectangular.

    Raises:
        ConfigError: a column is no list, or has another length than `completions`; it is named.
    """
    check_entries("completions", completions)
    for name, column in [("references", references), *columns.items()]:
        check_entries(name, column)
        if len(column) != len(completions):
            raise ConfigError(
                f"{name} has {len(column)} entries for {len(completions)} completions: give one "
                "entry per completion"
            )


def check_entries(name: str, column: object) -> None:
    """Checks that a column holds one entry per row: a text would be taken letter by letter.

    Args:
        name: how the error calls it.
        column: a list, or another sized collection in the order of the rows.

    Raises:
        ConfigError: it is a text, a mapping, or has no length.
    """
    if isinstance(column, str | bytes | bytearray | Mapping) or not isinstance(column, Sized):
        raise ConfigError(
            f"{name} is a {type(column).__name__}: give a list with one entry per completion"
        )


def row_contexts(count: int, columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Returns the columns as one dict a row: what `verify` takes as its context."""
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]
