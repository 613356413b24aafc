"""Scores whole data files: resumable, in flat memory, with all cores busy."""

from rewardkit.scoring.rewards import RewardVerifier
from rewardkit.scoring.run import Progress, ScoreResult, score_file
from rewardkit.scoring.scored import ScoredColumns, find_scored_columns, read_scored
from rewardkit.scoring.statistics import Interval, LatencyHistogram, Tally, wilson_interval

__all__ = [
    "Interval",
    "LatencyHistogram",
    "Progress",
    "RewardVerifier",
    "ScoreResult",
    "ScoredColumns",
    "Tally",
    "find_scored_columns",
    "read_scored",
    "score_file",
    "wilson_interval",
]
