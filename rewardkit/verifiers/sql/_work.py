"""What runs in the workers. The caller's process loads neither a parser nor an engine for it."""

from dataclasses import dataclass
from typing import TypeAlias

from rewardkit.verdict import Verdict
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql.reference import Task

__all__ = [
    "PRELOAD",
    "Explored",
    "Item",
    "check_in_worker",
    "explore_in_worker",
    "grade_in_worker",
]

PRELOAD = ("rewardkit.verifiers.sql._judge",)

Item: TypeAlias = tuple[Task, str, Settings]


@dataclass(frozen=True, slots=True)
class Explored:
    """What a session's query came to."""

    outcome: str
    """"ok", or the kind of a `QueryError`."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: bool = False
    message: str = ""


def grade_in_worker(item: Item) -> Verdict:
    """Returns the verdict on one query."""
    from rewardkit.verifiers.sql._judge import grade

    return grade(*item)


def check_in_worker(task: Task, settings: Settings) -> tuple[bool, list[str]]:
    """Returns whether a reference can be used, and its warnings or why not."""
    from rewardkit.verifiers.sql._engines.base import QueryError
    from rewardkit.verifiers.sql._judge import check

    try:
        return True, check(task, settings)
    except QueryError as error:
        return False, [error.message]


def explore_in_worker(task: Task, sql: str | None, settings: Settings, most: int) -> Explored:
    """Returns the first rows of a model's query, or the tables where there is none."""
    from rewardkit.verifiers.sql._explore import explore

    return explore(task, sql, settings, most)
