"""What training does to a reward: controls, hack rates, signals over time, contamination."""

from rewardkit.monitor.contamination import (
    Completed,
    Contamination,
    Sampler,
    probe_contamination,
    split_prompt,
)
from rewardkit.monitor.controls import (
    DeclaredAnswer,
    RandomReward,
    WrongAnswer,
    WrongLabel,
    control_rewards,
)
from rewardkit.monitor.hacking import HackMonitor, MonitoredStage
from rewardkit.monitor.report import Counts, HackReport, Step, difference_interval
from rewardkit.monitor.rollouts import monitor_rollouts
from rewardkit.monitor.signals import Signals, measure_signals, verdict_drift

__all__ = [
    "Completed",
    "Contamination",
    "Counts",
    "DeclaredAnswer",
    "HackMonitor",
    "HackReport",
    "MonitoredStage",
    "RandomReward",
    "Sampler",
    "Signals",
    "Step",
    "WrongAnswer",
    "WrongLabel",
    "control_rewards",
    "difference_interval",
    "measure_signals",
    "monitor_rollouts",
    "probe_contamination",
    "split_prompt",
    "verdict_drift",
]
