"""A runner that asks a reward service."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from rewardkit.client.client import RewardClient
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime.batch import GradedRow
from rewardkit.runtime.runner import Runner
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier, check_batch

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

    def grade(
        self,
        verifier: Verifier,
        completions: Sequence[Completion],
        references: Sequence[Json],
        contexts: Sequence[Mapping[str, Any]],
        /,
        *,
        until: float = math.inf,
    ) -> list[GradedRow]:
        """Returns what became of each row, in order.

        Raises:
            ConfigError: the service has no verifier of this name, or refuses the caller.
        """
        check_batch(completions, references, {"contexts": contexts})
        names = dict.fromkeys(name for context in contexts for name in context)
        if any(context.keys() != names.keys() for context in contexts):
            raise ConfigError("every row has the same columns")
        columns = {name: [context[name] for context in contexts] for name in names}
        timeout_s = None if until == math.inf else max(0.0, until - time.monotonic())

        def ask(start: int, stop: int) -> list[GradedRow]:
            graded: list[GradedRow] = []
            graded += self.client.verify_batch(
                completions[start:stop],
                references[start:stop],
                verifier=verifier.name,
                timeout_s=timeout_s,
                **{name: column[start:stop] for name, column in columns.items()},
            )
            return graded

        try:
            return ask(0, len(completions))
        except InvalidReferenceError:
            # One bad reference refuses its request: row by row, the others get their verdicts.
            return [_or_error(ask, place) for place in range(len(completions))]

    def close(self) -> None:
        """Closes the connections."""
        self.client.close()


def _or_error(ask: Any, place: int) -> GradedRow:  # noqa: ANN401
    try:
        found: list[GradedRow] = ask(place, place + 1)
    except InvalidReferenceError as error:
        return error
    return found[0]
