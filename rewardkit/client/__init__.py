"""Asking a reward service from Python: nothing but the standard library."""

from rewardkit.client.client import RewardClient
from rewardkit.client.runner import HttpRunner

__all__ = ["HttpRunner", "RewardClient"]
