"""The advantage stage that a config asks for, and whether a correction is seen to act."""

from collections.abc import Hashable, Sequence

from rewardkit.advantages import Advantages, AdvantageStage, compare_advantages
from rewardkit.errors import ConfigError
from rewardkit.noise import Channel, Correction, NoiseCorrection, OnlineRates, Rates
from rewardkit_grpo.config import GRPOConfig

__all__ = ["CORRECTIONS", "correction_metrics", "make_stage"]

CORRECTIONS: dict[str, Correction] = {"pgbc": "backward", "pgfc": "forward"}
"""The losses whose advantages are coefficients corrected for the verifier's errors."""


def make_stage(config: GRPOConfig, online: OnlineRates | None = None) -> AdvantageStage:
    """Returns the stage; `noisy_control` is the same path with rates of 0.

    Args:
        config: of the run.
        online: rates that are measured while it runs, in place of the config's.

    Raises:
        ConfigError: the rates cannot be inverted, or the correction would cancel.
        DataError: the config's `noise` cannot be read.
    """
    if config.loss not in CORRECTIONS:
        return AdvantageStage(config.group_estimator, std=config.std, eps=config.advantage_eps)
    rates: Rates | Channel | OnlineRates = Rates.exact(config.rho0, config.rho1)
    if config.noisy_control:
        rates = Rates.exact(0.0, 0.0)
    elif online is not None:
        rates = online
    elif config.noise is not None:
        rates = Channel.load(config.noise)
    elif not (config.rho0 or config.rho1):
        raise ConfigError(
            f"the loss {config.loss} corrects for a verifier's errors, and no rates are given: set "
            "rho0 and rho1, noise (a file) or a judge; or noisy_control, to correct for nothing"
        )
    return AdvantageStage(
        NoiseCorrection(
            CORRECTIONS[config.loss], rates, scale=config.noise_scale, accept_at=config.accept_at
        )
    )


def correction_metrics(
    stage: AdvantageStage,
    rewards: Sequence[float | None],
    groups: Sequence[Hashable],
    advantages: Advantages,
) -> dict[str, float]:
    """Returns how far corrected coefficients are from plain leave-one-out ones; else nothing.

    Rates that are measured on the way are there too, as `noise/…`.

    Args:
        stage: of the run.
        rewards: (B,) totals.
        groups: (B,) ids.
        advantages: that the learner gets.
    """
    corrected = stage.estimator
    if not isinstance(corrected, NoiseCorrection):
        return {}
    gap = compare_advantages(advantages, AdvantageStage("leave_one_out")(rewards, groups))
    found = {"audit/difference_mean": gap.mean, "audit/difference_max": gap.maximum}
    if gap.cosine is not None:
        found["audit/cosine"] = gap.cosine
    if isinstance(corrected.rates, OnlineRates):
        found |= {f"noise/{name}": value for name, value in corrected.rates.metrics().items()}
    return found
