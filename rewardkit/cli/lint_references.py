"""`rewardkit lint-references`: audits the references of a data file before training."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardkit.cli._console import EXIT_NOT_PASSED, explain_errors
from rewardkit.cli._options import (
    ModeOption,
    OptionTexts,
    ReferenceColumn,
    SplitOption,
    VerifierName,
    build_verifier,
    read_options,
)

if TYPE_CHECKING:
    from rich.console import Console

    from rewardkit.scoring.references import ReferenceAudit

__all__ = ["lint_references"]

_EXAMPLES = 20


@explain_errors
def lint_references(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A data file; see `score`.")],
    verifier: VerifierName = "math",
    mode: ModeOption = None,
    option: OptionTexts = None,
    reference_column: ReferenceColumn = "reference",
    split: SplitOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write every problem here, one row each (`.jsonl` or `.parquet`)."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the counts as one JSON object.")
    ] = False,
) -> None:
    """Check every reference of a data file: can the verifier read it, and in one way only?

    Equal references are checked once. Needs no completions.

    **Example**

    `rewardkit lint-references train.jsonl --reference-column answer --out problems.jsonl`

    **Exit codes**: 0 every reference can be read; 1 some cannot; 2 something must be corrected
    first.
    """
    from rich.console import Console
    from rich.progress import Progress

    from rewardkit.scoring.references import audit_references

    errors = Console(stderr=True)
    with (
        build_verifier(verifier, read_options(verifier, mode, option)) as made,
        Progress(console=errors, disable=not errors.is_terminal, transient=True) as bar,
    ):
        task = bar.add_task("checking references", total=1.0)
        audit = audit_references(
            made,
            source,
            column=reference_column,
            split=split,
            out=out,
            on_progress=lambda fraction: bar.update(task, completed=fraction),
        )
    if as_json:
        typer.echo(json.dumps(audit.to_dict()))
    else:
        _print_audit(audit, Console(), out)
    if audit.unreadable.rows:
        raise typer.Exit(EXIT_NOT_PASSED)


def _print_audit(audit: "ReferenceAudit", console: "Console", out: Path | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from rewardkit.report.visible import visible_text

    counts = Table("references", "rows", "different")
    for name, count in (
        ("fine", audit.fine),
        ("with warnings", audit.warned),
        ("unreadable", audit.unreadable),
    ):
        counts.add_row(name, f"{count.rows:,}", f"{count.references:,}")
    console.print(counts)
    if audit.examples:
        table = Table("where", "reference", "problem", title="Problems")
        for problem in audit.examples[:_EXAMPLES]:
            style = "red" if problem.kind == "unreadable" else "yellow"
            table.add_row(
                Text(problem.place),
                Text(visible_text(problem.reference_text[:80])),
                Text(visible_text(problem.message), style=style),
            )
        console.print(table)
        left = audit.problems - len(audit.examples[:_EXAMPLES])
        if left > 0:
            console.print(f"… and {left:,} more{'' if out else ': --out lists them all'}")
    if out is not None:
        console.print(f"problems: {out}", soft_wrap=True, highlight=False, markup=False)
