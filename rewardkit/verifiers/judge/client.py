"""Asking a judge over HTTP: slots, rate, breaker, cache, and one layer of retries.

A client lives in one event loop. Nothing below it retries, and nothing above it.
"""

import asyncio
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewardkit.verdict import Json
from rewardkit.verifiers.judge.cache import CachedReply, ReplyCache, cache_key
from rewardkit.verifiers.judge.endpoint import RequestError
from rewardkit.verifiers.judge.limits import Breaker, Deadline, RateLimit, Slots
from rewardkit.verifiers.judge.options import ClientSettings
from rewardkit.verifiers.judge.parsing import Reply, Trouble, parse_reply
from rewardkit.verifiers.judge.prompts import PLACEHOLDER, build_prompt, draw_nonce
from rewardkit.verifiers.judge.query import Answers, Query, answer_schema
from rewardkit.verifiers.judge.usage import Usage

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

__all__ = ["Asked", "JudgeClient"]

_LONGEST_WAIT_S = 8.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one query."""

    answers: Answers | None
    """None if the judge's word is missing or cannot be read."""
    why: str = ""
    """Then: a member of `Trouble`, or the kind of a `RequestError`."""
    detail: str = ""
    reply: Reply | None = None
    cached: bool = False


class JudgeClient:
    """Asks queries; made and used inside one event loop."""

    def __init__(self, settings: ClientSettings, usage: Usage) -> None:
        import httpx

        self._settings = settings
        self._usage = usage
        self._slots = Slots(settings.concurrency)
        self._rate = RateLimit(settings.max_per_second)
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_pause_s, time.monotonic)
        self._cache = None if settings.cache is None else ReplyCache(settings.cache)
        self._under_way: dict[str, asyncio.Task[CachedReply]] = {}
        self._structured = settings.structured != "off"
        self._transports: dict[int, httpx.AsyncBaseTransport] = {}
        self._url = httpx.URL(settings.endpoint.url)
        self._tls = ssl.create_default_context() if settings.endpoint.is_tls else False

    def _transport(self, slot: int) -> "httpx.AsyncBaseTransport":
        """Returns the connection of a slot.

        A pool of many is searched for every request, which at a hundred connections takes longer
        than the request itself; and what a client adds to a transport (redirects, cookies, .netrc,
        proxies of the environment) is what a key must not meet by accident.
        """
        import httpx

        if slot not in self._transports:
            self._transports[slot] = httpx.AsyncHTTPTransport(
                verify=self._tls, trust_env=False, proxy=self._settings.proxy, retries=0
            )
        return self._transports[slot]

    async def close(self) -> None:
        """Closes connections and cache."""
        for transport in self._transports.values():
            await transport.aclose()
        if self._cache is not None:
            self._cache.close()

    async def ask(self, query: Query, model: str, deadline: Deadline) -> Asked:
        """Returns what the judge answers; nothing that a server does raises."""
        structured = self._structured
        try:
            kept, cached = await self._reply(query, model, structured, deadline)
        except RequestError as error:
            if structured and error.rejects_schema and self._settings.structured == "auto":
                self._structured = False  # for good: this server has no structured output
                return await self.ask(query, model, deadline)
            return Asked(None, error.kind, error.detail)
        read = parse_reply(kept.reply, query, kept.nonce)
        trouble = read if isinstance(read, Trouble) else None
        if not cached:
            self._usage.add_reply(kept.reply, trouble)
        if isinstance(read, Trouble):
            return Asked(None, read.value, f"the reply is {read.value}", kept.reply, cached)
        return Asked(read, reply=kept.reply, cached=cached)

    async def _reply(
        self, query: Query, model: str, structured: bool, deadline: Deadline
    ) -> tuple[CachedReply, bool]:
        """Returns a reply, and whether it was there: kept, or asked for by another row just now."""
        nonce = draw_nonce(query)
        body = self._body(query, model, nonce, structured)
        if self._cache is None:
            return await self._fetch(body, nonce, deadline), False
        key = cache_key(
            self._settings.endpoint.url, self._body(query, model, PLACEHOLDER, structured)
        )
        kept = self._cache.get(key)
        if kept is None and (task := self._under_way.get(key)) is not None:
            # Another row asks the same now. If it fails, this one asks for itself.
            done, _ = await asyncio.wait({task}, timeout=deadline.left_s())
            if done and not task.cancelled() and task.exception() is None:
                kept = task.result()
        if kept is not None:
            self._usage.add("cache_hits")
            return kept, True
        task = asyncio.ensure_future(self._fetch(body, nonce, deadline))
        self._under_way[key] = task
        try:
            kept = await task
        finally:
            if self._under_way.get(key) is task:
                del self._under_way[key]
        self._cache.put(key, kept, now=time.time())
        return kept, False

    def _body(self, query: Query, model: str, nonce: str, structured: bool) -> dict[str, Json]:
        reasoning = self._settings.reasoning
        prompt = build_prompt(query, nonce, structured=structured, reasoning=reasoning)
        body: dict[str, Any] = {"model": model, "messages": prompt.messages}
        body |= self._settings.sampling
        if structured:
            schema = answer_schema(query, reasoning=reasoning)
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": schema},
            }
        return body

    async def _fetch(self, body: Mapping[str, Json], nonce: str, deadline: Deadline) -> CachedReply:
        """Returns the reply to a request, retried: the one layer that does so."""
        from tenacity import AsyncRetrying, retry_if_exception

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: getattr(error, "transient", False)),
            wait=self._wait_s,
            stop=lambda state: (
                state.attempt_number >= self._settings.max_attempts
                or state.upcoming_sleep >= deadline.left_s()
            ),
            sleep=asyncio.sleep,
            reraise=True,
        )
        number = 0
        async for attempt in retrying:
            with attempt:
                number += 1
                reply = await self._attempt(body, deadline, is_retry=number > 1)
        return CachedReply(reply, nonce)

    def _wait_s(self, state: "RetryCallState") -> float:
        """Returns the pause before the next try: what the server asked for, or a longer one."""
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after_s if isinstance(error, RequestError) else None
        if asked is not None:
            return asked
        longest = self._settings.backoff_s * 2.0 ** (state.attempt_number - 1)
        return min(longest, _LONGEST_WAIT_S) * (1.0 - 0.25 * random.random())

    async def _attempt(
        self, body: Mapping[str, Json], deadline: Deadline, *, is_retry: bool
    ) -> Reply:
        slot: int | None = None
        try:
            # Before its first request a verdict may wait as long as the batch takes.
            async with asyncio.timeout(deadline.left_s() if is_retry else None):
                slot = await self._slots.acquire(is_retry=is_retry)
            await asyncio.sleep(self._rate.reserve(now=time.monotonic()))
            deadline.start()
            if (pause := self.breaker.wait_s()) > 0:
                said = "the judge fails all the time"
                raise RequestError("circuit_open", said, transient=True, retry_after_s=pause)
            return await self._exchange(slot, body, deadline, is_retry=is_retry)
        except TimeoutError:
            raise RequestError("timeout", "no time is left", transient=False) from None
        finally:
            if slot is not None:
                self._slots.release(slot)

    async def _exchange(
        self, slot: int, body: Mapping[str, Json], deadline: Deadline, *, is_retry: bool
    ) -> Reply:
        self._usage.add("requests")
        self._usage.add("retries", int(is_retry))
        timeout_s = min(self._settings.request_timeout_s, deadline.left_s())
        try:
            reply = await self._settings.endpoint.post(
                self._transport(slot), self._url, body, timeout_s=timeout_s
            )
        except RequestError as error:
            self._usage.add_failure(error.kind)
            if error.transient and error.kind != "http_429" and not error.rejects_schema:
                self.breaker.fail()
            else:
                self.breaker.forget()  # it answers, if only to say no
            raise
        except BaseException:
            self.breaker.forget()
            raise
        self.breaker.succeed()
        return reply
