"""A reward in a verifier's place, so that whole files can be scored by it."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward, RewardRow
from rewardkit.reward_file import load_reward
from rewardkit.scoring.scored import REWARD_EVIDENCE
from rewardkit.shaping import GroupShaper
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch

__all__ = ["RewardVerifier"]


class RewardVerifier(Verifier):
    r"""Grades each completion by a reward, and says so in a verdict.

    The verdict is that of the first component that is a verifier and has a weight (else of the
    first that is one), so that pass rates and reasons mean what they mean for it. Its `evidence`
    has `reward`: the total, which need not lie in [0, 1], the value of each component, and what the
    other verifiers said. Without any verifier the verdict's score is the total, held to [0, 1].

    Args:
        reward: what scores. Each row is scored by itself or in batches of any size, so it may not
            compare completions.
        reference: the column under which the reward sees the references; left out: the one that
            its first verifier reads.
        source: what `load_reward` made it of: copies in other processes are made of it anew.

    Raises:
        ConfigError: a component compares completions.

    >>> from rewardkit import MathVerifier
    >>> made = RewardVerifier(Reward({"math": MathVerifier()}, weights={"math": 2.0}))
    >>> verdict = made.verify("\\boxed{4}", "4")
    >>> verdict.score, verdict.evidence["reward"]["total"]
    (1.0, 2.0)
    """

    name = "reward"

    def __init__(
        self, reward: Reward, *, reference: str | None = None, source: str | None = None
    ) -> None:
        if (found := _comparing(reward)) is not None:
            raise ConfigError(
                f"the component {found!r} compares the completions of a group, and a file is "
                "graded in batches that know no groups: leave it out here"
            )
        self.reward = reward
        self.reference = _reference_column(reward) if reference is None else reference
        self.source = source

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion.

        Raises:
            ConfigError: the reward reads a column that the row lacks, or a shaper failed.
            InvalidReferenceError: the reference cannot be read.
        """
        row = self.reward.score_one(completion, **{**context, self.reference: reference})
        return self._verdict(row)

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, as `verify` does; the reward sees them together."""
        check_batch(completions, references, columns)
        given = {**columns, self.reference: references}
        result = self.reward.score(completions, **given)
        return [self._verdict(result.row(index)) for index in range(len(completions))]

    async def averify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns what `verify` does, off the event loop."""
        given = {**context, self.reference: reference}
        return self._verdict(await self.reward.ascore_one(completion, **given))

    def close(self) -> None:
        """Closes the reward. It may be used again."""
        self.reward.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.source is not None:
            return _remade, (self.source, self.reference)
        return functools.partial(RewardVerifier, reference=self.reference), (self.reward,)

    def _verdict(self, row: RewardRow) -> Verdict:
        weighted = (n for n in row.verdicts if self.reward.weights.get(n.partition("/")[0]))
        name = next(weighted, next(iter(row.verdicts), None))
        chosen = _of_total(row.score) if name is None else row.verdicts[name]
        others: dict[str, Json] = {
            other: {"score": one.score, "reason": one.reason.value, "detail": one.detail}
            for other, one in row.verdicts.items()
            if other != name
        }
        told: dict[str, Json] = {
            "total": row.score,
            "components": dict(row.components),
            "graded_by": name,
            "verdicts": others,
        }
        return replace(chosen, evidence={**chosen.evidence, REWARD_EVIDENCE: told})


@functools.lru_cache(maxsize=4)
def _remade(source: str, reference: str) -> RewardVerifier:
    return RewardVerifier(load_reward(source), reference=reference, source=source)


def _of_total(total: float | None) -> Verdict:
    said = "reward: no component is a verifier"
    if total is None:
        return Verdict(None, Reason.UNPROVED, detail=said)
    held = min(max(total, 0.0), 1.0)
    reason = Reason.PARTIAL if 0 < held < 1 else Reason.MATCH if held else Reason.MISMATCH
    return Verdict(held, reason, detail=f"{said}; the total is {total:g}")


def _comparing(reward: Reward) -> str | None:
    """Returns the name of a component that compares completions, if there is one."""
    for name, component in reward.components.items():
        if isinstance(component, GroupShaper):
            return name
        if isinstance(component, Reward) and (inner := _comparing(component)) is not None:
            return f"{name}/{inner}"
    return None


def _reference_column(reward: Reward) -> str:
    """Returns the column that the first verifier reads, or `reference` where there is none."""
    for name, component in reward.components.items():
        if isinstance(component, Reward):
            return _reference_column(component)
        if isinstance(component, Verifier):
            return reward.references.get(name, "reference")
    return "reference"
