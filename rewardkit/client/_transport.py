"""One question to a service, with retries: the only layer that has them."""

import http.client
import json
import random
import ssl
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rewardkit.errors import ConfigError

__all__ = ["Answer", "ServiceDownError", "Transport"]

_AGAIN = (408, 429, 500, 502, 503, 504)
_LONGEST_WAIT_S = 60.0


class ServiceDownError(Exception):
    """The service did not answer, or not as a service does; the message says how."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status below 500 that is not worth a second try, and the JSON object with it."""

    status: int
    data: dict[str, Any]

    @property
    def problem(self) -> str:
        """What the service says is wrong."""
        error = self.data.get("error")
        return str(error.get("message", "")) if isinstance(error, dict) else ""


class Transport:
    """Connections to one service, kept open; as many as are used at the same time.

    Args:
        url: of the service, `http://` or `https://`.
        token: sent with every question.
        retries: further tries after a failure that may pass, at least 0.
        backoff_s: about the wait before the first of them; it doubles.
    """

    def __init__(self, url: str, *, token: str | None, retries: int, backoff_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"url is http://host:port or https://…, not {url!r}")
        if retries < 0 or not backoff_s > 0:
            raise ConfigError("retries is at least 0, and backoff_s above 0")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ConfigError("a token is printable ASCII")
        self.url = url
        self._parts = parts
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._retries = retries
        self._backoff_s = backoff_s
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._closed = False

    def ask(self, method: str, path: str, body: bytes | None, *, timeout_s: float) -> Answer:
        """Returns the answer. A question is asked again: grading twice changes nothing.

        Args:
            method: of HTTP.
            path: of the address.
            body: JSON, or None.
            timeout_s: seconds for all tries together.

        Raises:
            ServiceDownError: no try brought an answer.
        """
        self._closed = False
        until = time.monotonic() + timeout_s
        failure = "no time left"
        for attempt in range(1 + self._retries):
            left = until - time.monotonic()
            if left <= 0:
                break
            wait_s = min(self._backoff_s * 2**attempt, _LONGEST_WAIT_S) * random.uniform(0.5, 1.0)
            try:
                status, headers, data = self._once(method, path, body, left)
                if status not in _AGAIN:
                    return Answer(status, _object(data))
                failure = f"status {status}: {_object(data)}"
                wait_s = max(wait_s, _retry_after(headers))
            except (OSError, http.client.HTTPException, ValueError) as error:
                failure = f"{type(error).__name__}: {error}"
            if attempt < self._retries:
                time.sleep(max(0.0, min(wait_s, until - time.monotonic())))
        raise ServiceDownError(f"{self.url}: {failure}"[:500])

    def _once(
        self, method: str, path: str, body: bytes | None, timeout_s: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        connection = self._take(timeout_s)
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body, self._headers)
            response = connection.getresponse()
            data = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or self._closed:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, dict(response.headers), data

    def _take(self, timeout_s: float) -> http.client.HTTPConnection:
        try:
            connection = self._idle.pop()
        except IndexError:
            host, port = str(self._parts.hostname), self._parts.port
            if self._parts.scheme == "https":
                return http.client.HTTPSConnection(
                    host, port, timeout=timeout_s, context=ssl.create_default_context()
                )
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        return connection

    def close(self) -> None:
        """Closes the connections that are idle, and later those that are not."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def _object(data: bytes) -> dict[str, Any]:
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError("the answer is no JSON object")
    return found


def _retry_after(headers: Mapping[str, str]) -> float:
    text = next((v for name, v in headers.items() if name.lower() == "retry-after"), "")
    return min(float(text), _LONGEST_WAIT_S) if text.isascii() and text.isdigit() else 0.0
