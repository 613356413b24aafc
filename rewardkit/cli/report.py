"""`rewardkit report`: the HTML report of a file that is scored already."""

from pathlib import Path
from typing import Annotated

import typer

from rewardkit.cli._console import explain_errors
from rewardkit.cli._options import AgainstFile, IdColumn

__all__ = ["report"]


@explain_errors
def report(
    scored: Annotated[Path, typer.Argument(help="A file that `rewardkit score` wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")],
    against: AgainstFile = None,
    id_column: IdColumn = None,
) -> None:
    """Write the HTML report of a scored file: one page that needs no network.

    **Example**: `rewardkit report scored.jsonl --out report.html --against other.jsonl`

    **Exit codes**: 0 written; 2 something must be corrected first.
    """
    from rewardkit.report import write_report

    write_report(scored, out, against=against, id_column=id_column)
    typer.echo(f"report: {out}")
