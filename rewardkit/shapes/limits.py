"""What a framework cannot carry is refused when it is asked for, not lost in the run."""

from rewardkit.errors import ConfigError

__all__ = ["refuse_stage"]


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
