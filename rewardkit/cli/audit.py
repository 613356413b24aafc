"""`rewardkit audit`: property tests for a reward, as a grade card."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rewardkit.cli._console import EXIT_NOT_PASSED, counted, explain_errors
from rewardkit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from rich.console import Console

    from rewardkit.audit import AuditReport, Finding

__all__ = ["audit"]

_STYLES = {"contract": "bold red", "declared": "yellow", "measured": "cyan"}


@explain_errors
def audit(
    reward: Annotated[
        str,
        typer.Argument(
            help="`file.py:function` or `package.module:object`: a reward function, a verifier, "
            "or a `Reward`."
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            help="What its references are: `math`, `choice`, `text`, `code`, `sql`, `prolog`, "
            "`sparql`, `lean`, `dafny`, `rocq`; `judge` for a reward that asks a language model, "
            "`format` for one without references."
        ),
    ] = "auto",
    profile: Annotated[
        Literal["smoke", "fast", "deep"],
        typer.Option(
            help="`fast` takes seconds; `deep` tries ten times as many cases, `smoke` a fourth."
        ),
    ] = "fast",
    reference_column: Annotated[
        str | None,
        typer.Option(help="The argument with the references, where its name does not say so."),
    ] = None,
    fail_on: Annotated[
        Literal["contract", "declared", "measured", "never"],
        typer.Option(help="The lightest level of a finding that makes the command exit with 1."),
    ] = "contract",
    html: Annotated[
        Path | None, typer.Option(help="Write a self-contained HTML page here.")
    ] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the findings as JSON here; `-` prints it.")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(
            help="A folder that keeps failing cases: those in it are tried first, and what fails "
            "is added."
        ),
    ] = None,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds that one call of the reward may take. "
            "[default: 12, or 40 where it runs programs]",
        ),
    ] = None,
    memory_mb: Annotated[
        int | None,
        typer.Option(
            min=64,
            help="Private memory of the process that runs it, in MiB. "
            "[default: 2048, or 8192 where it checks proofs]",
        ),
    ] = None,
) -> None:
    """Look for the hole in a reward before the policy finds it.

    The reward runs in a process that can be killed. Each fault is named once, by its root cause,
    with the smallest input that shows it and a test to paste. What holds was tested on generated
    cases, no more than that.

    **Examples**

    `rewardkit audit my_rewards.py:reward --kind math`

    `rewardkit audit my_package.rewards:verifier --kind code --html audit.html --fail-on declared`

    **Exit codes**: 0 nothing reaches `--fail-on`; 1 something does; 2 something must be corrected
    first.
    """
    from rich.console import Console

    from rewardkit.audit import Level, audit_reward

    for path, suffixes in ((html, (".html", ".htm")), (json_out, (".json", "-", ""))):
        if path is not None and str(path) != "-" and not path.parent.is_dir():
            raise DataError(f"{path}: the folder {path.parent} does not exist; create it first.")
        if path is not None and path is html and path.suffix.lower() not in suffixes:
            raise ConfigError(f"{path}: the page is HTML; name it .html.")
    errors = Console(stderr=True)
    with errors.status("loading") as status:
        report = audit_reward(
            reward,
            kind=kind,
            reference_column=reference_column,
            profile=profile,
            timeout_s=timeout_s,
            memory_mb=memory_mb,
            database=database,
            on_step=status.update,
        )
    if json_out is not None:
        text = json.dumps(report.to_dict(), indent=2)
        if str(json_out) == "-":
            typer.echo(text)
        else:
            _write(json_out, text)
    if html is not None:
        from rewardkit.audit.page import render_page

        _write(html, render_page(report))
    if str(json_out) != "-":
        _print_card(report, Console())
        if html is not None:
            typer.echo(f"report: {html}")
    worst = report.worst()
    if fail_on != "never" and worst is not None and worst.rank <= Level(fail_on).rank:
        raise typer.Exit(EXIT_NOT_PASSED)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from None


def _print_card(report: "AuditReport", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    from rewardkit.noise import wilson_interval
    from rewardkit.report.visible import visible_text

    for number, finding in enumerate(report.findings, 1):
        _print_finding(number, finding, console)
    held = [name for name, state in report.checked.items() if state == "holds"]
    failed = [name for name, state in report.checked.items() if state == "fails"]
    card = Table.grid(padding=(0, 2))
    style = "bold green" if report.grade() in "AB" else "bold red"
    card.add_row("grade", Text(report.grade(), style=style))
    card.add_row("reward", Text(visible_text(report.reward)))
    card.add_row("kind", report.kind)
    card.add_row("findings", f"{len(report.findings)}")
    untried = len(report.checked) - len(held) - len(failed)
    some = counted(len(held), "property", "properties")
    card.add_row("held", f"{some}, failed {len(failed)}, not tested {untried}")
    for kind in ("false negative", "false positive"):
        rates = [rate for rate in report.rates if rate.kind == kind and rate.cases]
        if rates:
            errors, cases = sum(r.errors for r in rates), sum(r.cases for r in rates)
            interval = wilson_interval(errors, cases)
            card.add_row(
                f"{kind}s",
                f"{100 * errors / cases:.1f} % of {cases} answers of {len(rates)} families "
                f"(95 % interval {100 * interval.low:.1f} to {100 * interval.high:.1f} %)",
            )
    if (unseen := report.unseen) is not None:
        card.add_row(
            "unseen tricks",
            f"the next attempt of a sort is paid by a new one: {100 * unseen.next_new:.1f} % "
            f"(95 % interval up to {100 * unseen.interval.high:.1f} %)",
        )
    card.add_row("cost", f"{report.calls:,} calls, {report.seconds:.1f} s")
    console.print(card, highlight=False)
    for note in report.notes:
        console.print(Text(visible_text(note)), highlight=False)


def _print_finding(number: int, finding: "Finding", console: "Console") -> None:
    from rich.padding import Padding
    from rich.text import Text

    from rewardkit.report.visible import visible_text

    slug, _, cause = finding.root_cause.partition(": ")
    head = Text(f"{number}. ")
    head.append(finding.level.value, style=_STYLES[finding.level.value])
    head.append(f"  {finding.property}  ")
    head.append(slug, style="bold")
    console.print(head, highlight=False)
    console.print(Padding(Text(visible_text(cause)), (0, 0, 0, 3)), highlight=False)
    console.print(
        Padding(Text(visible_text(finding.example), style="dim"), (0, 0, 0, 3)), highlight=False
    )
    if finding.symptoms:
        console.print(
            Padding(Text(f"also: {', '.join(finding.symptoms)}"), (0, 0, 0, 3)), highlight=False
        )
    if finding.test:
        # Not wrapped: it is to be copied.
        console.print(Text(visible_text(finding.test)), highlight=False, soft_wrap=True)
