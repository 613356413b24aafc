"""An engine that speaks the protocols of SandboxFusion and Piston and really runs programs."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rewardkit.sandbox import Job, Limits, Result, Sandbox, Status


class Engine(ThreadingHTTPServer):
    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sandbox = sandbox
        self.received: list[bytes] = []
        self.broken = 0
        """How many of the next requests are answered with trouble."""

    def execute(self, files: dict[str, bytes], stdin: str, timeout_s: float) -> Result:
        limits = Limits(cpu_s=10, wall_s=timeout_s)
        return self.sandbox.run(Job(files=files, stdin=stdin.encode(), limits=limits))


class Handler(BaseHTTPRequestHandler):
    server: Engine

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(body)
        if self.server.broken:
            self.server.broken -= 1
            self.send_error(503)
            return
        request = json.loads(body)
        answer = fusion if self.path == "/run_code" else piston
        data = json.dumps(answer(self.server, request)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def fusion(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    files = {"main.py": request["code"].encode()}
    files |= {name: base64.b64decode(data) for name, data in request["files"].items()}
    result = engine.execute(files, request["stdin"], request["run_timeout"])
    late = result.status in {Status.WALL, Status.CPU}
    return {
        "status": "Success" if result.succeeded else "Failed",
        "message": "",
        "compile_result": None,
        "run_result": {
            "status": "TimeLimitExceeded" if late else "Finished",
            "execution_time": result.wall_s,
            "return_code": result.exit_code,
            "stdout": result.stdout.decode("utf-8", "replace"),
            "stderr": result.stderr.decode("utf-8", "replace"),
        },
    }


def piston(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    files = {file["name"]: file["content"].encode() for file in request["files"]}
    result = engine.execute(files, request["stdin"], request["run_timeout"] / 1000)
    late = result.status in {Status.WALL, Status.CPU}
    return {
        "language": "python",
        "version": "3.11",
        "run": {
            "stdout": result.stdout.decode("utf-8", "replace"),
            "stderr": result.stderr.decode("utf-8", "replace"),
            "code": result.exit_code,
            "signal": "SIGKILL" if late else None,
            "status": "TO" if late else None,
        },
    }


@contextmanager
def running_engine() -> Iterator[tuple[Engine, str]]:
    with Sandbox() as sandbox, Engine(sandbox) as engine:
        thread = threading.Thread(target=engine.serve_forever)
        thread.start()
        try:
            yield engine, f"http://127.0.0.1:{engine.server_port}"
        finally:
            engine.shutdown()
            thread.join()
