"""A service in a process of its own, as its users run it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

TOKEN = "a-token-of-the-tests"

_SCRIPT = """
import json, signal, sys
from rewardkit import Reward
from rewardkit.runtime import PoolRunner
from rewardkit.serve.service import ServiceLimits, listen, make_service, serve
from tests.runtime.verifiers import Echo

options = json.loads(sys.argv[1])
limits = ServiceLimits(**options["limits"])
runner = PoolRunner(workers=2)
with listen("127.0.0.1", options["port"], token=options["token"]) as listener, runner:
    reward = Reward({"echo": Echo()})
    app = make_service(
        reward, runner=runner, token=options["token"], limits=limits, on_missing="zero"
    )
    print(listener.getsockname()[1], flush=True)
    signal.signal(signal.SIGTERM, lambda *_: None)
    serve(app, listener, limits=limits)
"""


@dataclass
class Service:
    process: "subprocess.Popen[str]"
    port: int
    token: str | None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, body: Any = None, *, method: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Returns the status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Content-Type": "application/json"}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request(method or ("GET" if data is None else "POST"), path, data, sent)
            response = connection.getresponse()
            text = response.read()
            if response.headers.get_content_type() == "application/json":
                return response.status, dict(response.headers), json.loads(text)
            return response.status, dict(response.headers), text.decode()

    def verify(self, *completions: str, reference: Any = "right", **more: Any) -> list[Any]:
        body = {
            "completions": list(completions),
            "references": [reference] * len(completions),
            **more,
        }
        status, _, told = self.ask("/verify", body)
        assert status == 200, told
        return told["verdicts"]

    def workers(self) -> list[int]:
        """Returns the processes below the service that grade."""
        server = children(self.process.pid)
        return [worker for one in server for worker in children(one)]


def children(pid: int) -> list[int]:
    """Returns the processes that any thread of a process has started."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += [int(word) for word in path.read_text().split()]
    return found


@contextlib.contextmanager
def running(*, port: int = 0, token: str | None = None, **limits: float) -> Iterator[Service]:
    options = json.dumps({"port": port, "token": token, "limits": limits})
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line, "the service did not start"
        yield Service(process, int(line), token)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def wait_until(condition: Any, *, timeout_s: float = 30.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
