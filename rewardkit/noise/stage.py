"""A correction where trainers take one: in the place of an advantage estimator."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.noise.channel import Channel
from rewardkit.noise.corrected_rewards import MIN_J
from rewardkit.noise.corrections import (
    Correction,
    Scale,
    backward_coefficients,
    check_combination,
    forward_coefficients,
)
from rewardkit.noise.online import OnlineRates
from rewardkit.noise.rates import Rates
from rewardkit.noise.scaling import EmaScale
from rewardkit.noise.strata import strata_of_columns

__all__ = ["NoiseCorrection", "StageScale"]

StageScale: TypeAlias = Scale | Literal["ema"]
"""A `Scale`, or `"ema"`: the root mean square of earlier batches' coefficients."""


class NoiseCorrection:
    """Coefficients of the log-probabilities, corrected for the verifier's errors.

    It goes into an `AdvantageStage`, and so into every trainer that has one:
    `AdvantageStage(NoiseCorrection("backward", Channel.load("noise.json")))`. Backward centres
    leave-one-out, forward does not centre. The rewards are the verdicts of one verifier, 0 or 1.

    Args:
        correction: `"backward"` (PGBC) or `"forward"` (PGFC), of arXiv 2510.00915.
        rates: of the verifier: known, by stratum as in a `noise.json`, or measured on the way. The
            columns that name a stratum are columns of the data set.
        scale: what the coefficients are divided by; never the batch's own deviation.
        decay: of the `"ema"` scale.
        accept_at: from which reward on a rollout counts as accepted, where the verifier gives
            partial credit; None takes verdicts of 0 and 1 alone.
        min_j: as in `correct_backward`.

    Raises:
        ConfigError: the combination would cancel, or known rates cannot be inverted.

    >>> corrected = NoiseCorrection("backward", Rates.exact(0.1, 0.4))
    >>> corrected([1.0, 0.0], ["a", "a"])
    [2.0, -2.0]
    """

    def __init__(
        self,
        correction: Correction,
        rates: Rates | Channel | OnlineRates,
        *,
        scale: StageScale = 1.0,
        decay: float = 0.9,
        accept_at: float | None = None,
        min_j: float = MIN_J,
    ) -> None:
        self.correction: Correction = correction
        self.rates = rates
        self.scale: StageScale = scale
        self.accept_at = accept_at
        self.min_j = min_j
        self.average = EmaScale(decay=decay)
        baseline = "leave_one_out" if correction == "backward" else "none"
        check_combination(correction, baseline=baseline, scale=1.0 if scale == "ema" else scale)
        if not isinstance(rates, OnlineRates):
            self._check(rates)

    def __call__(
        self, rewards: Sequence[float | None], groups: Sequence[Hashable], /, **context: Any
    ) -> list[float | None]:
        """Returns one coefficient a row; None stays None.

        Args:
            rewards: (B,) verdicts: 0, 1 or None; or partial credit, with `accept_at`.
            groups: (B,) ids.
            context: `columns` where the rates are by stratum; with rates that are measured on the
                way, `columns` and `completions`, (B,) each.

        Raises:
            ConfigError: a reward is another number, or a column is missing.
        """
        columns: Mapping[str, Sequence[Any]] = context.get("columns") or {}
        if self.accept_at is not None:
            rewards = [None if r is None else float(r >= self.accept_at) for r in rewards]
        asked_by_audit = context.get("audit", False)
        if isinstance(self.rates, OnlineRates) and not asked_by_audit:
            if context.get("completions") is None:
                raise ConfigError(
                    "rates that are measured on the way need the completions, which this trainer "
                    "does not hand to its advantage stage; measure them before, with an audit"
                )
            self.rates.observe(context["completions"], rewards, columns)
        channel = self.rates.channel if isinstance(self.rates, OnlineRates) else self.rates
        values = self._coefficients(channel, rewards, groups, columns)
        if self.scale == "ema":
            divisor = self.average.value
            if not asked_by_audit:
                self.average = self.average.update(values)
            values = [value / divisor for value in values]
        pairs = zip(rewards, values, strict=True)
        return [None if reward is None else value for reward, value in pairs]

    def _coefficients(
        self,
        channel: Rates | Channel,
        rewards: Sequence[float | None],
        groups: Sequence[Hashable],
        columns: Mapping[str, Sequence[Any]],
    ) -> list[float]:
        strata = None
        if isinstance(channel, Channel) and channel.strata:
            strata = strata_of_columns(columns, channel.stratified_by, len(rewards))
        scale: Scale = 1.0 if self.scale == "ema" else self.scale
        if self.correction == "forward":
            return forward_coefficients(
                rewards, channel, strata=strata, scale=scale, min_j=self.min_j
            )
        return backward_coefficients(
            rewards, channel, groups=groups, strata=strata, scale=scale, min_j=self.min_j
        )

    def _check(self, rates: Rates | Channel) -> None:
        """Raises now what the first batch would raise."""
        if not isinstance(rates, Channel) or not rates.strata:
            self._coefficients(rates, [], [], {})
            return
        if not rates.stratified_by:
            raise ConfigError(
                "the channel has rates by stratum and does not say by which columns: give it "
                "stratified_by"
            )
        names = list(rates.strata)
        backward_coefficients(
            [None] * len(names), rates, groups=names, strata=names, min_j=self.min_j
        )

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint keeps, as plain data."""
        online = self.rates.state() if isinstance(self.rates, OnlineRates) else None
        return {"mean_square": self.average.mean_square, "online": online}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self.average = EmaScale(decay=self.average.decay, mean_square=state["mean_square"])
        if isinstance(self.rates, OnlineRates) and state["online"] is not None:
            self.rates.restore(state["online"])
