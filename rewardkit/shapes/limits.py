"""What a framework cannot carry is refused when it is asked for, not lost in the run."""

from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit.shapes.scorer import OnMissing, Scorer
from rewardkit.verifier import Verifier

__all__ = ["refuse_stage", "scalar_scorer"]


def scalar_scorer(
    framework: str,
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing,
    reference: str = "reference",
    advantages: object = None,
) -> Scorer:
    """Returns a scorer for a framework that takes one number a completion and nothing else.

    Raises:
        ConfigError: the policy is to mask, which the framework cannot, or a stage was given.
    """
    refuse_stage(framework, advantages, instead="Train with TRL, verl, slime or SkyRL instead.")
    if on_missing == "mask":
        raise ConfigError(
            f"{framework} cannot leave a completion out, so a missing score needs a decision: "
            'on_missing="zero" or on_missing="raise"'
        )
    return Scorer(reward, on_missing=on_missing, reference=reference)


def refuse_stage(framework: str, advantages: object, *, instead: str) -> None:
    """Refuses an advantage stage where only one number a completion passes.

    A correction for a verifier's errors that is put into that number is an affine map of it, which
    the framework's own centring and scaling takes out again; a step reward has no place in it.

    Args:
        framework: its name.
        advantages: what the user gave; None is what fits.
        instead: what the user can do.

    Raises:
        ConfigError: something was given.
    """
    if advantages is not None:
        raise ConfigError(
            f"{framework} takes one number a completion and makes the advantages itself: a "
            "correction would cancel there and step rewards cannot be carried, so "
            f"{advantages!r:.80} is refused. {instead}"
        )
