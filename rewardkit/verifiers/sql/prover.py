"""Provers: a second opinion on queries that no database tells apart. Advisory, never a judge.

A prover that says "equivalent" raises the confidence of a verdict that data has already made. One
that says "different" may give rows: both queries are run on them, and only what the engine then
shows counts. No prover can turn a difference that was seen on data into agreement.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rewardkit._install import require_extra
from rewardkit.verifiers.sql._engines.base import Data
from rewardkit.verifiers.sql._schema import Schema

if TYPE_CHECKING:  # the caller's process loads no parser
    from sqlglot import exp

__all__ = ["Claim", "Proof", "ProofStatus", "Prover", "Z3Prover"]


class ProofStatus(StrEnum):
    """What a prover says of two queries."""

    EQUIVALENT = "equivalent"
    """They give the same on every database, under the prover's assumptions."""
    DIFFERENT = "different"
    """They may differ: `Proof.data` says where."""
    UNKNOWN = "unknown"
    """Neither was found."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is asked: do two queries give the same on every database?"""

    query: "exp.Expr"
    """The prediction, as sqlglot reads it in the engine's dialect."""
    reference: "exp.Expr"
    schema: Schema
    ddl: str
    dialect: str
    """Of the engine: sqlite, duckdb or postgres."""
    ordered: bool
    """Whether the order of rows counts."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A prover's answer."""

    status: ProofStatus
    data: Data | None = None
    """Rows by table on which they may differ."""
    detail: str = ""


@runtime_checkable
class Prover(Protocol):
    """Whatever may find a proof or a counterexample. Hashable and picklable: it goes to workers."""

    @property
    def name(self) -> str:
        """A word for evidence."""
        ...

    def prove(self, claim: Claim, /) -> Proof:
        """Returns an answer. What it raises counts as `UNKNOWN`."""
        ...


@dataclass(frozen=True, slots=True)
class Z3Prover:
    """Proves selections, inner joins and groups of them the same by z3, table by table.

    It knows NOT NULL and keys, conditions of three values, exact arithmetic of integers, CASE,
    COALESCE, DISTINCT, GROUP BY with COUNT, SUM, AVG, MIN and MAX, HAVING, and the order of
    ORDER BY. Outer joins, set operations, windows, LIMIT and subqueries in conditions are unknown.
    It assumes that columns hold values of their types, and leaves overflow and rounding out.

    Args:
        effort: what z3 may spend on one of its questions, in its own units, at least 1; it does
            not depend on the load of the machine.

    Raises:
        EngineMissingError: `rewardkit[prover]` is not installed.
    """

    effort: int = 1_000_000

    def __post_init__(self) -> None:
        require_extra("prover")

    @property
    def name(self) -> str:
        """`z3`."""
        return "z3"

    def prove(self, claim: Claim, /) -> Proof:
        """Returns a proof, rows to try, or unknown."""
        from rewardkit.verifiers.sql._proving.blocks import Unsupported, read_block
        from rewardkit.verifiers.sql._proving.search import compare_blocks

        if claim.dialect not in ("sqlite", "duckdb") or "collate" in claim.ddl.lower():
            return Proof(ProofStatus.UNKNOWN, detail="another engine, or a collation")
        try:
            found = compare_blocks(
                read_block(claim.query, claim.schema),
                read_block(claim.reference, claim.schema),
                claim.schema,
                claim.dialect,
                ordered=claim.ordered,
                effort=self.effort,
            )
        except (Unsupported, RecursionError) as error:
            return Proof(ProofStatus.UNKNOWN, detail=f"outside of the fragment: {error}")
        if found.proved:
            return Proof(ProofStatus.EQUIVALENT)
        status = ProofStatus.UNKNOWN if found.data is None else ProofStatus.DIFFERENT
        return Proof(status, found.data, found.detail)
