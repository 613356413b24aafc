"""The progress bar of a scoring run."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rewardkit.cli._console import counted
from rewardkit.scoring import Progress as ScoreProgress

__all__ = ["ScoreProgressBar"]


class ScoreProgressBar:
    """Shows share, rows, rate, pass rate and remaining time; nothing where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("scoring"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("scoring", total=1.0, facts="")
        self._start = time.perf_counter()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, progress: ScoreProgress) -> None:
        """Shows how far a run is."""
        tally = progress.tally
        if tally.rows == progress.resumed_rows:
            self._start = time.perf_counter()
        seconds = time.perf_counter() - self._start
        rate = (tally.rows - progress.resumed_rows) / seconds if seconds > 0.05 else 0.0
        passing = "" if tally.pass_rate is None else f" · {100 * tally.pass_rate:.1f} % pass"
        nodes = f" · {counted(len(progress.rows_by_node), 'node')}" if progress.rows_by_node else ""
        facts = f"{counted(tally.rows, 'row')} · {rate:,.0f}/s{passing}{nodes}"
        self._bar.update(self._task, completed=progress.fraction, facts=facts)

    def say_stopping(self) -> None:
        """Says that the run ends after the batch in hand."""
        self._console.print("Stopping after this batch; Ctrl-C again does not wait.")
