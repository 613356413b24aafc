"""What the commands share: how they print, fail and are interrupted."""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer
from rich.console import Console

from rewardkit.errors import RewardkitError

__all__ = [
    "EXIT_ABSTAINED",
    "EXIT_INTERRUPTED",
    "EXIT_NOT_PASSED",
    "EXIT_USAGE",
    "counted",
    "explain_errors",
    "run_interruptibly",
]

EXIT_NOT_PASSED = 1
EXIT_USAGE = 2
EXIT_ABSTAINED = 3
EXIT_INTERRUPTED = 130

P = ParamSpec("P")
T = TypeVar("T")


def counted(count: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "property", "properties")
    ('1 row', '1,200 rows', '2 properties')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def explain_errors(command: Callable[P, T]) -> Callable[P, T]:
    """Makes a command print a caller's mistake as one sentence, and exit with 2."""

    @functools.wraps(command)
    def explained(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except RewardkitError as error:
            from rewardkit.report.visible import visible_text

            console = Console(stderr=True)
            console.print("[bold red]error:[/bold red]", end=" ")
            console.print(visible_text(str(error)), markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(EXIT_USAGE) from None

    return explained


def run_interruptibly(
    work: Callable[[Callable[[], bool]], T], *, on_interrupt: Callable[[], None]
) -> T:
    """Returns what `work` returns. Ctrl-C lets it end in good order; a second one does not wait.

    The work runs in a thread of its own, because Python raises KeyboardInterrupt in the main
    thread, at any instruction: here that is never in the middle of the work.

    Args:
        work: called with a function that tells it whether to end.
        on_interrupt: called at the first Ctrl-C.

    Raises:
        KeyboardInterrupt: at the second Ctrl-C.
    """
    stop, done = threading.Event(), threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(stop.is_set))
        except BaseException as error:  # raised again in the caller's thread
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    # Not Thread.join: in Python 3.11 an interrupt inside it marks a running thread as ended.
    while not done.is_set():
        try:
            done.wait(0.2)
        except KeyboardInterrupt:
            if stop.is_set():
                raise
            stop.set()
            on_interrupt()
    if errors:
        raise errors[0]
    return results[0]
