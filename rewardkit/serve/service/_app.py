"""The service as an application: addresses, who may ask, and how answers look."""

import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewardkit.errors import RewardkitError
from rewardkit.reward import Reward
from rewardkit.runtime import Runner
from rewardkit.runtime._tasks import describe
from rewardkit.serve.service._bodies import declared_bytes, read_json, read_rows, read_timeout
from rewardkit.serve.service._jobs import Jobs, to_json, trainer_jobs
from rewardkit.serve.service._metrics import CONTENT_TYPE, Metrics
from rewardkit.serve.service._openapi import describe_service
from rewardkit.serve.service._problems import Problem, problem_of
from rewardkit.serve.service._work import Work
from rewardkit.serve.service.limits import ServiceLimits

__all__ = ["make_service"]

_SMALL_BYTES = 2**16

_Handler = Callable[[Request], Awaitable[Response]]


def make_service(
    reward: Reward,
    *,
    runner: Runner,
    token: str | None = None,
    limits: ServiceLimits | None = None,
    on_missing: Literal["zero", "raise"] | None = None,
) -> Starlette:
    """Returns the application that serves a reward.

    Args:
        reward: what scores.
        runner: where rows are graded; it stays open.
        token: what a caller must send as `Authorization: Bearer …`. None lets anybody ask who
            names this machine `localhost` or `127.0.0.1`.
        limits: of a request and of all.
        on_missing: adds the addresses of OpenRLHF and NeMo-Gym, which need a number for every
            completion: what a missing score becomes there.
    """
    service = _Service(reward, runner, token, limits or ServiceLimits(), on_missing)
    # A page in a browser whose name was made to lead here has another Host.
    hosts = ["127.0.0.1", "localhost", "[::1]", "::1"]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts)] if token is None else []
    app = Starlette(
        routes=service.routes(),
        middleware=middleware,
        exception_handlers={HTTPException: _http_problem},
    )
    app.router.redirect_slashes = False
    app.state.draining = False
    app.state.work = service.work
    return app


class _Service:
    def __init__(
        self,
        reward: Reward,
        runner: Runner,
        token: str | None,
        limits: ServiceLimits,
        on_missing: Literal["zero", "raise"] | None,
    ) -> None:
        self._token = None if token is None else token.encode()
        self._limits = limits
        self._metrics = Metrics(runner)
        self._jobs = Jobs(reward, runner, self._metrics)
        self._trainers = {} if on_missing is None else trainer_jobs(reward, on_missing)
        self._components = list(reward.components)
        self.work = Work(runner, limits, self._metrics)
        self._bytes = 0

    def routes(self) -> list[Route]:
        document = to_json(
            describe_service(
                self._limits, trainers=list(self._trainers), needs_token=self._token is not None
            )
        )

        async def openapi(request: Request) -> Response:
            return Response(document, media_type="application/json")

        return [
            self._route("/health", "GET", self._health, free=True),
            self._route("/ready", "GET", self._ready, free=True),
            self._route("/openapi.json", "GET", openapi, free=True),
            self._route("/metrics", "GET", self._figures),
            self._route("/verify", "POST", self._verify),
            self._route("/reward", "POST", self._reward),
            *(self._route(path, "POST", self._trainer(path)) for path in self._trainers),
        ]

    def _route(self, path: str, method: str, handler: _Handler, *, free: bool = False) -> Route:
        async def answer(request: Request) -> Response:
            started = time.perf_counter()
            try:
                if not free:
                    self._check_token(request)
                response = await handler(request)
            except Problem as problem:
                response = _problem_response(problem)
            except RewardkitError as error:
                response = _problem_response(problem_of(error))
            except Exception as error:  # the boundary: one request's failure is its own
                response = _problem_response(Problem(500, "internal", describe(error)))
            self._metrics.answered(path, response.status_code, time.perf_counter() - started)
            return response

        return Route(path, answer, methods=[method])

    def _check_token(self, request: Request) -> None:
        if self._token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode(errors="replace"), self._token)
        if scheme.lower() != "bearer" or not known:
            headers = {"WWW-Authenticate": "Bearer"}
            raise Problem(401, "no_token", "send Authorization: Bearer and the token", headers)

    async def _health(self, request: Request) -> Response:
        return Response(to_json({"status": "alive"}), media_type="application/json")

    async def _ready(self, request: Request) -> Response:
        if request.app.state.draining:
            raise Problem(503, "draining", "this service is ending")
        verifiers = list(self._jobs.verifiers)
        told = {"status": "ready", "components": self._components, "verifiers": verifiers}
        return Response(to_json(told), media_type="application/json")

    async def _figures(self, request: Request) -> Response:
        return Response(self._metrics.text(), headers={"content-type": CONTENT_TYPE})

    async def _verify(self, request: Request) -> Response:
        async with self._body(request) as body:
            rows = read_rows(body, self._limits, ("verifier",))
            name, verifier = self._jobs.verifier(body.get("verifier"))
            return await self._answer(
                request, lambda until: self._jobs.verify(name, verifier, rows, until), body
            )

    async def _reward(self, request: Request) -> Response:
        async with self._body(request) as body:
            rows = read_rows(body, self._limits, ("verdicts",))
            wanted = body.get("verdicts", False)
            if not isinstance(wanted, bool):
                raise Problem(400, "bad_request", "verdicts is true or false")
            return await self._answer(
                request, lambda until: self._jobs.reward(rows, with_verdicts=wanted), body
            )

    def _trainer(self, path: str) -> _Handler:
        job = self._trainers[path]

        async def handle(request: Request) -> Response:
            async with self._body(request) as body:
                longest = max((len(v) for v in body.values() if isinstance(v, list)), default=0)
                if longest > self._limits.max_rows:
                    most = self._limits.max_rows
                    raise Problem(413, "too_many_rows", f"a request has at most {most} completions")
                return await self._answer(request, lambda until: job(body), {})

        return handle

    @asynccontextmanager
    async def _body(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        """Reads a body, and counts its bytes among those of all requests for as long as it lives.

        Raises:
            Problem: it cannot be read, or there is no room for it.
        """
        size = declared_bytes(request)
        if size > _SMALL_BYTES:  # it need not be sent to be turned away
            self.work.check_room()
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            taken += count
            self._bytes += count
            if self._bytes > self._limits.max_total_bytes:
                raise self.work.busy("too many bytes at a time")

        try:
            yield await read_json(request, self._limits, take)
        finally:
            self._bytes -= taken

    async def _answer(
        self, request: Request, job: Callable[[float], bytes], body: dict[str, Any]
    ) -> Response:
        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        data = await self.work.run(job, read_timeout(body, self._limits), gone)
        return Response(data, media_type="application/json")


def _problem_response(problem: Problem) -> Response:
    return Response(
        to_json(problem.to_dict()),
        status_code=problem.status,
        headers=problem.headers,
        media_type="application/json",
    )


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "not_found", 405: "method"}.get(error.status_code, "http")
    headers = dict(error.headers or {})
    return _problem_response(Problem(error.status_code, kind, str(error.detail), headers))
