"""The advantage stage that a config asks for, and whether a correction is seen to act."""

from collections.abc import Hashable, Sequence

from rewardkit.advantages import Advantages, AdvantageStage, compare_advantages
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.corrections import BackwardCorrection, ForwardCorrection

__all__ = ["audit_corrections", "make_stage"]


def make_stage(config: GRPOConfig) -> AdvantageStage:
    """Returns the stage; `noisy_control` is the same path with rates of 0."""
    if config.loss in ("pgbc", "pgfc"):
        kind = BackwardCorrection if config.loss == "pgbc" else ForwardCorrection
        rho0, rho1 = (0.0, 0.0) if config.noisy_control else (config.rho0, config.rho1)
        return AdvantageStage(kind(rho0, rho1, scale=config.noise_scale))
    return AdvantageStage(config.group_estimator, std=config.std, eps=config.advantage_eps)


def audit_corrections(
    config: GRPOConfig,
    rewards: Sequence[float | None],
    groups: Sequence[Hashable],
    advantages: Advantages,
) -> dict[str, float]:
    """Returns how far corrected coefficients are from plain leave-one-out ones; else nothing.

    Args:
        config: of the run.
        rewards: (B,) totals.
        groups: (B,) ids.
        advantages: that the learner gets.
    """
    if config.loss not in ("pgbc", "pgfc"):
        return {}
    plain = AdvantageStage("leave_one_out")(rewards, groups)
    gap = compare_advantages(advantages, plain)
    found = {"audit/difference_mean": gap.mean, "audit/difference_max": gap.maximum}
    return found if gap.cosine is None else found | {"audit/cosine": gap.cosine}
