"""What a right query costs beside its reference, on the given rows, without a clock."""

from dataclasses import dataclass

from rewardkit.verifiers.sql._engines.base import QueryError
from rewardkit.verifiers.sql._guard import Query
from rewardkit.verifiers.sql._prepare import Prepared
from rewardkit.verifiers.sql._settings import Settings

__all__ = ["Costs", "measure_costs"]

_UNITS = {"sqlite": "instructions", "duckdb": "rows", "postgres": "plan cost"}


@dataclass(frozen=True, slots=True)
class Costs:
    """Two queries on the same data, in the same unit."""

    prediction: float
    reference: float
    unit: str
    """instructions of SQLite's machine; rows that DuckDB's operators read and give; PostgreSQL's
    own estimate of its plan."""

    @property
    def ratio(self) -> float:
        """Cost of the reference over that of the prediction; above 1 is quicker."""
        return self.reference / self.prediction if self.prediction > 0 else 1.0


def measure_costs(prepared: Prepared, query: Query, settings: Settings) -> Costs | None:
    """Returns the costs of a query and of its reference; None where one cannot be told.

    A reference is measured once, on its own data, before or after any prediction: neither writes.
    """
    limits = settings.limits(steps=settings.max_steps)
    store = prepared.given.store
    try:
        if prepared.cost is None and prepared.references:
            prepared.cost = store.cost(prepared.references[0].sql, limits, trusted=True)
        if prepared.cost is None:
            return None
        own = store.cost(query.sql, limits)
    except QueryError:
        return None
    return Costs(own, prepared.cost, _UNITS[prepared.way.target])
