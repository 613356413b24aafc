"""What runs in the workers. The caller's process loads neither a parser nor an engine for it."""

from typing import TypeAlias

from rewardkit.verdict import Verdict
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql.reference import Task

__all__ = ["PRELOAD", "Item", "check_in_worker", "grade_in_worker"]

PRELOAD = ("rewardkit.verifiers.sql._judge",)

Item: TypeAlias = tuple[Task, str, Settings]


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
