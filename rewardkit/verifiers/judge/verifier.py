"""JudgeVerifier: a language model grades, over any OpenAI-compatible endpoint."""

import asyncio
import os
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from rewardkit._install import require_extra
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts
from rewardkit.verifiers.judge._loop import LoopThread
from rewardkit.verifiers.judge._secret import Secret
from rewardkit.verifiers.judge.canaries import CANARIES, CanaryWatch, canary_job
from rewardkit.verifiers.judge.client import ClientSettings, JudgeClient
from rewardkit.verifiers.judge.endpoint import Endpoint, check_url
from rewardkit.verifiers.judge.progress import progress_bar
from rewardkit.verifiers.judge.reference import Job, read_job, read_reference
from rewardkit.verifiers.judge.row import before_asking, judge_row, settled_verdict
from rewardkit.verifiers.judge.settings import (
    ModeName,
    RubricOption,
    SkillsOption,
    check_choice,
    check_prices,
    check_range,
    make_mode,
)
from rewardkit.verifiers.judge.usage import Usage
from rewardkit.verifiers.judge.votes import Vote, check_vote, count_votes

__all__ = ["JudgeVerifier"]

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
        require_extra("judge")
        self.mode = make_mode(
            mode,
            rubric=rubric,
            scale=scale,
            skills=skills,
            both_orders=both_orders,
            apart=apart,
            disagreement=disagreement,
        )
        check_choice("structured", structured, ("auto", "schema", "off"))
        check_choice("on_alarm", on_alarm, ("warn", "abstain"))
        check_range("temperature", temperature)
        check_range("max_tokens", max_tokens, at_least=1)
        check_range("max_chars", max_chars, at_least=1)
        if isinstance(panel, str):
            raise ConfigError("panel is a list of model names")
        self.models = (model, *panel)
        check_vote(vote, veto, len(self.models))
        self.vote: Vote = vote
        self.veto = veto
        self.needs_answer = needs_answer
        self.max_chars = int(max_chars)
        self.on_alarm = on_alarm
        # A partial score counts as accepted where the mode gives such.
        self.accept_at = 1.0 if mode in ("equivalence", "contrastive") else 0.5
        self.batch_rows = 2 * int(concurrency)
        self.progress = progress
        sampling: dict[str, Json] = {"temperature": temperature, "max_tokens": max_tokens}
        sampling |= {} if seed is None else {"seed": seed}
        self.client_settings = ClientSettings(
            endpoint=Endpoint(check_url(base_url), Secret(api_key, api_key_env)),
            structured=structured,
            reasoning=reasoning,
            sampling=sampling | dict(extra_body or {}),
            timeout_s=timeout_s,
            request_timeout_s=request_timeout_s,
            max_attempts=max_attempts,
            backoff_s=backoff_s,
            concurrency=concurrency,
            max_per_second=max_per_second,
            breaker_failures=breaker_failures,
            breaker_pause_s=breaker_pause_s,
            cache=cache,
            proxy=None if proxy is None else check_url(proxy),
        )
        self._prices = check_prices(price_per_million)
        self._canary_options = (canary_rate, canary_max_fpr, tuple(canaries))
        self._reset()

    def _reset(self) -> None:
        """Makes what does not travel: counters, and the loop with its client."""
        self._pid = os.getpid()
        self._usage = Usage(self._prices)
        self._watch = CanaryWatch(*self._canary_options)
        self._loop = LoopThread()
        self._client: JudgeClient | None = None
        self._inherited: list[object] = []

    def __getstate__(self) -> dict[str, Any]:
        made = ("_pid", "_usage", "_watch", "_loop", "_client", "_inherited")
        return {key: value for key, value in self.__dict__.items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def __repr__(self) -> str:
        return f"JudgeVerifier(models={self.models!r}, mode={type(self.mode).__name__})"

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
        return self._wait(self._judge(self._read(completion, reference, context)))

    async def averify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion; thousands may be awaited side by side."""
        job = self._read(completion, reference, context)
        return await asyncio.wrap_future(self._submit(self._judge(job)))

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
        return self._wait(self._all([self._read(*row) for row in rows]))

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns no warnings.

        Raises:
            InvalidReferenceError: it lacks what the mode needs, or cannot be read.
        """
        self.mode.check(read_reference(reference))
        return []

    def metrics(self) -> dict[str, Json]:
        """Returns what was spent, how the canaries fared, and the state of the breaker."""
        breaker = None if self._client is None else self._client.breaker
        return {
            "usage": self._usage.to_json(),
            "canaries": self._watch.to_json(),
            "breaker": None if breaker is None else breaker.state,
            "breaker_opened": 0 if breaker is None else breaker.opened,
        }

    def close(self) -> None:
        """Closes connections and cache, and ends the thread. It may be used again."""
        client, self._client = self._client, None
        if self._pid != os.getpid():
            self._client = client  # the parent's
            return
        if client is not None and self._loop.is_alive:
            self._loop.submit(client.close()).result()
        self._loop.close()

    def _read(self, completion: Completion, reference: Json, context: Mapping[str, Any]) -> Job:
        """Returns one row, its reference read: a mistake in it raises before anything is asked."""
        read = read_reference(reference)
        self.mode.check(read)
        return read_job(completion, read, context)

    def _submit(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        if self._pid != os.getpid():
            # A fork: the thread is not here, and connections and cache are the parent's to use and
            # to close, so they are kept and left alone.
            inherited: list[object] = [self._client, self._loop]
            self._reset()
            self._inherited = inherited
        return self._loop.submit(work)

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _all(self, jobs: Sequence[Job]) -> list[Verdict]:
        """Judges rows, somewhat more than there are slots at a time, and keeps their order."""
        verdicts: list[Verdict | None] = [None] * len(jobs)
        queue = iter(enumerate(jobs))
        with progress_bar(len(jobs), shown=self.progress) as advance:

            async def take() -> None:
                for index, job in queue:
                    verdicts[index] = await self._judge(job)
                    advance()

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.batch_rows, len(jobs))):
                    group.create_task(take())
        return [verdict for verdict in verdicts if verdict is not None]

    async def _judge(self, job: Job) -> Verdict:
        started = time.perf_counter()
        self._usage.add("verdicts")
        verdict = before_asking(
            job, self.mode, max_chars=self.max_chars, needs_answer=self.needs_answer
        )
        if verdict is not None:
            self._usage.add("gated")
            return replace(verdict, seconds=time.perf_counter() - started)
        turn = self._watch.next_turn()
        work = [self._panel(job)]
        if turn is not None:
            work.append(self._panel(canary_job(job, self._watch.text(turn, job))))
        verdict, *canary = await asyncio.gather(*work)
        if canary:
            self._watch.record(canary[0].score, accept_at=self.accept_at)
        if self._watch.alarm and self.on_alarm == "abstain" and (verdict.score or 0.0) > 0:
            detail = "judge: it accepts known-wrong responses, so its yes is no verdict"
            verdict = replace(verdict, score=None, reason=Reason.UNPROVED, detail=detail)
        self._usage.add("abstentions", int(verdict.abstained))
        return replace(verdict, seconds=time.perf_counter() - started)

    async def _panel(self, job: Job) -> Verdict:
        """Returns the verdict of all models."""
        if self._client is None:
            self._client = JudgeClient(self.client_settings, self._usage)
        client, timeout_s = self._client, self.client_settings.timeout_s
        verdicts = await asyncio.gather(
            *(judge_row(client, self.mode, job, one, timeout_s=timeout_s) for one in self.models)
        )
        if len(verdicts) == 1:
            return verdicts[0]
        settled = count_votes([one.score for one in verdicts], self.vote, veto=self.veto)
        members: list[Json] = [
            {"score": one.score, "reason": one.reason.value, **one.evidence} for one in verdicts
        ]
        return settled_verdict(settled, job, {"tier": "judge", "panel": members})
