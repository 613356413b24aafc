"""`rewardkit preflight`: gold solutions must pass and null solutions must fail, before training."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardkit.cli._console import EXIT_NOT_PASSED, counted, explain_errors
from rewardkit.cli._options import ReferenceColumn, SplitOption

if TYPE_CHECKING:
    from rewardkit.verifiers.code.preflight import Preflight

__all__ = ["preflight"]

_SHOWN = 40


@explain_errors
def preflight(
    source: Annotated[Path, typer.Argument(metavar="TASKS", help="A data file; see `score`.")],
    reference_column: ReferenceColumn = "reference",
    solution_column: Annotated[
        str | None, typer.Option(help="Column of the gold solution; found by itself if usual.")
    ] = None,
    timeout_s: Annotated[float, typer.Option(help="Processor seconds of each test.")] = 10.0,
    split: SplitOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print counts and problems as one JSON object.")
    ] = False,
) -> None:
    """Run every code task's gold solution, and programs that do nothing, before training.

    A task whose gold solution fails teaches nothing; one that a constant solves teaches cheating.
    HumanEval and MBPP files are read as they are.

    **Example**

    `rewardkit preflight tasks.jsonl`

    **Exit codes**: 0 every task is sound; 1 some are not; 2 something must be corrected first.
    """
    from rewardkit.datasets.readers import open_records, raise_bad_row
    from rewardkit.verifiers.code import CodeVerifier
    from rewardkit.verifiers.code.preflight import preflight as run_preflight

    records = open_records(source, split=split).records(raise_bad_row)
    with CodeVerifier(timeout_s=timeout_s) as verifier:
        found = run_preflight(
            verifier,
            (record.data for record in records),
            reference_column=reference_column,
            solution_column=solution_column,
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        _print(found)
    if not found.passed:
        raise typer.Exit(EXIT_NOT_PASSED)


def _print(found: "Preflight") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rewardkit.report.visible import visible_text

    console = Console()
    sound = found.tasks - len({problem.index for problem in found.problems})
    console.print(f"{counted(found.tasks, 'task')}, {sound:,} sound", highlight=False)
    if found.problems:
        table = Table("row", "task", "problem", "detail")
        for problem in found.problems[:_SHOWN]:
            table.add_row(
                str(problem.index),
                Text(visible_text(problem.name[:40])),
                Text(problem.kind, style="red"),
                Text(visible_text(problem.detail[:160])),
            )
        console.print(table)
        if len(found.problems) > _SHOWN:
            console.print(f"… and {len(found.problems) - _SHOWN:,} more; --json lists them all")
