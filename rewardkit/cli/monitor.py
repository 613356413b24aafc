"""`rewardkit monitor`: how often a run earned its reward without the truth."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rewardkit.cli._console import EXIT_NOT_PASSED, explain_errors

__all__ = ["monitor"]


@explain_errors
def monitor(
    rollouts: Annotated[
        Path, typer.Argument(help="A `rollouts.jsonl` that the included trainer wrote.")
    ],
    true: Annotated[
        str, typer.Option(help="The component of the reward that says what is right.")
    ] = "true",
    proxy: Annotated[
        str | None,
        typer.Option(help="The component that was paid for. [default: the reward's total]"),
    ] = None,
    passing: Annotated[float, typer.Option(help="The value from which either passes.")] = 1.0,
    window: Annotated[
        int, typer.Option(min=1, help="Steps at the start and at the end that are compared.")
    ] = 10,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Exit with 1 if the hack rate is surely above this share."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Count how often the proxy passed and the truth did not, and what moved over the run.

    **Example**: `rewardkit monitor runs/one/rollouts.jsonl --true math`

    **Exit codes**: 0 counted; 1 the lower end of the last window's interval is above
    `--fail-above`; 2 something must be corrected first.
    """
    from rewardkit.monitor import HackMonitor, monitor_rollouts

    counter = HackMonitor(true, proxy=proxy, passing=passing, share=1.0, window=window)
    report = monitor_rollouts(rollouts, counter)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2))
    else:
        counts, whole, last = report.counts, report.hack_rate_interval, report.last_interval
        typer.echo(f"steps       {len(report.steps)}")
        typer.echo(f"completions {counts.asked}, of which the proxy passes {counts.proxy}, "
                   f"the truth {counts.true}")  # fmt: skip
        if report.hack_rate is not None:
            typer.echo(f"hack rate   {100 * report.hack_rate:.1f} % (95 % interval "
                       f"{100 * whole.low:.1f} to {100 * whole.high:.1f} %)")  # fmt: skip
        typer.echo(f"at the end  {100 * last.low:.1f} to {100 * last.high:.1f} %")
        for line in report.warnings():
            typer.echo(f"warning     {line}")
    if fail_above is not None and report.last_interval.low > fail_above:
        raise typer.Exit(EXIT_NOT_PASSED)
