"""The stage that trainers run: an estimator by name, or coefficients of one's own."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from rewardkit.advantages.estimators import (
    Advantages,
    Estimator,
    StdKind,
    check_rewards,
    estimate_advantages,
)
from rewardkit.errors import ConfigError

__all__ = ["AdvantageStage", "Coefficient", "Coefficients"]

Coefficient: TypeAlias = float | Sequence[float] | None
"""A row's number; or one a token of its completion; or None to leave the row out."""


class Coefficients(Protocol):
    """What takes an estimator's place: any function of this shape.

    Corrections for a verifier's errors and step rewards come in here, after the group step, because
    a group z-score cancels every affine map of a reward.
    """

    def __call__(
        self, rewards: Sequence[float | None], groups: Sequence[Hashable], /, **context: Any
    ) -> Sequence[Coefficient]:
        """Returns one coefficient a row.

        Args:
            rewards: (B,) totals, None where undecided.
            groups: (B,) ids.
            context: what the trainer's adapter has, by name; take what you need and `**context`
                for the rest. `components` and `verdicts`: as in `RewardResult`. `weights`: of the
                components. `columns`: the samples' other columns, (B,) each. `completions`: (B,)
                as they were graded. `lengths`: (B,) tokens of each completion. `token_starts`: a
                function from a row to the position in the completion's text at which each of its
                tokens begins. `audit`: True where the audit asks with other rewards; a function
                that keeps a running figure does not add to it.
        """
        ...


class AdvantageStage:
    """From rewards to advantages, the same in every trainer.

    Args:
        estimator: a name of `estimate_advantages`, or a function of the shape of `Coefficients`.
        std: the divisor of the variances.
        eps: added to a deviation, in units of the reward.
        control: for a function, what the audit holds it against: an estimator, or a function that
            is the same but for the correction.

    Raises:
        ConfigError: an argument is outside what `estimate_advantages` says.

    >>> stage = AdvantageStage("mean")
    >>> stage([1.0, 0.0], ["a", "a"]).values
    [0.5, -0.5]
    """

    def __init__(
        self,
        estimator: Estimator | Coefficients = "leave_one_out",
        *,
        std: StdKind = "sample",
        eps: float = 1e-4,
        control: Estimator | Coefficients = "leave_one_out",
    ) -> None:
        self.estimator: Estimator | Coefficients = estimator
        self.std: StdKind = std
        self.eps = eps
        self.control: Estimator | Coefficients = control
        self.metrics: dict[str, float] = {}
        """Of the last call, for a trainer's log; a stage of one's own may put figures here."""
        if isinstance(estimator, str):
            # An empty batch shows what is wrong with the options now, not in the first step.
            estimate_advantages([], [], estimator=estimator, std=std, eps=eps, components={"": []})
        elif not callable(estimator):
            raise ConfigError(f"estimator is a name or a function, not {estimator!r}")

    @property
    def name(self) -> str:
        """The estimator's name, for logs."""
        if isinstance(self.estimator, str):
            return self.estimator
        return getattr(self.estimator, "__name__", type(self.estimator).__name__)

    @property
    def control_stage(self) -> "AdvantageStage | None":
        """The stage that the audit holds this one against; None for a plain estimator."""
        if isinstance(self.estimator, str):
            return None
        return AdvantageStage(self.control, std=self.std, eps=self.eps)

    def __call__(
        self, rewards: Sequence[float | None], groups: Sequence[Hashable], **context: Any
    ) -> Advantages:
        """Returns the advantages of a batch.

        Args:
            rewards: (B,) totals, None where undecided.
            groups: (B,) the id of each row's group.
            context: as `Coefficients` lists it.

        Raises:
            ConfigError: the batch is not rectangular, or a function returned something else than
                what `Coefficients` asks for.
        """
        components: Mapping[str, Sequence[float | None]] | None = context.get("components")
        plain: Estimator = self.estimator if isinstance(self.estimator, str) else "none"
        estimated = estimate_advantages(
            rewards,
            groups,
            estimator=plain,
            std=self.std,
            eps=self.eps,
            components=components,
            weights=context.get("weights"),
        )
        if isinstance(self.estimator, str):
            return estimated
        rows = list(self.estimator(rewards, groups, **context))
        return self._read(rows, estimated, context.get("lengths"))

    def _read(
        self, rows: list[Coefficient], plain: Advantages, lengths: Sequence[int] | None
    ) -> Advantages:
        if len(rows) != len(plain):
            raise ConfigError(
                f"{self.name} returned {len(rows)} coefficients for {len(plain)} rows"
            )
        decided = [d and row is not None for d, row in zip(plain.decided, rows, strict=True)]
        kept = [
            _numbers(self.name, row) if d else 0.0 for d, row in zip(decided, rows, strict=True)
        ]
        values = [row for row in kept if isinstance(row, float)]
        if len(values) == len(kept):
            check_rewards(self.name, values)
            return Advantages(values, decided, plain.zero_groups)
        if lengths is None:
            raise ConfigError(
                f"{self.name} returned one number a token, and this trainer takes one a completion"
            )
        tokens = [
            _per_token(self.name, index, row, length)
            for index, (row, length) in enumerate(zip(kept, lengths, strict=True))
        ]
        means = [sum(row) / len(row) if row else 0.0 for row in tokens]
        return Advantages(means, decided, plain.zero_groups, tokens)


def _numbers(name: str, row: object) -> float | list[float]:
    try:
        if isinstance(row, Iterable) and not isinstance(row, str | bytes):
            return [float(value) for value in row]
        return float(row)  # type: ignore[arg-type] # what is no number is refused here
    except (TypeError, ValueError):
        raise ConfigError(f"{name} returned {row!r:.100}, which is no number") from None


def _per_token(name: str, index: int, row: float | list[float], length: int) -> list[float]:
    values = row if isinstance(row, list) else [row] * length
    if len(values) != length:
        raise ConfigError(
            f"{name} returned {len(values)} numbers for row {index}, which has {length} tokens"
        )
    check_rewards(f"{name}, row {index}, token", values)
    return values
