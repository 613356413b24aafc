"""`rewardkit doctor`: which engines work on this machine, and how to get the others."""

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rewardkit._shadow import foreign_distributions
from rewardkit._version import __version__
from rewardkit.engines import EngineStatus, probe_engines

__all__ = ["Machine", "describe_machine", "doctor", "main"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What rewardkit runs on."""

    rewardkit: str
    """This package's version."""
    location: str
    """The folder from which it is imported."""
    python: str
    """Version and interpreter."""
    system: str
    cpus: int
    """CPUs that this process may use."""
    memory_gib: float
    """Physical memory."""


def describe_machine() -> Machine:
    """Returns what this process runs on.

    >>> describe_machine().cpus >= 1
    True
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        rewardkit=__version__,
        location=str(Path(__file__).resolve().parents[1]),
        python=f"{platform.python_version()} ({sys.executable})",
        system=platform.platform(),
        cpus=len(os.sched_getaffinity(0)),
        memory_gib=round(memory / 2**30, 1),
    )


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
) -> None:
    """Show which engines work here, and how to get the others.

    Each engine does a small job, so a compiler without its toolchain is seen to be broken. Ends
    with 1 if another distribution's package `rewardkit` is installed beside this one, else with 0.
    """
    machine = describe_machine()
    foreign = foreign_distributions()
    with Console(stderr=True).status("Trying the engines"):
        statuses = probe_engines(parallel=machine.cpus)
    if as_json:
        typer.echo(json.dumps(_as_json(machine, foreign, statuses), indent=2))
    else:
        _print(machine, foreign, statuses)
    if foreign:
        raise typer.Exit(1)


def main() -> None:
    """Runs `doctor` as a command of its own."""
    typer.run(doctor)


def _as_json(
    machine: Machine, foreign: list[str], statuses: list[EngineStatus]
) -> dict[str, object]:
    return {
        "machine": asdict(machine),
        "foreign": foreign,
        "engines": [
            {
                "name": s.engine.name,
                "used_by": s.engine.used_by,
                "install": s.engine.install,
                **asdict(s.finding),
            }
            for s in statuses
        ],
    }


def _print(machine: Machine, foreign: list[str], statuses: list[EngineStatus]) -> None:
    console = Console()
    facts = Table.grid(padding=(0, 2))
    for name, value in asdict(machine).items():
        facts.add_row(name.replace("memory_gib", "memory (GiB)"), str(value))
    table = Table("engine", "works", "version", "used by")
    for status in statuses:
        version = escape(status.finding.version)
        table.add_row(status.engine.name, _works(status), version, status.engine.used_by)
    console.print(facts, highlight=False)
    console.print(table, highlight=False)
    # Below the table and never wrapped, so that a command can be copied whole.
    for status in statuses:
        if not status.finding.works:
            line = f"[bold]{status.engine.name}[/bold]: {escape(status.engine.install)}"
            if status.finding.found:
                line += f"  [red]({escape(status.finding.detail)})[/red]"
            console.print(line, highlight=False, soft_wrap=True)
    for sentence in foreign:
        console.print(sentence, style="bold red", highlight=False, markup=False, soft_wrap=True)


def _works(status: EngineStatus) -> str:
    if status.finding.works:
        return "[green]yes[/green]"
    return "[red]broken[/red]" if status.finding.found else "no"
