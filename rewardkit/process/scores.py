"""Step scores: what each step is worth, and how they become one number without paying for steps."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason, StepVerdict

__all__ = ["Aggregator", "Missing", "ScoreKind", "StepScores", "aggregate_steps", "score_reason"]

ScoreKind: TypeAlias = Literal["probability", "label", "progress", "penalty"]
"""What a step's number is.

- probability: that the step is right, in [0, 1];
- label: right (1) or wrong (0);
- progress: a difference of a potential before and after the step, in [-1, 1];
- penalty: at most 0.
"""

Aggregator: TypeAlias = Literal["min", "prod", "mean", "last", "first_error"]
"""How step scores become one number: see `aggregate_steps`."""

Missing: TypeAlias = Literal["ignore", "propagate"]
"""What an undecided step does: it is left out, or the whole is undecided."""

_BOUNDS: Mapping[str, tuple[float, float]] = {
    "probability": (0.0, 1.0),
    "label": (0.0, 1.0),
    "progress": (-1.0, 1.0),
    "penalty": (-math.inf, 0.0),
}


def _product(values: Sequence[float]) -> float:
    if min(values) <= 0:
        return 0.0
    return math.exp(math.fsum(math.log(value) for value in values))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_SIMPLE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "prod": _product,
    "mean": _mean,
    "last": lambda values: values[-1],
}


@dataclass(frozen=True, slots=True)
class StepScores:
    """One number a step, in order; None for a step that nothing could decide.

    Raises:
        ConfigError: a value is outside the range of its kind.

    >>> scores = StepScores((1.0, 0.5, None, 0.8), "probability")
    >>> scores.aggregate("prod"), scores.aggregate("prod", missing="propagate")
    (0.4, None)
    >>> scores.first_error(threshold=0.6)
    1
    """

    values: tuple[float | None, ...]
    kind: ScoreKind = "probability"

    def __post_init__(self) -> None:
        if self.kind not in get_args(ScoreKind):
            raise ConfigError(f"kind is one of {', '.join(get_args(ScoreKind))}: {self.kind!r}")
        low, high = _BOUNDS[self.kind]
        for step, value in enumerate(self.values):
            if value is None:
                continue
            wrong_label = self.kind == "label" and value not in (0.0, 1.0)
            if not (low <= value <= high and math.isfinite(value)) or wrong_label:
                raise ConfigError(f"step {step}: {value!r} is no {self.kind}, see ScoreKind")

    @classmethod
    def from_steps(cls, steps: Sequence[StepVerdict], *, kind: ScoreKind = "probability") -> Self:
        """Returns the scores of a verdict's steps: Lean tactics, equalities, claims, tool turns.

        Args:
            steps: `Verdict.steps` of any verifier.
            kind: of the numbers.
        """
        return cls(tuple(step.score for step in steps), kind)

    def __len__(self) -> int:
        return len(self.values)

    def to_steps(self, spans: Sequence[tuple[int, int]]) -> tuple[StepVerdict, ...]:
        """Returns step verdicts over spans of the text, as `Verdict.steps` holds them.

        Raises:
            ConfigError: the kind has negative numbers, or there is another number of spans.
        """
        if self.kind in ("progress", "penalty"):
            raise ConfigError(f"a step verdict's score is in [0, 1]: a {self.kind} does not fit it")
        if len(spans) != len(self.values):
            raise ConfigError(f"{len(spans)} spans for {len(self.values)} steps")
        return tuple(
            StepVerdict(start, end, value, score_reason(value))
            for (start, end), value in zip(spans, self.values, strict=True)
        )

    def first_error(self, *, threshold: float = 0.5) -> int | None:
        """Returns the first step below the threshold, or None where there is none.

        Undecided steps are no errors. For progress and penalties give a threshold of your own.
        """
        for step, value in enumerate(self.values):
            if value is not None and value < threshold:
                return step
        return None

    def aggregate(
        self,
        how: Aggregator = "min",
        *,
        missing: Missing = "ignore",
        count: int | None = None,
        threshold: float = 0.5,
    ) -> float | None:
        """Returns one number, as `aggregate_steps`."""
        return aggregate_steps(self.values, how, missing=missing, count=count, threshold=threshold)

    def summands(self) -> tuple[float, ...]:
        """Returns numbers that may be added up without paying for steps; undecided ones are 0.

        Progress telescopes and penalties are at most 0, so they stay as they are. A probability or
        a label p becomes p - 1, what the step falls short of being right: a right step adds
        nothing, however many there are.

        >>> StepScores((1.0, 0.0, None), "label").summands()
        (0.0, -1.0, 0.0)
        """
        shift = 1.0 if self.kind in ("probability", "label") else 0.0
        return tuple(0.0 if value is None else value - shift for value in self.values)

    def suffix_sums(self, *, gamma: float = 1.0) -> tuple[float, ...]:
        """Returns for each step the discounted sum of its own summand and all later ones.

        R_k = s_k + gamma R_(k+1). With gamma = 1 no added step of score 1 (or progress 0) changes
        any other step's sum. With gamma < 1 a wrong step weighs less the more steps stand before
        it, so a discount by steps pays for padding.

        Args:
            gamma: discount a step, in [0, 1].

        >>> StepScores((1.0, 0.0, 1.0), "label").suffix_sums()
        (-1.0, -1.0, 0.0)
        """
        if not 0 <= gamma <= 1:
            raise ConfigError(f"gamma is in [0, 1], not {gamma!r}")
        total, sums = 0.0, []
        for value in reversed(self.summands()):
            total = value + gamma * total
            sums.append(total)
        return tuple(reversed(sums))


def aggregate_steps(
    values: Sequence[float | None],
    how: Aggregator = "min",
    *,
    missing: Missing = "ignore",
    count: int | None = None,
    threshold: float = 0.5,
) -> float | None:
    """Returns one number from the scores of steps; None where no step is decided.

    - `min`: the worst step (hard labels).
    - `prod`: the product of probabilities, in log space; values of 0 or less give 0.
    - `mean`: the mean; with `count` it is 1 - sum(1 - v) / count, held to 0 or more: a mean over a
      fixed number of steps, where the steps that are not there count as right.
    - `last`: the last decided step (value-like scores).
    - `first_error`: the share of the steps before the first one below the threshold; 1 if none.

    `min`, `prod` and `mean` with `count` never rise when a step of at most 1 is added: use these as
    rewards. The plain mean, `last` and `first_error` rise with added right steps, and are for
    reading and ranking.

    Args:
        values: (K,).
        how: one of the above.
        missing: whether undecided steps are left out, or make the whole undecided.
        count: for `mean`, the fixed divisor, at least 1.
        threshold: for `first_error`.

    Raises:
        ConfigError: there is no such aggregator, or an option does not fit it.

    >>> aggregate_steps([1.0, 0.0], "mean"), aggregate_steps([1.0, 1.0, 0.0], "mean", count=4)
    (0.5, 0.75)
    """
    if how not in get_args(Aggregator):
        raise ConfigError(f"no aggregator {how!r}; there are: {', '.join(get_args(Aggregator))}")
    if count is not None and (how != "mean" or count < 1):
        raise ConfigError("count is the fixed divisor of the mean: at least 1, for `mean` only")
    decided = [value for value in values if value is not None]
    if not decided or (missing == "propagate" and len(decided) < len(values)):
        return None
    if how == "first_error":
        right = next((k for k, v in enumerate(decided) if v < threshold), len(decided))
        return right / len(decided)
    if count is not None:
        return max(1.0 - math.fsum(1.0 - value for value in decided) / count, 0.0)
    return float(_SIMPLE[how](decided))


def score_reason(score: float | None) -> Reason:
    """Returns the reason of a step that only a number is known of."""
    if score is None:
        return Reason.UNPROVED
    if score in (0.0, 1.0):
        return Reason.MATCH if score else Reason.MISMATCH
    return Reason.PARTIAL
