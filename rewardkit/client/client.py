"""A client of the reward service."""

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from rewardkit.client._transport import Answer, ServiceDownError, Transport
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.reward import RewardResult
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import check_batch

__all__ = ["RewardClient"]


class RewardClient:
    """Asks a service that `rewardkit serve` runs; safe to use from threads.

    A service that is down, busy or broken is asked again; after the last try its rows have no
    score and the reason `engine_failure`. What the caller did wrong raises.

    Args:
        url: of the service.
        token: as the service wants it.
        timeout_s: seconds for a request, all tries together.
        retries: further tries after a failure that may pass, at least 0.
        backoff_s: about the wait before the first of them; it doubles.
        rows: most completions in a request, at least 1.
        parallel: most requests at a time, at least 1.

    Raises:
        ConfigError: a value is outside its range.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = 120.0,
        retries: int = 5,
        backoff_s: float = 0.2,
        rows: int = 256,
        parallel: int = 4,
    ) -> None:
        if rows < 1 or parallel < 1 or not timeout_s > 0:
            raise ConfigError("rows and parallel are at least 1, and timeout_s is above 0")
        self.url = url
        self._transport = Transport(url, token=token, retries=retries, backoff_s=backoff_s)
        self._timeout_s = timeout_s
        self._rows = rows
        self._parallel = parallel

    def ready(self) -> list[str]:
        """Returns the names of the verifiers that the service has.

        Raises:
            ConfigError: it is not there, or does not take requests.
        """
        try:
            answer = self._transport.ask("GET", "/ready", None, timeout_s=self._timeout_s)
        except ServiceDownError as error:
            raise ConfigError(
                f"no reward service: {error}. Start it with rewardkit serve"
            ) from None
        self._check(answer)
        return [str(name) for name in answer.data.get("verifiers", [])]

    def verify(
        self,
        completion: Completion,
        reference: Json,
        /,
        *,
        verifier: str | None = None,
        **context: Any,
    ) -> Verdict:
        """Returns the service's verdict on one completion; see `verify_batch`."""
        columns: dict[str, Any] = {name: [value] for name, value in context.items()}
        return self.verify_batch([completion], [reference], verifier=verifier, **columns)[0]

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        *,
        verifier: str | None = None,
        timeout_s: float | None = None,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion: same order, same length, always.

        Args:
            completions: what the model wrote.
            references: one per completion.
            verifier: which of the service's; None where it has one.
            timeout_s: seconds for a request; None for the client's own.
            columns: the samples' other columns.

        Raises:
            ConfigError: the service refuses the request: a wrong token, column or name.
            InvalidReferenceError: a reference cannot be read.
        """
        return self.ask(completions, references, columns, verifier=verifier, timeout_s=timeout_s)

    def ask(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        columns: Mapping[str, Sequence[Any]],
        *,
        verifier: str | None = None,
        timeout_s: float | None = None,
    ) -> list[Verdict]:
        """Returns what `verify_batch` does; a column may have any name here.

        Raises:
            ConfigError: the service refuses the request: a wrong token, column or name.
            InvalidReferenceError: a reference cannot be read.
        """
        check_batch(completions, references, columns)
        limit_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        until = time.monotonic() + limit_s if timeout_s is not None else None

        def part(places: range) -> list[Verdict]:
            left_s = limit_s if until is None else until - time.monotonic()
            if left_s <= 0:
                return [_lost("not begun in time", Reason.TIMEOUT) for _ in places]
            body: dict[str, Any] = {
                "completions": completions[places.start : places.stop],
                "references": references[places.start : places.stop],
                "columns": {n: c[places.start : places.stop] for n, c in columns.items()},
                "timeout_s": left_s,
            }
            return self._verdicts(body if verifier is None else {**body, "verifier": verifier})

        return [
            verdict for verdicts in self._spread(part, len(completions)) for verdict in verdicts
        ]

    def reward(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> RewardResult:
        """Returns what `Reward.score` does, scored by the service in one request.

        In one request, because a shaper may compare completions: its size is bounded by the
        service.

        Raises:
            ConfigError: the service refuses the request, or is down.
            InvalidReferenceError: a reference cannot be read.
        """
        body = {
            "completions": list(completions),
            "columns": {name: list(column) for name, column in columns.items()},
            "verdicts": True,
            "timeout_s": self._timeout_s,
        }
        try:
            data = self._post("/reward", body).data
            return RewardResult(
                data["scores"],
                data["components"],
                {n: [Verdict.from_dict(v) for v in vs] for n, vs in data["verdicts"].items()},
            )
        except ServiceDownError as error:
            count = len(completions)
            lost = [_lost(str(error)) for _ in range(count)]
            return RewardResult([None] * count, {"service": [None] * count}, {"service": lost})

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _spread(self, part: Any, count: int) -> list[list[Verdict]]:  # noqa: ANN401
        ranges = [range(i, min(i + self._rows, count)) for i in range(0, count, self._rows)]
        if len(ranges) < 2:
            return [part(one) for one in ranges]
        with ThreadPoolExecutor(min(self._parallel, len(ranges)), "rewardkit-client") as threads:
            return list(threads.map(part, ranges))

    def _verdicts(self, body: dict[str, Any]) -> list[Verdict]:
        count = len(body["completions"])
        try:
            answer = self._post("/verify", body)
            verdicts = [Verdict.from_dict(one) for one in answer.data["verdicts"]]
            if len(verdicts) != count:
                raise ServiceDownError(f"{self.url}: {len(verdicts)} verdicts for {count} rows")
        except ServiceDownError as error:
            return [_lost(str(error)) for _ in range(count)]
        except (AttributeError, KeyError, TypeError) as error:
            return [_lost(f"{self.url}: the answer is no list of verdicts: {error!r}")] * count
        return verdicts

    def _post(self, path: str, body: Mapping[str, Any]) -> Answer:
        try:
            data = json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"a completion or a column is no plain JSON data: {error}") from None
        answer = self._transport.ask("POST", path, data, timeout_s=self._timeout_s + 10)
        self._check(answer)
        return answer

    def _check(self, answer: Answer) -> None:
        if answer.status == 422:
            raise InvalidReferenceError(answer.problem)
        if answer.status != 200:
            raise ConfigError(f"{self.url} answered {answer.status}: {answer.problem}")


def _lost(detail: str, reason: Reason = Reason.ENGINE_FAILURE) -> Verdict:
    return Verdict(None, reason, detail=f"service: {detail}"[:500])
