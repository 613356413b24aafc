"""The page of a run's rollouts: one HTML file that needs nothing else."""

import json
import string
from collections.abc import Sequence
from pathlib import Path

from rewardkit.errors import ConfigError
from rewardkit.report.markup import escape
from rewardkit.report.page import asset, page_policy, write_page
from rewardkit.report.rollouts import RolloutData, StepFigures, collect_rollouts
from rewardkit.report.visible import visible_text

__all__ = ["render_rollouts", "write_rollouts_page"]


def write_rollouts_page(
    run: Path | str,
    out: Path | str | None = None,
    *,
    groups: int = 500,
    reference: str = "reference",
) -> Path:
    """Writes the page of a run's rollouts, and returns where it is.

    Args:
        run: the folder that the trainer wrote into, or its `rollouts.jsonl`.
        out: the HTML file; None for `rollouts.html` beside the rollouts.
        groups: how many groups are shown, a fair sample.
        reference: the column with the references.

    Raises:
        DataError: the rollouts cannot be read, or the page cannot be written.
        ConfigError: `out` is the file of the rollouts, or `groups` is below 1.
    """
    source = Path(run) / "rollouts.jsonl" if Path(run).is_dir() else Path(run)
    target = source.with_name("rollouts.html") if out is None else Path(out)
    if target.exists() and source.exists() and target.samefile(source):
        raise ConfigError(f"{target} holds the rollouts, which the page would replace: name .html")
    write_page(target, render_rollouts(collect_rollouts(run, groups=groups, reference=reference)))
    return target


def render_rollouts(data: RolloutData) -> str:
    """Returns the page. The same data gives the same bytes.

    What a model wrote is data of the page's script, which makes text of it and never markup.
    """
    script = asset("rollouts.js")
    rewards = [reward for step in data.steps for reward in step.rewards]
    rows = sum(step.rows for step in data.steps)
    cut = sum(step.truncated for step in data.steps)
    cards = [
        ("Completions", f"{rows:,}", f"{len(data.steps):,} steps, {data.group_count:,} groups"),
        (
            "Mean reward",
            f"{sum(rewards) / len(rewards):.3f}" if rewards else "none",
            "of what was decided",
        ),
        ("Undecided", f"{rows - len(rewards):,}", "in no baseline, and in no mean"),
        ("Truncated", f"{cut:,}", f"{100 * cut / rows:.1f} % of the completions"),
    ]
    return string.Template(asset("rollouts.html")).substitute(
        policy=page_policy(script),
        style=asset("report.css") + asset("rollouts.css"),
        script=script,
        name=escape(data.name),
        title=escape(visible_text(data.name)),
        headline="".join(
            f'<div class="card"><h2>{name}</h2><p class="figure">{value}</p>'
            f'<p class="note">{note}</p></div>'
            for name, value, note in cards
        ),
        chart=_chart(data.steps),
        shown=f"{len(data.groups):,} of {data.group_count:,} groups are in this page, each whole",
        # Inside a script element only "<" could end it.
        data=json.dumps(data.groups).replace("<", "\\u003c"),
    )


def _chart(steps: Sequence[StepFigures]) -> str:
    """Returns the mean reward by step, as SVG; nothing where there are not two points."""
    points = [(step.step, mean) for step in steps if (mean := step.mean) is not None]
    if len(points) < 2:
        return ""
    first, last = points[0][0], points[-1][0]
    low, high = min(mean for _, mean in points), max(mean for _, mean in points)
    wide, tall, left, top = 1080, 120, 52, 10
    across, up = wide / max(last - first, 1), tall / ((high - low) or 1)
    line = " ".join(
        f"{left + (step - first) * across:.1f},{top + tall - (mean - low) * up:.1f}"
        for step, mean in points
    )
    bottom = top + tall
    return (
        f'<svg class="chart" viewBox="0 0 {wide + 2 * left} {bottom + 26}" role="img" '
        f'aria-label="Mean reward by step"><title>Mean reward by step</title>'
        f'<line class="axis" x1="{left}" y1="{top}" x2="{left}" y2="{bottom}"/>'
        f'<line class="axis" x1="{left}" y1="{bottom}" x2="{left + wide}" y2="{bottom}"/>'
        f'<text x="{left - 6}" y="{top + 8}" text-anchor="end">{high:.3g}</text>'
        f'<text x="{left - 6}" y="{bottom}" text-anchor="end">{low:.3g}</text>'
        f'<text x="{left}" y="{bottom + 18}">step {first}</text>'
        f'<text x="{left + wide}" y="{bottom + 18}" text-anchor="end">step {last}</text>'
        f'<polyline class="curve" points="{line}"/></svg>'
    )
