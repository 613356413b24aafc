"""`rewardkit noise`: the error rates of a verifier, from labels to a file that trainers read."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rewardkit.cli._console import counted, explain_errors
from rewardkit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from rewardkit.labels import LabelTally, ScoredRows

__all__ = ["noise"]

noise = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure how often a verifier errs, and plan and read such a measurement.",
)

ScoredFile = Annotated[
    Path, typer.Argument(metavar="SCORED", help="A file that `rewardkit score` wrote.")
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by", metavar="COLUMN", help="A column that names the stratum (`a.b` too); repeatable."
    ),
]
AcceptAt = Annotated[float, typer.Option(help="The smallest score that counts as accepted.")]
Confidence = Annotated[float, typer.Option(help="Of the intervals, in (0, 1).")]
HalfWidth = Annotated[float, typer.Option(help="The wanted half-width of both intervals.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@noise.command()
@explain_errors
def estimate(
    scored: ScoredFile,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labels of `rewardkit label`. [default: SCORED.labels.jsonl]"),
    ] = None,
    truth_column: Annotated[
        str | None,
        typer.Option(help="A column of SCORED that holds the truth instead, null where unknown."),
    ] = None,
    by: ByOption = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(help="A column on which errors may depend: it is tested; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the rates here: `noise.json`.")] = None,
    method: Annotated[
        Literal["wilson", "clopper_pearson", "jeffreys"],
        typer.Option(help="`wilson` to look at, `clopper_pearson` to promise by."),
    ] = "wilson",
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Rows were drawn without regard to the verdict.")
    ] = False,
    pooled: Annotated[
        bool, typer.Option(help="Draw strata with few labels towards the mean of all.")
    ] = True,
    accept_at: AcceptAt = 1.0,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
) -> None:
    """Estimate both error rates of a verifier from labelled rows.

    **Example**: `rewardkit noise estimate scored.jsonl --by source --out noise.json`

    **Exit codes**: 0 estimated; 2 something must be corrected first.
    """
    from dataclasses import replace

    from rewardkit.cli._noise_text import print_channel
    from rewardkit.noise import estimate_channel

    if labels is not None and truth_column is not None:
        raise ConfigError("give either --labels or --truth-column, not both.")
    columns = [*([truth_column] if truth_column else []), *(feature or ())]
    rows = _read_rows(scored, by, columns, accept_at)
    tally = _tally(rows, labels, truth_column, uniform=uniform)
    channel = estimate_channel(
        tally.audit,
        tally.strata,
        stratified_by=tuple(by or ()),
        confidence=confidence,
        method=method,
        pooled=pooled,
    )
    found = _dependence(rows, tally, columns, feature or ())
    channel = replace(channel, warnings=(*channel.warnings, *_left_out(tally), *found))
    if out is not None:
        channel.save(out)
    if as_json:
        typer.echo(json.dumps(channel.to_dict()))
        return
    print_channel(channel)
    if out is not None:
        typer.echo(f"rates: {out}")


@noise.command()
@explain_errors
def plan(
    scored: Annotated[
        Path | None,
        typer.Argument(metavar="[SCORED]", help="A scored file, for its accept rate."),
    ] = None,
    accept_rate: Annotated[
        float | None, typer.Option(help="The accept rate, where there is no file yet.")
    ] = None,
    rho0: Annotated[float, typer.Option(help="A guess of P(accepted | wrong).")] = 0.05,
    rho1: Annotated[float, typer.Option(help="A guess of P(rejected | right).")] = 0.1,
    half_width: HalfWidth = 0.02,
    confidence: Confidence = 0.95,
    accept_at: AcceptAt = 1.0,
    as_json: AsJson = False,
) -> None:
    """Say how many labels it takes to know both error rates to a half-width.

    **Example**: `rewardkit noise plan scored.jsonl --rho0 0.02 --rho1 0.1 --half-width 0.03`

    **Exit codes**: 0 planned; 2 something must be corrected first.
    """
    from rewardkit.noise import labels_to_show_below, plan_audit

    if (scored is None) == (accept_rate is None):
        raise ConfigError("give either a scored file or --accept-rate.")
    rows = None if scored is None else _read_rows(scored, None, (), accept_at)
    share = rows.accept_rate if rows is not None else accept_rate or 0.0
    made = plan_audit(
        accept_rate=share, rho0=rho0, rho1=rho1, half_width=half_width, confidence=confidence
    )
    promise = labels_to_show_below(half_width, confidence=confidence)
    figures = {
        "accept_rate": share,
        "labels": made.labels,
        "accepted": made.accepted,
        "rejected": made.rejected,
        "uniform": made.uniform,
        "to_show_below": promise,
    }
    if as_json:
        typer.echo(json.dumps(figures))
        return
    typer.echo(f"accept rate  {100 * share:.1f} %")
    typer.echo(
        f"labels       {made.labels:,}: {made.accepted:,} of accepted rows and {made.rejected:,} "
        f"of rejected ones, for ±{100 * half_width:g} % at {100 * confidence:g} %"
    )
    typer.echo(f"             drawn without regard to the verdict it would take {made.uniform:,}")
    typer.echo(
        f"to promise   a rate below {100 * half_width:g} %: "
        f"{counted(promise, 'label')} of that truth without one error"
    )
    if rows is not None:
        _print_shortage(rows, made.accepted, made.rejected)


@noise.command()
@explain_errors
def report(
    rates: Annotated[Path, typer.Argument(metavar="NOISE", help="A `noise.json`.")],
    half_width: HalfWidth = 0.02,
    as_json: AsJson = False,
) -> None:
    """Show the rates of a file, what they do to a gradient, and what is weak about them.

    **Example**: `rewardkit noise report noise.json`

    **Exit codes**: 0 shown; 2 something must be corrected first.
    """
    from rewardkit.cli._noise_text import advise, print_channel
    from rewardkit.noise import Channel

    channel = Channel.load(rates)
    advice = advise(channel, half_width)
    if as_json:
        typer.echo(json.dumps({**channel.to_dict(), "advice": advice}))
        return
    print_channel(channel)
    for line in advice:
        typer.echo(f"- {line}")


def _read_rows(
    scored: Path, by: list[str] | None, keep: list[str] | tuple[str, ...], accept_at: float
) -> "ScoredRows":
    from rewardkit.labels import read_scored_rows

    return read_scored_rows(scored, by=by or (), keep=keep, accept_at=accept_at)


def _tally(
    rows: "ScoredRows", labels: Path | None, truth_column: str | None, *, uniform: bool
) -> "LabelTally":
    from rewardkit.labels import (
        LabelTally,
        count_truths,
        read_labels,
        tally_labels,
        truths_of_column,
    )

    if truth_column is None:
        journal = labels or rows.path.with_name(f"{rows.path.name}.labels.jsonl")
        if labels is None and not journal.exists():
            raise DataError(
                f"{journal}: no labels yet. Make them with `rewardkit label {rows.path}`, or name "
                "a column that holds the truth with --truth-column."
            )
        return tally_labels(rows, read_labels(journal), uniform=uniform)
    truths = truths_of_column(rows, name=truth_column)
    audit, strata = count_truths(rows, truths, uniform=uniform)
    return LabelTally(audit, strata, truths)


def _dependence(
    rows: "ScoredRows",
    tally: "LabelTally",
    columns: list[str],
    features: list[str] | tuple[str, ...],
) -> list[str]:
    from rewardkit.labels import dependence_on_columns

    places = {name: columns.index(name) for name in features}
    return [
        f"{one.rate} depends on {one.feature} ({100 * one.with_feature:.1f} % against "
        f"{100 * one.without_feature:.1f} %, p = {one.p_value:.2g}): one pair of "
        "rates leaves the direction wrong; mend the verifier, or make it a stratum with --by"
        for one in dependence_on_columns(rows, tally.truths, places)
        if one.p_value < 0.05
    ]


def _left_out(tally: "LabelTally") -> list[str]:
    lines = []
    if tally.unsure:
        some = counted(tally.unsure, "labelled row")
        are = "is" if tally.unsure == 1 else "are"
        lines.append(f"{some} could not be judged and {are} left out")
    if tally.disputed:
        some = counted(tally.disputed, "labelled row")
        are = "is" if tally.disputed == 1 else "are"
        lines.append(f"{some} {are} disputed and left out until settled")
    return lines


def _print_shortage(rows: "ScoredRows", accepted: int, rejected: int) -> None:
    for name, wanted, there in (
        ("accepted", accepted, rows.accepted),
        ("rejected", rejected, len(rows.rows) - rows.accepted),
    ):
        if wanted > there:
            some = counted(there, f"{name} row")
            typer.echo(f"note         the file has only {some}; score more of them")
