"""The summary of a scoring run: a table for people, one JSON object for programs."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rewardkit.cli._console import counted
from rewardkit.report.charts import format_seconds
from rewardkit.report.visible import visible_text
from rewardkit.scoring import ScoreResult, Tally

__all__ = ["print_summary", "summary_json"]


def summary_json(result: ScoreResult) -> dict[str, Any]:
    """Returns the summary as plain JSON data: the tally's figures, then the run's own."""
    return {
        **result.tally.to_dict(),
        "resumed_rows": result.resumed_rows,
        "skipped": {"count": result.skipped.count, "examples": result.skipped.examples},
        "seconds": result.seconds,
        "rows_per_second": result.rows_per_second,
        "stopped": result.stopped,
    }


def print_summary(result: ScoreResult, console: Console) -> None:
    """Prints rows, pass rate, reasons, latencies, abstentions and throughput."""
    tally = result.tally
    if tally.rows:
        console.print(_reason_table(tally))
    facts = Table.grid(padding=(0, 2))
    facts.add_row("rows", f"{tally.rows:,}{_resumed(result)}")
    facts.add_row("passed", _pass_text(tally))
    if tally.mean_score is not None and tally.score_sum != tally.passed:
        facts.add_row("mean score", f"{tally.mean_score:.4f}")
    facts.add_row("abstained", f"{tally.abstained:,} (outside every rate)")
    if result.skipped.count:
        facts.add_row(
            "left out", f"{counted(result.skipped.count, 'row')} that cannot be read or used"
        )
    if result.seconds > 0:
        facts.add_row("speed", f"{result.rows_per_second:,.0f} rows/s, {result.seconds:,.1f} s")
    console.print(facts, highlight=False)
    if tally.components:
        console.print(_component_table(tally))
    for line in result.skipped.examples[:5]:
        console.print(Text(f"  left out: {visible_text(line)}", style="yellow"), soft_wrap=True)


def _resumed(result: ScoreResult) -> str:
    return f", of which {result.resumed_rows:,} from an earlier run" if result.resumed_rows else ""


def _pass_text(tally: Tally) -> str:
    if tally.pass_rate is None:
        return "nothing was decided"
    low, high = 100 * tally.pass_interval.low, 100 * tally.pass_interval.high
    rate = f"{100 * tally.pass_rate:.1f} %"
    return f"{tally.passed:,} = {rate} (95 % interval {low:.1f} to {high:.1f} %)"


def _component_table(tally: Tally) -> Table:
    table = Table("component")
    for heading in ("mean", "smallest", "largest", "missing"):
        table.add_column(heading, justify="right")
    for name, values in [*tally.components.items(), ("total", tally.totals)]:
        shown = values.to_dict()
        cells = ("–" if (v := shown[key]) is None else f"{v:.4g}" for key in ("mean", "min", "max"))
        table.add_row(Text(visible_text(name)), *cells, f"{values.missing:,}")
    return table


def _reason_table(tally: Tally) -> Table:
    table = Table("reason")
    for heading in ("rows", "share", "passed", "median", "p99"):
        table.add_column(heading, justify="right")
    for name, reason in tally.reasons_by_count():
        table.add_row(
            Text(name),
            f"{reason.count:,}",
            f"{100 * reason.count / tally.rows:.1f} %",
            f"{reason.passed:,}",
            format_seconds(reason.latency.quantile(0.5)),
            format_seconds(reason.latency.quantile(0.99)),
        )
    return table
