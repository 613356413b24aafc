"""What a right query costs beside its reference, on the given rows, without a clock."""

from dataclasses import dataclass

from rewardkit.verifiers.sql._engines.base import QueryError
from rewardkit.verifiers.sql._guard import Query
from rewardkit.verifiers.sql._prepare import Prepared
from rewardkit.verifiers.sql._settings import Settings

__all__ = ["Costs", "measure_costs"]

_MANY = 20_000
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


def measure_costs(
    prepared: Prepared, query: Query, settings: Settings, *, steps: int = 0
) -> Costs | None:
    """Returns the costs of a query and of its reference; None where one cannot be told.

    A reference is measured once, on its own data, before or after any prediction: neither writes.

    Args:
        prepared: the reference.
        query: the prediction.
        settings: the limits.
        steps: instructions that a run of the query on the given rows has taken, to a thousand;
            where they are many, they are the cost.
    """
    limits = settings.limits(steps=settings.max_steps)
    store = prepared.given.store
    try:
        if prepared.cost is None and prepared.references:
            known = prepared.steps if len(prepared.references) == 1 else 0
            sql = prepared.references[0].sql
            prepared.cost = known if known > _MANY else store.cost(sql, limits, trusted=True)
        if prepared.cost is None:
            return None
        own = steps if steps > _MANY else store.cost(query.sql, limits)
    except QueryError:
        return None
    return Costs(own, prepared.cost, _UNITS[prepared.way.target])
