"""How work is run where it can be killed."""

from rewardkit.runtime.batch import verify_rows
from rewardkit.runtime.outcome import Outcome, OutcomeStatus
from rewardkit.runtime.pool import WorkerPool

__all__ = ["Outcome", "OutcomeStatus", "WorkerPool", "verify_rows"]
