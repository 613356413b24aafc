"""What training does to a reward: controls, hack rates, signals over time, contamination."""

from rewardkit.monitor.controls import (
    DeclaredAnswer,
    RandomReward,
    WrongAnswer,
    WrongLabel,
    control_rewards,
)

__all__ = ["DeclaredAnswer", "RandomReward", "WrongAnswer", "WrongLabel", "control_rewards"]
