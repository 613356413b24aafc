"""Margins: of confidence on sound prefixes (RLCM), and of preference pairs (LearNAT)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rewardkit.errors import ConfigError

__all__ = [
    "OneSided",
    "PreferencePair",
    "confidence_margin",
    "margin_loss",
    "preference_pairs",
]

OneSided: TypeAlias = Literal["zero", "confidence"]
"""What a completion gets whose prefixes are all solved or all unsolved."""


def confidence_margin(
    confidence: Sequence[float],
    solved: Sequence[float | None],
    *,
    one_sided: OneSided = "zero",
) -> float:
    """Returns how much surer a completion is on prefixes that lead to the right answer.

    The mean confidence on prefixes from which every forced answer is right, less the mean on those
    from which none is; prefixes in between count for neither. RLCM (arXiv:2604.23333) trains on
    R_answer + 0.1 R_margin; R_margin is here as its authors' code has it. It is one number for the
    completion as a whole.

    Args:
        confidence: (b,) of the probe at each cut, in [0, 1].
        solved: (b,) share of forced answers there that are right; None where not known.
        one_sided: `zero`, or `confidence`: the mean confidence where all are solved, 1 less the
            mean where all are unsolved.

    Returns:
        A number in [-1, 1]; 0 where there is no cut.

    Raises:
        ConfigError: the lists differ in length, or a number is outside [0, 1].

    >>> confidence_margin([0.9, 0.7, 0.5, 0.2], [1.0, 1.0, 0.5, 0.0])
    0.6...
    """
    if len(confidence) != len(solved):
        raise ConfigError(f"{len(solved)} shares for {len(confidence)} confidences")
    if not all(0 <= number <= 1 for number in [*confidence, *(s for s in solved if s is not None)]):
        raise ConfigError("confidences and shares are in [0, 1]")
    if one_sided not in ("zero", "confidence"):
        raise ConfigError(f"one_sided is 'zero' or 'confidence', not {one_sided!r}")
    sound = [c for c, s in zip(confidence, solved, strict=True) if s == 1]
    lost = [c for c, s in zip(confidence, solved, strict=True) if s == 0]
    if sound and lost:
        return math.fsum(sound) / len(sound) - math.fsum(lost) / len(lost)
    if one_sided == "zero" or not (sound or lost):
        return 0.0
    return math.fsum(sound) / len(sound) if sound else 1.0 - math.fsum(lost) / len(lost)


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """Two rollouts of a group, one of them better."""

    chosen: int
    """Its place in the group."""
    rejected: int
    margin: float
    """By how much it is better, above 0."""


def preference_pairs(scores: Sequence[float | None], *, least: float = 0.0) -> list[PreferencePair]:
    """Returns all pairs of a group with different scores, the widest margins first.

    Scores may be those of completions, `parts["subtasks"]` of SQL verdicts, or those of next steps
    behind one prefix, as in LearNAT (arXiv:2504.02327), whose margins come from syntax trees.

    Args:
        scores: (G,) of one group; None is in no pair.
        least: margins up to this one make no pair, at least 0.

    Raises:
        ConfigError: `least` is below 0.

    >>> preference_pairs([0.25, 1.0, None, 0.25])[0]
    PreferencePair(chosen=1, rejected=0, margin=0.75)
    """
    if not least >= 0:
        raise ConfigError(f"least is at least 0, not {least!r}")
    known = [(place, score) for place, score in enumerate(scores) if score is not None]
    pairs = [
        PreferencePair(i, j, better - worse)
        for i, better in known
        for j, worse in known
        if better - worse > least
    ]
    return sorted(pairs, key=lambda pair: (-pair.margin, pair.chosen, pair.rejected))


def margin_loss(log_ratio: float, margin: float, *, beta: float = 0.1, alpha: float = 1.0) -> float:
    """Returns the preference loss of one pair, offset by how far apart its two are.

    -log sigmoid(beta h - alpha log m), where h is the log-ratio of the policy over the frozen
    model of the chosen, less that of the rejected. With alpha = 0 it is DPO's. The abstract of
    LearNAT (arXiv:2504.02327) speaks of DPO with margins; the offset is as in its authors' code.
    For m = 1 it is DPO's loss; the closer two are, the less their pair weighs.

    Args:
        log_ratio: h, in nats.
        margin: m, in (0, 1].
        beta: above 0.
        alpha: at least 0.

    Raises:
        ConfigError: a number is outside its range.

    >>> round(margin_loss(0.0, 1.0), 6), round(margin_loss(0.0, 0.25), 6)
    (0.693147, 0.223144)
    """
    if not 0 < margin <= 1:
        raise ConfigError(f"a margin is in (0, 1], not {margin!r}: pairs of equals have no loss")
    if not (beta > 0 and alpha >= 0):
        raise ConfigError(f"beta is above 0 and alpha at least 0, not {beta!r} and {alpha!r}")
    logit = beta * log_ratio - alpha * math.log(margin)
    return max(-logit, 0.0) + math.log1p(math.exp(-abs(logit)))
