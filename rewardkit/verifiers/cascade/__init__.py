"""A rule verifier first, and a judge for what it rejected or left undecided."""

from rewardkit.verifiers.cascade.appeals import AppealCounts, count_appeals
from rewardkit.verifiers.cascade.verifier import Cascade

__all__ = ["AppealCounts", "Cascade", "count_appeals"]
