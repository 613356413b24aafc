"""`rewardkit rollouts`: the page on which a run's completions are looked at."""

from pathlib import Path
from typing import Annotated

import typer

from rewardkit.cli._console import explain_errors
from rewardkit.cli._options import ReferenceColumn

__all__ = ["rollouts"]


@explain_errors
def rollouts(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, or its `rollouts.jsonl`.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The HTML file. [default: rollouts.html beside the rollouts]"),
    ] = None,
    groups: Annotated[
        int, typer.Option(min=1, help="How many groups the page holds: a fair sample, each whole.")
    ] = 500,
    reference_column: ReferenceColumn = "reference",
) -> None:
    """Write the page of a training run's completions: one file that needs no network.

    It shows each group with its prompt, reference, completions, verdicts and advantages, and finds
    by step, reward, reason, truncation and words.

    **Example**: `rewardkit rollouts out/sums`

    **Exit codes**: 0 written; 2 something must be corrected first.
    """
    from rewardkit.report import write_rollouts_page

    page = write_rollouts_page(run, out, groups=groups, reference=reference_column)
    typer.echo(f"rollouts: {page}")
