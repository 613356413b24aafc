"""One exchange with an OpenAI-compatible server, and what its outcome means."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifiers.judge._secret import Secret
from rewardkit.verifiers.judge.parsing import Reply

if TYPE_CHECKING:
    import httpx

__all__ = ["Endpoint", "RequestError", "check_url", "read_reply"]

_MAX_REPLY_BYTES = 4_000_000
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SCHEMA_WORDS = ("response_format", "json_schema", "schema", "grammar")


class RequestError(Exception):
    """A request that brought no reply.

    Args:
        kind: a short word that metrics count by, as `http_500`, `timeout`, `malformed`.
        detail: one line for a person; no key is in it.
        transient: another try may succeed.
        retry_after_s: seconds that the server asked to wait.
        rejects_schema: the server seems to refuse structured output.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        transient: bool,
        retry_after_s: float | None = None,
        rejects_schema: bool = False,
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.transient = transient
        self.retry_after_s = retry_after_s
        self.rejects_schema = rejects_schema


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, and the key for it.

    Raises:
        ConfigError: the URL is no http or https address, or carries a password.
    """

    base_url: str
    secret: Secret

    @property
    def url(self) -> str:
        """Where requests go."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @property
    def is_tls(self) -> bool:
        """True for https."""
        return self.base_url.startswith("https:")

    async def post(
        self,
        transport: "httpx.AsyncBaseTransport",
        url: "httpx.URL",
        body: Mapping[str, Json],
        *,
        timeout_s: float,
    ) -> Reply:
        """Returns the reply to one request.

        Args:
            transport: one connection.
            url: the text `url` of this endpoint, parsed once.
            body: the request.
            timeout_s: seconds for the whole exchange.

        Raises:
            RequestError: there is none.
        """
        import httpx

        key = self.secret.reveal()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        content = json.dumps(body, ensure_ascii=False, allow_nan=False)
        request = httpx.Request("POST", url, headers=headers, content=content)
        try:
            # The time is for the whole exchange: a body that trickles in never times out by itself.
            async with asyncio.timeout(timeout_s):
                response = await transport.handle_async_request(request)
                try:
                    raw = await _read_body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise RequestError("timeout", f"no reply in {timeout_s:g} s", transient=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            detail = self.secret.redact(str(error) or type(error).__name__)
            where = url.netloc.decode("ascii", "replace")
            raise RequestError("connection", f"{where}: {detail[:200]}", transient=True) from None
        if response.status_code != 200:
            raise self._refused(response.status_code, response.headers, raw)
        return read_reply(raw)

    def _refused(self, status: int, headers: Mapping[str, str], raw: bytes) -> RequestError:
        said = self.secret.redact(_error_text(raw))
        low = said.lower()
        return RequestError(
            f"http_{status}",
            f"status {status}: {said[:200]}" if said else f"status {status}",
            transient=status in _TRANSIENT,
            retry_after_s=_retry_after(headers),
            rejects_schema=status in (400, 404, 415, 422, 500, 501)
            and any(word in low for word in _SCHEMA_WORDS),
        )


async def _read_body(response: "httpx.Response") -> bytes:
    raw = bytearray()
    async for chunk in response.aiter_bytes():
        raw += chunk
        if len(raw) > _MAX_REPLY_BYTES:
            raise RequestError("too_long", "a reply of megabytes", transient=False)
    return bytes(raw)


def check_url(base_url: str) -> str:
    """Returns a base URL as it is used.

    Raises:
        ConfigError: it is no http or https address, or carries a user, a query or a fragment.
    """
    try:
        parts = urlsplit(base_url)
        port_reads = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_reads = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_reads:
        raise ConfigError("base_url is an http or https address, as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "base_url carries no user, password or query: give the key as api_key, or in the "
            "environment variable that api_key_env names"
        )
    return base_url.rstrip("/")


def read_reply(raw: bytes) -> Reply:
    """Returns the reply in the body of a chat completion.

    Raises:
        RequestError: the body is cut, or is no chat completion.
    """
    try:
        body: Any = json.loads(raw)
        choice, *others = body["choices"]
        message = choice["message"]
        content = message.get("content")
        refusal = message.get("refusal")
        finish = choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise RequestError("malformed", "no chat completion in the body", transient=True) from None
    if others:
        raise RequestError("malformed", "several choices: which one counts?", transient=False)
    usage = body.get("usage")
    return Reply(
        text=_content(content),
        finish=finish if isinstance(finish, str) else "stop",
        refusal=refusal if isinstance(refusal, str) else "",
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def _content(content: object) -> str:
    if isinstance(content, list):
        parts = [one.get("text") for one in content if isinstance(one, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _count(usage: object, name: str) -> int:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value < 10**12 else 0


def _error_text(raw: bytes) -> str:
    text = raw[:20_000].decode("utf-8", "replace")
    try:
        error: Any = json.loads(text)["error"]
        said = error["message"] if isinstance(error, Mapping) else error
    except (ValueError, LookupError, TypeError, RecursionError):
        said = text
    return " ".join(str(said).split())


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds to wait that a server asks for: a number, or an HTTP date."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            seconds = float(text) * unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < 1e6 else None
    try:
        when = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        return None
    return max(when - now, 0.0)
