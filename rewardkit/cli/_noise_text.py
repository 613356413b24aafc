"""Rates of a verifier as a table, and what to do about them as sentences."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rewardkit.cli._console import counted
from rewardkit.noise import Channel, Estimate, Rates, labels_for_half_width
from rewardkit.report.visible import visible_text

__all__ = ["advise", "print_channel"]


def print_channel(channel: Channel) -> None:
    """Prints the rates overall and by stratum, then the warnings."""
    console = Console()
    table = Table(box=None, pad_edge=False)
    for name in (" / ".join(channel.stratified_by) or "rows", "labels", "rho0", "rho1", "J"):
        table.add_column(visible_text(name), justify="left" if name != "labels" else "right")
    for stratum, rates in [("all", channel.rates), *channel.strata.items()]:
        labels = "" if rates.audit is None else f"{rates.audit.labelled:,}"
        cells = (labels, _rate(rates.rho0), _rate(rates.rho1), _youden(rates))
        table.add_row(Text(visible_text(stratum)), *cells)
    console.print(table, highlight=False)
    typed = f"rho0 = P(accepted | wrong), rho1 = P(rejected | right), J = 1 - rho0 - rho1; in %, \
with {100 * channel.confidence:g} % intervals"
    console.print(typed, highlight=False, soft_wrap=True, style="dim")
    for line in channel.warnings:
        console.print(Text(f"warning: {visible_text(line)}", style="yellow"), soft_wrap=True)


def advise(channel: Channel, half_width: float = 0.02) -> list[str]:
    """Returns what the rates mean for training, one sentence a line."""
    rates = channel.rates
    if rates.j_low <= 0:
        return ["corrections refuse these rates: label more rows, or mend the verifier"]
    lines = [
        f"uncorrected, the gradient is {rates.j:.2f} times as long as the clean one; with one "
        "channel for all rows its direction is right as it is"
    ]
    if channel.strata:
        js = sorted(one.j for one in channel.strata.values())
        lines.append(
            f"J runs from {js[0]:.2f} to {js[-1]:.2f} over the strata: correct by stratum where "
            "they differ, because one pair of rates changes no direction"
        )
    for name, one, truth in (("rho0", rates.rho0, "wrong"), ("rho1", rates.rho1, "right")):
        if (one.high - one.low) / 2 > half_width:
            wanted = labels_for_half_width(one.value, half_width=half_width)
            lines.append(
                f"{name} is known to ±{50 * (one.high - one.low):.1f} %; ±{100 * half_width:g} % "
                f"takes about {counted(wanted, 'label')} of {truth} rows"
            )
    return lines


def _rate(one: Estimate) -> str:
    return f"{100 * one.value:.1f} ({100 * one.low:.1f} to {100 * one.high:.1f})"


def _youden(rates: Rates) -> str:
    return f"{100 * rates.j:.1f} ({100 * rates.j_low:.1f} to {100 * rates.j_high:.1f})"
