"""Reading a request: bounded in bytes, in time and in depth before anything is made of it."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from rewardkit.serve.service._problems import Problem
from rewardkit.serve.service.limits import ServiceLimits

_DISCARDED = 4
"""Times the largest body: what is read of a larger one before the connection ends."""

__all__ = ["Rows", "declared_bytes", "read_json", "read_rows", "read_timeout"]


async def read_json(
    request: Request, limits: ServiceLimits, take: Callable[[int], None]
) -> dict[str, Any]:
    """Returns the object that a request's body holds.

    Args:
        request: whose body is read.
        limits: of the service.
        take: told of bytes that are kept; raises where there is no room for them.

    Raises:
        Problem: it is too large, too slow, too deep, or no JSON object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "media_type", "send the body as application/json")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, "encoding", "send the body as it is, without Content-Encoding")
    try:
        data = await asyncio.wait_for(_receive(request, limits, take), limits.body_timeout_s)
    except TimeoutError:
        headers = {"Connection": "close"}
        raise Problem(408, "slow_body", "the body did not come in time", headers) from None
    except ClientDisconnect:
        raise Problem(400, "disconnected", "the body ended too early") from None
    return _parse(bytes(data), limits)


def declared_bytes(request: Request) -> int:
    """Returns how long a body says it is; 0 if it does not say."""
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


async def _receive(
    request: Request, limits: ServiceLimits, take: Callable[[int], None]
) -> bytearray:
    data = bytearray()
    size = 0
    most = limits.max_body_bytes
    if declared_bytes(request) > _DISCARDED * most:
        _refuse_size(most)
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            take(len(chunk))
            data += chunk
        else:
            # A caller reads no answer while it sends, so a little more is taken and thrown away.
            data.clear()
            if size > _DISCARDED * most:
                _refuse_size(most)
    if size > most:
        _refuse_size(most)
    return data


def _refuse_size(most: int) -> NoReturn:
    raise Problem(
        413,
        "too_large",
        f"a body has at most {most} bytes: send fewer rows at a time",
        {"Connection": "close"},
    )


def _parse(data: bytes, limits: ServiceLimits) -> dict[str, Any]:
    try:
        body = json.loads(
            data,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_once,
        )
    except RecursionError:
        raise Problem(400, "too_deep", "the body is nested too deep") from None
    except ValueError as error:
        raise Problem(400, "no_json", f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(400, "no_object", "the body is a JSON object")
    level: list[Any] = [body]
    for _ in range(limits.max_depth):
        level = [
            item
            for parent in level
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, dict | list)
        ]
        if not level:
            return body
    raise Problem(400, "too_deep", f"the body is nested deeper than {limits.max_depth}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def read_timeout(body: Mapping[str, Any], limits: ServiceLimits) -> float:
    """Returns the seconds that a request may take.

    Raises:
        Problem: `timeout_s` is not a number above 0.
    """
    wanted = body.get("timeout_s")
    if wanted is None:
        return limits.timeout_s
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not wanted > 0:
        raise Problem(400, "bad_request", "timeout_s is a number above 0, in seconds")
    return min(float(wanted), limits.timeout_s) if wanted < 1e9 else limits.timeout_s


class Rows:
    """The completions of a request, and its columns by name."""

    __slots__ = ("columns", "completions", "single")

    def __init__(self, completions: list[Any], columns: dict[str, list[Any]], single: bool) -> None:
        self.completions = completions
        self.columns = columns
        self.single = single


def read_rows(body: Mapping[str, Any], limits: ServiceLimits, fields: tuple[str, ...]) -> Rows:
    """Returns the rows of a request: `completion` with `context`, or lists of them.

    Args:
        body: of the request.
        limits: of the service.
        fields: what else this address reads.

    Raises:
        Problem: a field is unknown or of another type, or there are too many rows.
    """
    single = "completion" in body
    named = ("completion", "reference", "context") if single else _LISTS
    for name in body:
        if name not in (*named, *fields, "timeout_s"):
            known = ", ".join((*named, *fields, "timeout_s"))
            raise Problem(400, "bad_request", f"no field {name!r} here; there are: {known}")
    rows = _one(body) if single else _many(body)
    if len(rows.completions) > limits.max_rows:
        raise Problem(413, "too_many_rows", f"a request has at most {limits.max_rows} completions")
    return rows


_LISTS = ("completions", "references", "columns")


def _one(body: Mapping[str, Any]) -> Rows:
    context = body.get("context", {})
    if not isinstance(context, dict):
        raise Problem(400, "bad_request", "context is an object")
    columns = {name: [value] for name, value in context.items()}
    if "reference" in body:
        columns["reference"] = [body["reference"]]
    return Rows([body["completion"]], columns, single=True)


def _many(body: Mapping[str, Any]) -> Rows:
    completions = body.get("completions")
    if not isinstance(completions, list):
        raise Problem(400, "bad_request", "give completions, a list, or one completion")
    columns = body.get("columns", {})
    if not isinstance(columns, dict):
        raise Problem(400, "bad_request", "columns is an object of lists")
    columns = dict(columns)
    if "references" in body:
        columns["reference"] = body["references"]
    for name, column in columns.items():
        if not isinstance(column, list) or len(column) != len(completions):
            said = "references" if name == "reference" else f"the column {name!r}"
            raise Problem(
                400, "bad_request", f"{said} is a list of {len(completions)}, as completions is"
            )
    return Rows(completions, columns, single=False)
