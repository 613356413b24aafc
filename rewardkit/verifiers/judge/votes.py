"""What several judges say together."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason
from rewardkit.verifiers.judge.modes import Settled, rate

__all__ = ["Vote", "check_vote", "count_votes"]

Vote: TypeAlias = Literal["majority", "veto", "unanimous", "mean"]
"""How votes are counted."""


def check_vote(vote: str, veto: int, members: int) -> None:
    """Checks the rule of a vote.

    Raises:
        ConfigError: no such rule, or a veto that no or every single member has for nothing.
    """
    if vote not in ("majority", "veto", "unanimous", "mean"):
        raise ConfigError(f"vote is 'majority', 'veto', 'unanimous' or 'mean', not {vote!r}")
    if not 1 <= veto <= max(members, 1):
        raise ConfigError(f"veto is from 1 to the number of judges ({members}), not {veto}")


def count_votes(scores: Sequence[float | None], vote: Vote, *, veto: int = 1) -> Settled:
    """Returns the verdict of a panel. A member without a score has not voted.

    - `majority`: what more than half of all members gave; else an abstention.
    - `veto`: 0 as soon as `veto` members gave less than 1 (minority veto, arXiv 2510.11822: judges
      agree too easily); 1 if those that have not voted could not change that; else an abstention.
    - `unanimous`: what all members gave; else an abstention.
    - `mean`: the mean of those that voted, more than half of all; else an abstention.

    >>> count_votes([1.0, 1.0, 0.0], "majority").score, count_votes([1.0, 1.0, 0.0], "veto").score
    (1.0, 0.0)
    """
    given = [score for score in scores if score is not None]
    share = f"{len(given)} of {len(scores)} judges voted"
    if vote == "mean":
        if 2 * len(given) <= len(scores):
            return Settled(None, Reason.UNPROVED, share)
        mean = sum(given) / len(given)
        return Settled(mean, rate(mean), f"mean; {share}")
    if vote == "veto":
        against = sum(score < 1 for score in given)
        if against >= veto:
            return Settled(0.0, Reason.MISMATCH, f"{against} of {len(scores)} judges veto")
        if against + len(scores) - len(given) >= veto:
            return Settled(None, Reason.UNPROVED, share)
        return Settled(1.0, Reason.MATCH, f"no veto; {share}")
    needed = len(scores) if vote == "unanimous" else len(scores) // 2 + 1
    for score in given:
        if given.count(score) >= needed:
            return Settled(score, rate(score), f"{given.count(score)} of {len(scores)} judges")
    return Settled(None, Reason.UNPROVED, f"the judges disagree; {share}")
