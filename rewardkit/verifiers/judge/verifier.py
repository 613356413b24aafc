"""JudgeVerifier: a language model grades, over any OpenAI-compatible endpoint."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, TypeVar

from rewardkit._install import require_extra
from rewardkit.completion import Completion
from rewardkit.verdict import Json, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts
from rewardkit.verifiers.judge._loop import LoopThread
from rewardkit.verifiers.judge._secret import Secret
from rewardkit.verifiers.judge.canaries import CANARIES
from rewardkit.verifiers.judge.judging import Judging
from rewardkit.verifiers.judge.options import JudgeOptions
from rewardkit.verifiers.judge.reference import Job, read_job, read_reference
from rewardkit.verifiers.judge.settings import ModeName, RubricOption, SkillsOption
from rewardkit.verifiers.judge.votes import Vote

__all__ = ["JudgeVerifier"]

_A = TypeVar("_A")
_T = TypeVar("_T")


class JudgeVerifier(Verifier):
    """Grades by a language model that answers from a closed set, or abstains.

    Args:
        model: its name, as the endpoint knows it.
        base_url: an OpenAI-compatible endpoint, up to and with `/v1`.
        rubric: a guideline in words; for mode `rubric` criteria, as a `Rubric` or a list of
            `{"criterion", "points"}`.
        mode: what is asked; docs/verifiers/judge.md has a table.
        api_key: the key; it does not travel in a pickle, and a copy reads `api_key_env`.
        api_key_env: the environment variable that holds the key otherwise.
        scale: of mode `scale`, lowest and highest whole number.
        skills: of mode `skills`, the prototypes.
        both_orders: of mode `equivalence`, ask in both orders; disagreement is an abstention.
        apart: of mode `rubric`, one call for each criterion.
        disagreement: of mode `pairwise`, what two orders that disagree are.
        panel: further models at the same endpoint that judge too.
        vote: how their votes count; see `count_votes`.
        veto: of vote `veto`, how many votes against suffice.
        structured: `schema` asks for JSON by a schema, `off` for a marked last line, `auto` for the
            first until the server refuses it.
        reasoning: the judge may write down its reasons first.
        temperature: of sampling, from 0.
        max_tokens: of one reply.
        seed: sent where it is not None.
        extra_body: further fields of the request, as `{"chat_template_kwargs": …}`.
        needs_answer: a response in which nothing commits to an answer is refused with score 0.
        max_chars: a longer response is refused with score 0.
        timeout_s: seconds for all that one verdict asks, from its first request on.
        request_timeout_s: seconds for one request.
        max_attempts: tries of one request, the first among them.
        backoff_s: seconds before the first retry, doubled for each further one; where a server
            sends Retry-After, that counts instead.
        concurrency: requests in flight.
        max_per_second: requests a second, or None.
        breaker_failures: failures in a row after which nothing is asked for `breaker_pause_s`.
        breaker_pause_s: seconds.
        cache: a file that keeps replies, or None.
        price_per_million: prices of prompt and completion tokens, for `metrics()["usage"]["cost"]`.
        canary_rate: known-wrong responses asked about beside the others, per verdict.
        canary_max_fpr: share of them that may be accepted before there is an alarm.
        canaries: those responses.
        on_alarm: `abstain` makes accepting verdicts abstentions once there was an alarm.
        proxy: address of an HTTP proxy; none is taken from the environment.
        progress: show a bar during batches, where there is a terminal.

    Raises:
        ConfigError: an option is outside its values.
        EngineMissingError: `rewardkit[judge]` is not installed.
    """

    name = "judge"

    def __init__(
        self,
        *,
        model: str = "default",
        base_url: str = "http://127.0.0.1:8000/v1",
        rubric: RubricOption = None,
        mode: ModeName = "equivalence",
        api_key: str | None = None,
        api_key_env: str = "REWARDKIT_JUDGE_API_KEY",
        scale: tuple[int, ...] = (1, 5),
        skills: SkillsOption = None,
        both_orders: bool = False,
        apart: bool = False,
        disagreement: Literal["abstain", "tie"] = "abstain",
        panel: tuple[str, ...] = (),
        vote: Vote = "majority",
        veto: int = 1,
        structured: Literal["auto", "schema", "off"] = "auto",
        reasoning: bool = True,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        seed: int | None = None,
        extra_body: Mapping[str, Json] | None = None,
        needs_answer: bool = False,
        max_chars: int = 50_000,
        timeout_s: float = 120.0,
        request_timeout_s: float = 60.0,
        max_attempts: int = 4,
        backoff_s: float = 0.5,
        concurrency: int = 64,
        max_per_second: float | None = None,
        breaker_failures: int = 20,
        breaker_pause_s: float = 10.0,
        cache: str | Path | None = None,
        price_per_million: tuple[float, ...] | None = None,
        canary_rate: float = 0.0,
        canary_max_fpr: float = 0.05,
        canaries: tuple[str, ...] = CANARIES,
        on_alarm: Literal["warn", "abstain"] = "warn",
        proxy: str | None = None,
        progress: bool = False,
    ) -> None:
        given = dict(locals())
        require_extra("judge")
        del given["self"]
        secret = Secret(given.pop("api_key"), given.pop("api_key_env"))
        self.options = JudgeOptions(secret=secret, **given)
        self.mode = self.options.make_mode()
        self.batch_rows = self.options.rows_at_once
        self._reset()

    def _reset(self) -> None:
        """Makes what does not travel: counters, and the loop with its client."""
        self._pid = os.getpid()
        self._work = Judging(self.options, self.mode)
        self._loop = LoopThread()
        self._inherited: list[object] = []

    def __getstate__(self) -> dict[str, Any]:
        made = ("_pid", "_work", "_loop", "_inherited")
        return {key: value for key, value in self.__dict__.items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def __repr__(self) -> str:
        return f"JudgeVerifier(models={self.options.models!r}, mode={type(self.mode).__name__})"

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion.

        Args:
            completion: anything at all.
            reference: an answer; or an object with some of `answer`, `rival`, `wrong`, `criteria`,
                `guideline`, `choices`, `subgoals` and `question`; or None where the mode needs
                none.
            context: `question`, `problem` or `prompt` (a text or a chat), and `choices`.

        Raises:
            InvalidReferenceError: it lacks what the mode needs, or cannot be read.
            ConfigError: the cache cannot be used.
        """
        return self._wait(Judging.judge, self._read(completion, reference, context))

    async def averify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion; thousands may be awaited side by side."""
        job = self._read(completion, reference, context)
        return await asyncio.wrap_future(self._submit(Judging.judge, job))

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion: same order, same length, always.

        Raises:
            ConfigError: a column is no list or has another length, or the cache cannot be used.
            InvalidReferenceError: a reference cannot be read.
        """
        check_batch(completions, references, columns)
        contexts = row_contexts(len(completions), columns)
        rows = zip(completions, references, contexts, strict=True)
        return self._wait(Judging.judge_all, [self._read(*row) for row in rows])

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns no warnings.

        Raises:
            InvalidReferenceError: it lacks what the mode needs, or cannot be read.
        """
        self.mode.check(read_reference(reference))
        return []

    def metrics(self) -> dict[str, Json]:
        """Returns what was spent, how the canaries fared, and the state of the breaker."""
        return self._work.metrics()

    def close(self) -> None:
        """Closes connections and cache, and ends the thread. It may be used again."""
        if self._pid != os.getpid():
            return  # what there is is the parent's
        client, self._work.client = self._work.client, None
        if client is not None and self._loop.is_alive:
            self._loop.submit(client.close()).result()
        self._loop.close()

    def _read(self, completion: Completion, reference: Json, context: Mapping[str, Any]) -> Job:
        """Returns one row, its reference read: a mistake in it raises before anything is asked."""
        read = read_reference(reference)
        self.mode.check(read)
        return read_job(completion, read, context)

    def _submit(
        self, ask: Callable[[Judging, _A], Coroutine[Any, Any, _T]], what: _A
    ) -> Future[_T]:
        if self._pid != os.getpid():
            # A fork: the thread is not here, and connections and cache are the parent's to use and
            # to close, so they are kept and left alone.
            inherited: list[object] = [self._work, self._loop]
            self._reset()
            self._inherited = inherited
        return self._loop.submit(ask(self._work, what))

    def _wait(self, ask: Callable[[Judging, _A], Coroutine[Any, Any, _T]], what: _A) -> _T:
        future = self._submit(ask, what)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
