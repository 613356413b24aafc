"""The live view of a run: a progress bar, and a table of the newest step."""

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["Display", "LiveDisplay", "NoDisplay"]


class Display(Protocol):
    """What a run shows itself on; used as a context manager."""

    def show(self, step: int, metrics: Mapping[str, float]) -> None:
        """Shows a finished step."""
        ...

    def say(self, text: str) -> None:
        """Shows one line that stays."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class NoDisplay:
    """Shows nothing."""

    def show(self, step: int, metrics: Mapping[str, float]) -> None:
        """Shows nothing."""

    def say(self, text: str) -> None:
        """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return


class LiveDisplay:
    """A bar and a table on a terminal; one line a step where there is none.

    Args:
        console: where to.
        steps: of the whole run.
    """

    def __init__(self, console: Console, *, steps: int) -> None:
        self._console, self._steps = console, steps
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("training", total=steps)
        self._live = Live(self._bar, console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, step: int, metrics: Mapping[str, float]) -> None:
        """Shows a finished step."""
        if not self._console.is_terminal:
            self._console.print(_line(step, self._steps, metrics), soft_wrap=True, highlight=False)
            return
        self._bar.update(self._task, completed=step)
        self._live.update(Group(self._bar, _table(metrics)))

    def say(self, text: str) -> None:
        """Shows one line that stays."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


_LINE = {
    "reward": "reward/mean",
    "zero groups": "groups/zero",
    "entropy": "entropy",
    "kl": "kl",
    "clipped": "clip_fraction",
    "truncated": "truncated",
    "grad": "grad_norm",
    "s": "time/step_s",
}


def _line(step: int, steps: int, metrics: Mapping[str, float]) -> str:
    shown = [f"{name} {metrics[key]:.3g}" for name, key in _LINE.items() if key in metrics]
    return f"step {step}/{steps} · " + " · ".join(shown)


def _table(metrics: Mapping[str, float]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(justify="right")
    cells = [(name, f"{value:.4g}") for name, value in metrics.items()]
    rows = -(-len(cells) // 3)
    for row in range(rows):
        taken = [cells[i] for i in range(row, len(cells), rows)]
        table.add_row(*(text for cell in taken for text in cell))
    return table
