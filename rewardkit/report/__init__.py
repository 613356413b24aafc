"""The HTML report of a scored file, and the page of a run's rollouts."""

from rewardkit.report.collect import ReportData, collect_report
from rewardkit.report.page import render_report, write_report
from rewardkit.report.rollouts import RolloutData, collect_rollouts
from rewardkit.report.rollouts_page import render_rollouts, write_rollouts_page

__all__ = [
    "ReportData",
    "RolloutData",
    "collect_report",
    "collect_rollouts",
    "render_report",
    "render_rollouts",
    "write_report",
    "write_rollouts_page",
]
