"""What every engine offers, and how a query ends there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from rewardkit.verifiers.sql._schema import Schema

__all__ = ["Data", "Engine", "Limits", "QueryError", "Result", "Row", "Store"]

Row: TypeAlias = tuple[Any, ...]
Data: TypeAlias = Mapping[str, Sequence[Row]]
"""The rows of each table, in the order of its columns."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may cost."""

    seconds: float = 4.0
    steps: int | None = None
    """Instructions of SQLite's virtual machine; None for no bound but the clock."""
    rows: int = 100_000
    cells_chars: int = 50_000_000
    """Characters and bytes of the whole result."""


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query that ran."""

    columns: tuple[str, ...]
    rows: list[Row]
    steps: int = 0
    """Instructions of SQLite's virtual machine, to a thousand; 0 elsewhere."""
    tables: frozenset[str] | None = None
    """Tables that were read, in lower case; None where the engine does not say."""


class QueryError(Exception):
    """A query that did not end with rows.

    Args:
        kind: unsafe, several_statements, syntax, unknown_name, runtime, timeout, row_cap, memory,
            too_big (its text), engine_crash (it died of the query), engine (it is not there),
            schema (the DDL or the rows do not run).
        message: one line, as the engine puts it.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = " ".join(message.split())[:300]


class Store(Protocol):
    """One database. What a prediction is run on is never read by a reference afterwards."""

    def run(
        self, sql: str, limits: Limits, /, *, trusted: bool = False, cleared: bool = False
    ) -> Result:
        """Returns the rows of a query.

        Args:
            sql: one statement.
            limits: what it may cost.
            trusted: a reference: guards against writing stay, those against functions and
                catalogues do not apply.
            cleared: the same text was admitted by another store of the same engine and tables, so
                that it need not be looked at again; limits stay.

        Raises:
            QueryError: it was refused, failed or went over a limit.
        """
        ...

    def cost(self, sql: str, limits: Limits, /, *, trusted: bool = False) -> float:
        """Returns what a query costs, in the engine's own unit, the same on every run.

        Raises:
            QueryError: as of `run`.
        """
        ...

    def reversed(self) -> "Store | None":
        """Returns the same data where rows come in another order, if the engine can do so."""
        ...

    def close(self) -> None:
        """Frees it."""
        ...


class Engine(Protocol):
    """Makes stores of one schema."""

    schema: Schema
    """Empty where the engine was given no DDL and cannot look."""
    ddl: str
    """Of the schema; empty where it is not known."""

    def given(self) -> Store:
        """Returns the data of the reference."""
        ...

    def generated(self, data: Data, /) -> tuple[Store, Data]:
        """Returns a store with these rows, and those of them that its constraints allow."""
        ...

    def samples(self) -> Data:
        """Returns some of the given rows of each table."""
        ...

    def close(self) -> None:
        """Frees what all stores share."""
        ...
