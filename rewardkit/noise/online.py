"""Rates that are measured while training runs: a second verifier checks a share of the verdicts."""

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.noise.appeals import TwoSidedAudit
from rewardkit.noise.channel import Channel
from rewardkit.noise.rates import Rates
from rewardkit.noise.strata import strata_of_columns
from rewardkit.verifier import Verifier

__all__ = ["OnlineRates"]

_COUNTS = tuple(
    field.name
    for field in dataclasses.fields(TwoSidedAudit)
    if field.name not in ("decay", "judge")
)


class OnlineRates:
    """A channel that follows the verifier: by stratum, from checks with fading counts.

    Each batch, a share of the accepted and of the rejected rollouts goes to the judge, drawn at
    random from a generator of its own, so that a run that goes on from a checkpoint draws what it
    would have drawn. Until a stratum has `min_checks` of each verdict, and while the interval of
    its J reaches 0, it keeps the rates that it had before, at first those of `prior`.

    Args:
        judge: the second verifier; it reads the same references.
        share: of the rollouts that it checks, in (0, 1].
        stratified_by: columns whose values name a stratum; none for one channel.
        decay: as in `TwoSidedAudit`.
        judge_rates: the judge's own error rates, from labels; None takes it for perfect.
        prior: the rates before anything is known.
        min_checks: checks of each verdict, faded, before a stratum has rates of its own.
        references: the column that holds the references.
        seed: of the draws.

    Raises:
        ConfigError: an argument is outside its range.
    """

    def __init__(
        self,
        judge: Verifier,
        *,
        share: float = 0.1,
        stratified_by: Sequence[str] = (),
        decay: float = 0.98,
        judge_rates: Rates | None = None,
        prior: Rates | None = None,
        min_checks: float = 20.0,
        references: str = "reference",
        seed: int = 0,
    ) -> None:
        if not 0.0 < share <= 1.0:
            raise ConfigError(f"share is in (0, 1], not {share}")
        if not min_checks >= 1.0:
            raise ConfigError(f"min_checks is 1 or more, not {min_checks}")
        self.judge = judge
        self.share = share
        self.stratified_by = tuple(stratified_by)
        self.min_checks = min_checks
        self.references = references
        self.seed = seed
        self.prior = Rates.exact(0.0, 0.0) if prior is None else prior
        self.checks = 0
        """Verdicts of the judge so far; its abstentions are not among them."""
        self._empty = TwoSidedAudit(decay=decay, judge=judge_rates)
        self._audits: dict[str, TwoSidedAudit] = {}
        self._rates: dict[str, Rates] = {}
        self._batches = 0

    @property
    def channel(self) -> Channel:
        """The rates as they are now, by stratum where there are columns to stratify by."""
        if not self.stratified_by:
            return Channel(self._rates.get("", self.prior))
        # A stratum that no batch had yet has the prior.
        return Channel(self.prior, dict(self._rates), self.stratified_by)

    def observe(
        self,
        completions: Sequence[Completion],
        scores: Sequence[float | None],
        columns: Mapping[str, Sequence[Any]],
    ) -> None:
        """Takes in a batch: draws, has the judge check what was drawn, and counts.

        Args:
            completions: (B,) what was graded.
            scores: (B,) verdicts, 1 for accepted and 0 for rejected; None is not counted.
            columns: (B,) each, the references among them.

        Raises:
            ConfigError: a column is missing.
        """
        if self.references not in columns:
            raise ConfigError(f"the judge needs the column {self.references!r}, which is missing")
        strata = strata_of_columns(columns, self.stratified_by, len(completions))
        rng = random.Random(f"{self.seed}/{self._batches}")
        self._batches += 1
        drawn = [
            row
            for row, score in enumerate(scores)
            # Every row takes one number, so that a draw does not depend on other rows' verdicts.
            if (rng.random() < self.share) and score is not None
        ]
        references = columns[self.references]
        verdicts = self.judge.verify_batch(
            [completions[row] for row in drawn], [references[row] for row in drawn]
        )
        found = {
            row: verdict.score >= 1.0
            for row, verdict in zip(drawn, verdicts, strict=True)
            if verdict.score is not None
        }
        self.checks += len(found)
        for name in dict.fromkeys(strata):
            rows = [row for row, stratum in enumerate(strata) if stratum == name]
            self._count(name, rows, scores, found)

    def _count(
        self, name: str, rows: list[int], scores: Sequence[float | None], found: dict[int, bool]
    ) -> None:
        counts: dict[str, int] = {}
        for verdict, value in (("accepted", 1.0), ("rejected", 0.0)):
            own = [row for row in rows if scores[row] == value]
            counts[verdict] = len(own)
            counts[f"checked_{verdict}"] = sum(row in found for row in own)
            counts[f"right_{verdict}"] = sum(found.get(row, False) for row in own)
        audit = self._audits[name] = self._audits.get(name, self._empty).update(**counts)
        if min(audit.checked_accepted, audit.checked_rejected) < self.min_checks:
            return
        try:
            rates = audit.rates()
        except ConfigError:
            return  # one truth was not met yet: the rates stay as they were
        if rates.j_low > 0:
            self._rates[name] = rates

    def metrics(self) -> dict[str, float]:
        """Returns the rates for a log, by stratum where there are any."""
        shown = {"checks": float(self.checks)}
        for name, rates in self._rates.items():
            prefix = f"{name}/" if name else ""
            shown |= {f"{prefix}rho0": rates.rho0.value, f"{prefix}rho1": rates.rho1.value}
        return shown

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint keeps, as plain data."""
        return {
            "batches": self._batches,
            "checks": self.checks,
            "counts": {
                name: {key: getattr(audit, key) for key in _COUNTS}
                for name, audit in self._audits.items()
            },
            "rates": Channel(self.prior, dict(self._rates)).to_dict(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._batches, self.checks = state["batches"], state["checks"]
        self._audits = {
            name: dataclasses.replace(self._empty, **counts)
            for name, counts in state["counts"].items()
        }
        self._rates = dict(Channel.from_dict(state["rates"]).strata)
