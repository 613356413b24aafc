"""The HTML report of a scored file."""

from rewardkit.report.collect import ReportData, collect_report
from rewardkit.report.page import render_report, write_report

__all__ = ["ReportData", "collect_report", "render_report", "write_report"]
