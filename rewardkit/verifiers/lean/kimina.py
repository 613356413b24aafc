"""A Kimina Lean Server, over its HTTP API."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from rewardkit.errors import ConfigError
from rewardkit.verifiers.lean.backends import Check, LostError, Replay
from rewardkit.verifiers.lean.pool import Load, settle
from rewardkit.verifiers.lean.repl import read_answer
from rewardkit.verifiers.lean.source import split_imports

__all__ = ["KiminaLean"]

_MAX_BYTES = 64 << 20
_RETRIES = 3


class KiminaLean:
    """Checks files on a Kimina Lean Server (2.x, `POST /api/check`).

    The server contains what it runs; nothing runs here. It gives no compiled file: see
    docs/verifiers/lean.md for what that does not stop.
    """

    def __init__(
        self,
        *,
        url: str,
        api_key: str = "",
        version: str = "",
        timeout_s: float = 60.0,
        retries: int = _RETRIES,
    ) -> None:
        """Says where the server is; asks nothing.

        Args:
            url: its address, as in http://localhost:8000.
            api_key: what it wants in the Authorization header.
            version: names its toolchain in caches.
            timeout_s: seconds that it may take for a file.
            retries: attempts where it cannot be reached or is overloaded.

        Raises:
            ConfigError: a value outside its range.
        """
        if urlsplit(url).scheme not in ("http", "https"):
            raise ConfigError(f"url is an http address, as in http://localhost:8000, not {url!r}")
        if not 0 < timeout_s <= 3600 or retries < 1:
            raise ConfigError("timeout_s is in (0, 3600], and retries at least 1")
        self.url = url.rstrip("/")
        self.api_key = api_key
        self.version = version
        self.timeout_s = timeout_s
        self.retries = retries
        self._load = Load()

    compiles = False
    core = False
    replays = ""

    @property
    def key(self) -> str:
        """Names the server and its toolchain."""
        return f"kimina|{self.version}|{self.url}"

    def check(self, text: str, *, fresh: bool = False, compiled: bool = False) -> Check:
        """Returns what the server says about a file; arguments as `Backend.check`.

        Raises:
            ConfigError: the server refuses the key.
            LostError: it cannot be reached, or could not do its work.
        """
        began = time.monotonic()
        check = settle(self._load, lambda alone: self._ask(text, alone), fresh)
        return replace(check, seconds=time.monotonic() - began)

    def replay(self, olean: bytes, statement: bytes, *, fresh: bool = False) -> Replay:
        """Raises: the server gives no compiled file to replay."""
        raise LostError("a Kimina server replays nothing")

    def _ask(self, text: str, fresh: bool) -> Check:
        body = {
            "snippets": [{"id": "rewardkit", "code": text}],
            "timeout": int(self.timeout_s),
            "debug": False,
            # Without imports the server runs a file on top of what its REPL saw first.
            "reuse": not fresh and bool(split_imports(text)[0]),
        }
        result = self._post(body)
        error = result.get("error")
        if isinstance(error, str) and error:
            lowered = error.lower()
            # Imports that load slowly are the server's matter, not the proof's.
            if "timed out" in lowered and "header" not in lowered:
                return Check((), "timeout", detail=error[:200], by_clock=True)
            if "memory" in lowered:
                return Check((), "memory", detail=error[:200])
            raise LostError(f"the server says: {error[:200]}")
        response = result.get("response")
        if not isinstance(response, dict):
            raise LostError("the server gave no response for the file")
        shift = _header_lines(text)
        return Check(
            tuple(
                replace(one, line=one.line + shift, end_line=one.end_line + shift)
                for one in read_answer(response)
            )
        )

    def close(self) -> None:
        """Nothing is held open."""

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(
            f"{self.url}/api/check", json.dumps(body).encode(), headers, method="POST"
        )
        why = ""
        for attempt in range(self.retries):
            if attempt:
                time.sleep(0.2 * 2**attempt)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout_s + 10) as answer:
                    data = json.loads(answer.read(_MAX_BYTES))
                return _only(data)
            except urllib.error.HTTPError as error:
                why = f"HTTP {error.code}"
                if error.code in (401, 403):
                    raise ConfigError(f"api_key: {self.url} refuses it ({why})") from None
                if error.code in (400, 404, 422):
                    break
            except (OSError, ValueError) as error:
                why = str(error)
        raise LostError(f"{self.url}: {why}")


def _header_lines(text: str) -> int:
    """Returns how many lines the server cuts off: it counts lines from behind the imports."""
    count = 0
    for line in text.splitlines():
        if line.strip() and not line.strip().startswith("import "):
            break
        count += 1
    return count


def _only(data: object) -> dict[str, Any]:
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list) or len(results) != 1 or not isinstance(results[0], dict):
        raise LostError("the server's answer has not one result")
    return results[0]
