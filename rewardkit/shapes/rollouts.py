"""A scored batch on its way into the advantage stage, in any trainer."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from rewardkit.advantages import AdvantageAudit, AdvantageDifference, Advantages, AdvantageStage
from rewardkit.advantages.audit import Variant, varies_within_groups
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit.shapes.scored import Scored
from rewardkit.shapes.scorer import Scorer
from rewardkit.verdict import Verdict

__all__ = ["Rollouts"]


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What an `AdvantageStage` takes of a batch; every list has one entry a row.

    >>> rollouts = Rollouts.from_matrix([[1.0, 0.0], [0.0, None]], [1.0, 0.5], ["a", "b"], [7, 7])
    >>> rollouts.rewards, rollouts.advantages(AdvantageStage("mean")).values
    ([1.0, 0.0], [0.5, -0.5])
    """

    rewards: Sequence[float | None]
    """The totals."""
    groups: Sequence[Hashable]
    """The id of each row's group."""
    components: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    """By name, the unweighted values."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """By name of a component."""
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    """By name of a component that is a verifier."""
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The samples' other columns."""
    completions: Sequence[Any] | None = None
    """As they were graded; None where the trainer does not hand them on."""
    lengths: Sequence[int] | None = None
    """Tokens of each completion; None where the trainer takes one number a completion."""
    token_starts: Callable[[int], list[int]] | None = None
    """From a row to where each of its tokens begins in the completion's text."""
    reward: Reward | None = None
    """What made the totals, if it was one reward: its gates and products are then kept."""
    missing_is_zero: bool = False
    """Whether a total that could not be decided was made 0."""

    @classmethod
    def from_matrix(
        cls,
        matrix: Sequence[Sequence[float | None]],
        weights: Sequence[float],
        names: Sequence[str],
        groups: Sequence[Hashable],
        **more: Any,
    ) -> Self:
        """Returns a batch whose totals are weighted sums, as trainers with several rewards do it.

        Args:
            matrix: (B, F) values; None is left out of its row's sum, a row of None is undecided.
            weights: (F,).
            names: (F,).
            groups: (B,).
            more: further fields.

        Raises:
            ConfigError: the shapes do not fit.
        """
        if not len(weights) == len(names) or any(len(row) != len(names) for row in matrix):
            raise ConfigError("the matrix has one column, one weight and one name a reward")
        components = {name: [row[i] for row in matrix] for i, name in enumerate(names)}
        by_name = dict(zip(names, weights, strict=True))
        totals = _weighted(components, by_name, len(matrix))
        return cls(totals, groups, components, by_name, **more)

    @classmethod
    def from_scored(
        cls,
        scorer: Scorer,
        scored: Scored,
        groups: Sequence[Hashable],
        *,
        gather: Callable[[Sequence[Any]], list[Any]] = list,
        **more: Any,
    ) -> Self:
        """Returns a batch whose totals are those of one reward.

        Args:
            scorer: what scored it.
            scored: what came of it.
            groups: (B,).
            gather: joins a list with those of the other processes.
            more: further fields.
        """
        return cls(
            gather(scored.scores),
            groups,
            {name: gather(values) for name, values in scored.result.components.items()},
            scorer.reward.weights,
            {name: gather(verdicts) for name, verdicts in scored.result.verdicts.items()},
            reward=scorer.reward,
            missing_is_zero=scorer.on_missing == "zero",
            **more,
        )

    def advantages(self, stage: AdvantageStage) -> Advantages:
        """Returns what a stage makes of this batch."""
        return self._staged(stage, self.rewards, self.components, audit=False)

    def audit(
        self, audit: AdvantageAudit, stage: AdvantageStage, found: Advantages
    ) -> dict[str, AdvantageDifference]:
        """Returns, by name, how far the advantages are from those without each component.

        A stage with coefficients of its own is also held against its control, as `correction`.

        Args:
            audit: notes the alarms.
            stage: what made the advantages.
            found: the advantages.
        """
        counting = [n for n in self.components if "/" not in n and self._counts(n)]
        without: dict[str, Variant] = {name: self._variant(stage, name) for name in counting}
        if (control := stage.control_stage) is not None:
            without["correction"] = lambda: self._staged(
                control, self.rewards, self.components, audit=True
            )
        varies = {n: varies_within_groups(self.components[n], self.groups) for n in counting}
        varies["correction"] = varies_within_groups(self.rewards, self.groups)
        return audit.check(found, without, varies=varies)

    def figures(
        self, audit: AdvantageAudit | None, stage: AdvantageStage, found: Advantages
    ) -> dict[str, float]:
        """Returns what a trainer logs of the advantages, by name.

        `advantages/zero_groups` is the share of groups without a contrast. With an audit there are
        `advantage_audit/<name>/mean`, `maximum` and `cosine` for each component and correction, and
        `advantage_audit/alarms`, how many of them never reached the gradient so far.
        """
        groups = max(len(set(self.groups)), 1)
        figures = {"advantages/zero_groups": len(found.zero_groups) / groups}
        if audit is None:
            return figures
        for name, difference in self.audit(audit, stage, found).items():
            figures[f"advantage_audit/{name}/mean"] = difference.mean
            figures[f"advantage_audit/{name}/maximum"] = difference.maximum
            if difference.cosine is not None:
                figures[f"advantage_audit/{name}/cosine"] = difference.cosine
        figures["advantage_audit/alarms"] = float(len(audit.alarms))
        return figures

    def _counts(self, name: str) -> bool:
        return self.weights.get(name, 1.0) != 0 or (
            self.reward is not None and name in self.reward.gates
        )

    def _variant(self, stage: AdvantageStage, name: str) -> Variant:
        left = {n: values for n, values in self.components.items() if n != name}

        def variant() -> Advantages:
            if self.reward is None:
                totals = _weighted(left, self.weights, len(self.rewards))
            else:
                totals = self.reward.totals(self.components, without=[name])
            if self.missing_is_zero:
                totals = [0.0 if total is None else total for total in totals]
            return self._staged(stage, totals, left, audit=True)

        return variant

    def _staged(
        self,
        stage: AdvantageStage,
        rewards: Sequence[float | None],
        components: Mapping[str, Sequence[float | None]],
        *,
        audit: bool,
    ) -> Advantages:
        # What a nested reward is made of is there to be logged, and is no term of its own.
        terms = {n: v for n, v in components.items() if "/" not in n}
        if not any(reward is not None for reward in rewards):
            return Advantages([0.0] * len(rewards), [False] * len(rewards), frozenset(self.groups))
        return stage(
            rewards,
            self.groups,
            components=terms,
            weights=self.weights,
            verdicts=self.verdicts,
            columns=self.columns,
            completions=self.completions,
            lengths=self.lengths,
            token_starts=self.token_starts,
            audit=audit,
        )


def _weighted(
    components: Mapping[str, Sequence[float | None]], weights: Mapping[str, float], count: int
) -> list[float | None]:
    totals: list[float | None] = []
    for row in range(count):
        present = {n: v for n, values in components.items() if (v := values[row]) is not None}
        total = math.fsum(weights[name] * value for name, value in present.items())
        totals.append(total if present else None)
    return totals
