"""A runner that asks a reward service."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from rewardkit.client.client import RewardClient
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime.batch import GradedRow, UngradedRow
from rewardkit.runtime.runner import Runner
from rewardkit.verifier import Verifier

__all__ = ["HttpRunner"]


class HttpRunner(Runner):
    """Grades on a service that has verifiers of the same names.

    The options of a verifier are those of the service: nothing but rows and verdicts travel.

    Args:
        url: of the service.
        options: those of `RewardClient`.

    Raises:
        ConfigError: a value is outside its range.
    """

    name = "http"

    def __init__(self, url: str, **options: Any) -> None:
        self.client = RewardClient(url, **options)

    def __enter__(self) -> Self:
        self.client.ready()
        return super().__enter__()

    def grade_rows(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float, /
    ) -> list[GradedRow]:
        """Returns what became of each row, in order.

        Raises:
            ConfigError: the service has no verifier of this name, or refuses the caller.
        """
        names = dict.fromkeys(name for _, _, context in rows for name in context)
        if any(context.keys() != names.keys() for _, _, context in rows):
            raise ConfigError("every row has the same columns")
        timeout_s = None if until == math.inf else max(0.0, until - time.monotonic())

        def ask(asked: Sequence[UngradedRow]) -> list[GradedRow]:
            verdicts = self.client.ask(
                [completion for completion, _, _ in asked],
                [reference for _, reference, _ in asked],
                {name: [context[name] for _, _, context in asked] for name in names},
                verifier=verifier.name,
                timeout_s=timeout_s,
            )
            return [*verdicts]

        try:
            return ask(rows)
        except InvalidReferenceError:
            # One bad reference refuses its request: row by row, the others get their verdicts.
            return [_or_error(ask, row) for row in rows]

    def close(self) -> None:
        """Closes the connections."""
        self.client.close()


def _or_error(
    ask: Callable[[Sequence[UngradedRow]], list[GradedRow]], row: UngradedRow
) -> GradedRow:
    try:
        return ask([row])[0]
    except InvalidReferenceError as error:
        return error
