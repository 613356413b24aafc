"""How work is run where it can be killed."""

from rewardkit.runtime.batch import verify_rows
from rewardkit.runtime.outcome import Outcome, OutcomeStatus
from rewardkit.runtime.pool import WorkerPool
from rewardkit.runtime.runner import InlineRunner, PoolRunner, Runner, active_runner, running_on

__all__ = [
    "InlineRunner",
    "Outcome",
    "OutcomeStatus",
    "PoolRunner",
    "Runner",
    "WorkerPool",
    "active_runner",
    "running_on",
    "verify_rows",
]
