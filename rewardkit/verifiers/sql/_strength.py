"""How strong databases are: the share of a reference's mutants that they tell from it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rewardkit.verifiers.sql._engines.base import Limits, QueryError
from rewardkit.verifiers.sql._results import Bench, compare
from rewardkit.verifiers.sql.reference import Policy

__all__ = ["Strength", "measure"]


@dataclass(frozen=True, slots=True)
class Strength:
    """How well the databases tell the reference from its mutants."""

    mutants: int = 0
    killed: int = 0
    by_given: int = 0
    """Those that the given rows alone kill."""

    @property
    def score(self) -> float:
        """Share of the mutants that die; equivalent ones among them count as alive."""
        return self.killed / self.mutants if self.mutants else 0.0


def measure(
    mutants: Sequence[str],
    benches: Sequence[Bench],
    more: Callable[[], Iterator[Bench]],
    policy: Policy,
    limits: Limits,
) -> tuple[Strength, list[Bench]]:
    """Returns how many mutants die, and the further databases that kill what the first leave alive.

    Args:
        mutants: SQL with one change each; those that do not run are left out.
        benches: the given rows first.
        more: makes further databases, as long as mutants are alive.
        policy: how results are compared.
        limits: of one run.
    """

    def kills(bench: Bench, sql: str) -> bool:
        expected = bench.expected[0]
        if expected is None:
            return False
        try:
            found = bench.store.run(sql, limits, trusted=True)
        except QueryError:
            return True
        return compare(expected, found, policy) is not None

    given, *generated = benches
    alive = [sql for sql in mutants if _runs(given, sql, limits)]
    count = len(alive)
    alive = [sql for sql in alive if not kills(given, sql)]
    by_given = count - len(alive)
    for bench in generated:
        alive = [sql for sql in alive if not kills(bench, sql)]
    added: list[Bench] = []
    for bench in more() if alive else ():
        left = [sql for sql in alive if not kills(bench, sql)]
        if len(left) < len(alive):
            added.append(bench)
        else:
            bench.store.close()
        alive = left
        if not alive:
            break
    return Strength(count, count - len(alive), by_given), added


def _runs(bench: Bench, sql: str, limits: Limits) -> bool:
    try:
        bench.store.run(sql, limits, trusted=True)
    except QueryError:
        return False
    return True
