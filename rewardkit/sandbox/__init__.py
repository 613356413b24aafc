"""Runs hostile programs: files, arguments and limits in; status, streams and resource use out."""

from rewardkit.sandbox.job import Job, Limits
from rewardkit.sandbox.result import Result, Status
from rewardkit.sandbox.sandbox import ISOLATIONS, Sandbox
from rewardkit.sandbox.session import Session

__all__ = ["ISOLATIONS", "Job", "Limits", "Result", "Sandbox", "Session", "Status"]
