"""What a verifier was told, in one picklable and hashable object."""

from dataclasses import dataclass

from rewardkit.verifiers.sql._engines.base import Limits
from rewardkit.verifiers.sql.prover import Prover

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of `SqlVerifier`, which documents them."""

    dialect: str = "sqlite"
    databases: int = 20
    strength: bool = True
    partial: float = 0.3
    efficiency: bool = False
    steps: bool = False
    timeout_s: float = 10.0
    max_rows: int = 100_000
    max_steps: int = 20_000_000
    max_chars: int = 20_000
    tolerance: float = 1e-9
    dsn: str | None = None
    compat: str | None = None
    prover: Prover | None = None

    def limits(self, *, steps: int | None) -> Limits:
        """Returns the limits of one query: two fifths of the time of a verdict."""
        return Limits(seconds=0.4 * self.timeout_s, steps=steps, rows=self.max_rows)
