"""What the verifiers of formal proofs share."""

from rewardkit.verifiers.formal.outcome import Outcome
from rewardkit.verifiers.formal.skeletons import (
    HINTS,
    SKELETONS,
    SkeletonAttempt,
    distinct_heads,
    first_tactic,
    opening_entropy,
    respects_prefix,
    skeleton_schedule,
)

__all__ = [
    "HINTS",
    "SKELETONS",
    "Outcome",
    "SkeletonAttempt",
    "distinct_heads",
    "first_tactic",
    "opening_entropy",
    "respects_prefix",
    "skeleton_schedule",
]
