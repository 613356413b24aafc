"""The labelling page over HTTP: loopback only, and only for who has the token."""

import importlib.resources
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.labels import Judgement
from rewardkit.noise import Estimate
from rewardkit.serve.content import RowContent
from rewardkit.serve.desk import DeskStatus, LabelDesk

__all__ = ["make_app"]

_MAX_BODY_BYTES = 10_000
_ASSETS = {
    "": ("label.html", "text/html"),
    "label.css": ("label.css", "text/css"),
    "label.js": ("label.js", "text/javascript"),
}
_HEADERS = {
    # Only the page's own files load: a completion can bring no script, picture or link to follow.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

_Handler = Callable[[Request], Awaitable[Response]]


def make_app(
    desk: LabelDesk, *, token: str, title: str, out: Path, stratified_by: tuple[str, ...] = ()
) -> Starlette:
    """Returns the application; every address begins with the token, and any other is not found.

    The handlers run one at a time in the event loop, so the desk needs no lock.
    """

    async def next_row(request: Request) -> Response:
        who = request.query_params.get("as", "")
        row = desk.next_row(who)
        return JSONResponse({"row": _row(row), "status": _status(desk.status()), "title": title})

    async def last_row(request: Request) -> Response:
        row = desk.last_row(request.query_params.get("as", ""))
        return JSONResponse({"row": _row(row), "status": _status(desk.status()), "title": title})

    async def give(request: Request) -> Response:
        body = await _body(request)
        try:
            judgement = Judgement(body["judgement"])
            row = desk.give(str(body["row_id"]), judgement, str(body["annotator"]))
        except (KeyError, ValueError) as error:
            raise ConfigError(f"not a label: {error}") from None
        verdict = {"accepted": row.accepted, "verdict": row.verdict}
        return JSONResponse({**verdict, "status": _status(desk.status())})

    async def export(request: Request) -> Response:
        desk.channel(stratified_by).save(out)
        return JSONResponse({"path": str(out)})

    def route(name: str, handler: _Handler, method: str) -> Route:
        return Route(f"/{token}/{name}", _explained(handler), methods=[method])

    return Starlette(
        routes=[
            *(route(name, _asset(*asset), "GET") for name, asset in _ASSETS.items()),
            route("next", next_row, "GET"),
            route("last", last_row, "GET"),
            route("label", give, "POST"),
            route("export", export, "POST"),
        ],
        # A page elsewhere whose name was made to lead here has another Host.
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
        ],
    )


def _asset(name: str, media_type: str) -> _Handler:
    text = (importlib.resources.files("rewardkit.serve") / "assets" / name).read_text("utf-8")

    async def serve(request: Request) -> Response:
        return Response(text, media_type=media_type)

    return serve


def _explained(handler: _Handler) -> _Handler:
    """Returns the handler with its headers, and a caller's mistake as an answer with its text."""

    async def explained(request: Request) -> Response:
        try:
            response = await handler(request)
        except RewardkitError as error:
            response = JSONResponse({"error": str(error)}, status_code=400)
        response.headers.update(_HEADERS)
        return response

    return explained


async def _body(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ConfigError("a label is sent as application/json")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > _MAX_BODY_BYTES:
            raise ConfigError("the label is too long")
    try:
        body = json.loads(data)
    except ValueError:
        raise ConfigError("a label is sent as JSON") from None
    if not isinstance(body, dict):
        raise ConfigError("a label is a JSON object")
    return body


def _row(row: RowContent | None) -> dict[str, str] | None:
    """Returns what the page may know before the label: everything but the verdict."""
    if row is None:
        return None
    shown = asdict(row)
    return {name: shown[name] for name in shown if name not in ("accepted", "verdict")}


def _status(status: DeskStatus) -> dict[str, Any]:
    rates = status.rates
    return {
        "labels": status.labels,
        "rho0": None if rates is None else _rate(rates.rho0),
        "rho1": None if rates is None else _rate(rates.rho1),
        "missing": status.missing,
        "needed": status.needed,
        "unsure": status.unsure,
        "disputed": status.disputed,
        "agreement": None if status.agreement is None else asdict(status.agreement),
    }


def _rate(one: Estimate) -> dict[str, float]:
    return {"value": one.value, "low": one.low, "high": one.high}
