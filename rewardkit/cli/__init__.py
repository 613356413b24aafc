"""The command line of rewardkit: one command a module, and two groups, `noise` and `train`.

The modules of the commands are light; what they need to work is imported when they run.
"""

import sys
from typing import Annotated

import typer

from rewardkit._version import __version__
from rewardkit.cli.audit import audit
from rewardkit.cli.doctor import doctor
from rewardkit.cli.label import label
from rewardkit.cli.lint_references import lint_references
from rewardkit.cli.monitor import monitor
from rewardkit.cli.noise import noise
from rewardkit.cli.preflight import preflight
from rewardkit.cli.report import report
from rewardkit.cli.rollouts import rollouts
from rewardkit.cli.score import score
from rewardkit.cli.selftest import selftest
from rewardkit.cli.serve import serve
from rewardkit.cli.train import train
from rewardkit.cli.verify import verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="rewardkit",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rewardkit {__version__}")
        raise typer.Exit


@app.callback()
def rewardkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Grade model outputs: what they are worth, and why."""


app.command("score")(score)
app.command("verify")(verify)
app.command("lint-references")(lint_references)
app.command("preflight")(preflight)
app.command("selftest")(selftest)
app.command("audit")(audit)
app.command("monitor")(monitor)
app.add_typer(train, name="train")
app.command("report")(report)
app.command("rollouts")(rollouts)
app.command("label")(label)
app.add_typer(noise, name="noise")
app.command("serve")(serve)
app.command("doctor")(doctor)


def main() -> None:
    """Runs the command line; what the console script `rewardkit` calls."""
    # A terminal or pipe that cannot show a character gets an escape, not a crash.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
