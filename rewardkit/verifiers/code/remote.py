"""Remote engines as backends: only programs and inputs leave, the comparison stays here."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

# ruff: noqa: ANN401 - what a server answers has no static type
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.sandbox import Result, Status
from rewardkit.verifiers.code._inside import codec
from rewardkit.verifiers.code.calls import judge_answer, pack_arguments
from rewardkit.verifiers.code.languages import LANGUAGES
from rewardkit.verifiers.code.outcome import Outcome, Run, from_result, padded
from rewardkit.verifiers.code.reference import Task
from rewardkit.verifiers.code.settings import Settings
from rewardkit.verifiers.code.stdio import judge_output

__all__ = ["Backend", "Piston", "RemoteJob", "SandboxFusion", "run_remotely"]

_CODEC = Path(codec.__file__).read_bytes()
# The answer stands in a line of its own, marked with a word made for this one run.
_DRIVER = """
import asyncio, json, sys
sys.set_int_max_str_digits(0) if hasattr(sys, "set_int_max_str_digits") else None
import rk_codec as codec
request = json.loads(sys.stdin.readline())
try:
    import solution
    entry = getattr(solution, request["entry"], None)
    if entry is None and hasattr(getattr(solution, "Solution", None), request["entry"]):
        entry = getattr(solution.Solution(), request["entry"])
    if entry is None:
        raise NameError("name %r is not defined" % request["entry"])
    keywords = {k: codec.decode(v) for k, v in request["k"].items()}
    result = entry(*map(codec.decode, request["a"]), **keywords)
    if asyncio.iscoroutine(result):
        result = asyncio.run(result)
    answer = codec.pack({"v": codec.encode(result, drain=True)})
except Exception as error:
    answer = codec.pack({"x": {"n": type(error).__name__, "s": str(error)[:500]}})
sys.stdout.flush()
sys.stdout.buffer.write(b"\\n" + request["mark"].encode() + answer + b"\\n")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteJob:
    """One program to run elsewhere."""

    language: str
    """A name of `LANGUAGES`."""
    files: Mapping[str, bytes]
    """The first is the one that runs."""
    stdin: bytes
    timeout_s: float
    memory_bytes: int


class Backend(Protocol):
    """Runs a program elsewhere. Trouble on the way is a result with status FAILED."""

    name: str

    def run(self, job: RemoteJob) -> Result:
        """Returns how the program ended."""
        ...


class _HttpBackend:
    """One HTTP request a job, repeated when the server or the way fails."""

    name = ""
    path = ""

    def __init__(self, url: str, *, attempts: int = 3, grace_s: float = 20.0) -> None:
        """Says where the engine is; connects to nothing.

        Args:
            url: the server's address, `http://host:port`.
            attempts: requests for one job before it is given up as lost.
            grace_s: seconds beyond a job's own limit that an answer may take.

        Raises:
            ConfigError: not an http address, or no attempt.
        """
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"a backend's url begins with http:// or https://, not {url!r}")
        if attempts < 1:
            raise ConfigError(f"attempts is at least 1, not {attempts}")
        self.url = url.rstrip("/")
        self.attempts = attempts
        self.grace_s = grace_s

    def run(self, job: RemoteJob) -> Result:
        """Returns how the program ended, or FAILED if no attempt brought an answer."""
        began = time.monotonic()
        detail = ""
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(min(0.1 * 2**attempt, 2.0))
            try:
                answer = self._post(self._request(job), job.timeout_s + self.grace_s)
                result = self._read(answer, time.monotonic() - began)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                detail = f"{self.name}: {type(error).__name__}: {error}"[:300]
                continue
            if result.status is not Status.FAILED:
                return result
            detail = result.detail
        return Result(status=Status.FAILED, isolation=self.name, detail=detail)

    def _post(self, body: dict[str, Any], timeout_s: float) -> Any:
        import urllib.request  # It loads a dozen modules that no other backend needs.

        request = urllib.request.Request(
            self.url + self.path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return json.loads(response.read())

    def _request(self, job: RemoteJob) -> dict[str, Any]:
        raise NotImplementedError

    def _read(self, answer: Any, wall_s: float) -> Result:
        raise NotImplementedError


class SandboxFusion(_HttpBackend):
    """The `/run_code` protocol of SandboxFusion."""

    name = "sandbox-fusion"
    path = "/run_code"
    _NAMES: Mapping[str, str] = {"javascript": "nodejs", "c": "cpp"}

    def _request(self, job: RemoteJob) -> dict[str, Any]:
        (_main, code), *others = job.files.items()
        return {
            "code": code.decode("utf-8", "replace"),
            "language": self._NAMES.get(job.language, job.language),
            "stdin": job.stdin.decode("utf-8", "replace"),
            "run_timeout": job.timeout_s,
            "compile_timeout": 60,
            "memory_limit_MB": job.memory_bytes >> 20,
            "files": {name: base64.b64encode(data).decode() for name, data in others},
        }

    def _read(self, answer: Any, wall_s: float) -> Result:
        if answer["status"] == "SandboxError":
            detail = str(answer.get("message", ""))[:300]
            return Result(status=Status.FAILED, isolation=self.name, detail=detail)
        run = answer.get("run_result") or answer["compile_result"]
        if run["status"] == "TimeLimitExceeded":
            return Result(status=Status.WALL, wall_s=wall_s, isolation=self.name)
        return _result(run, int(run["return_code"]), wall_s, self.name)


class Piston(_HttpBackend):
    """The `/api/v2/execute` protocol of Piston."""

    name = "piston"
    path = "/api/v2/execute"
    _NAMES: Mapping[str, str] = {"cpp": "c++"}

    def _request(self, job: RemoteJob) -> dict[str, Any]:
        return {
            "language": self._NAMES.get(job.language, job.language),
            "version": "*",
            "files": [
                {"name": name, "content": data.decode("utf-8", "replace")}
                for name, data in job.files.items()
            ],
            "stdin": job.stdin.decode("utf-8", "replace"),
            "run_timeout": int(job.timeout_s * 1000),
            "compile_timeout": 60_000,
            "run_memory_limit": job.memory_bytes,
        }

    def _read(self, answer: Any, wall_s: float) -> Result:
        compiled = answer.get("compile")
        run = compiled if compiled and compiled.get("code") else answer["run"]
        status = {"TO": Status.WALL, "OL": Status.OUTPUT, "EL": Status.OUTPUT}.get(
            str(run.get("status"))
        )
        if status is not None or (run.get("code") is None and run.get("signal") == "SIGKILL"):
            return Result(status=status or Status.WALL, wall_s=wall_s, isolation=self.name)
        if run.get("status") == "XX":
            detail = str(run.get("message", ""))[:300]
            return Result(status=Status.FAILED, isolation=self.name, detail=detail)
        code = run.get("code")
        return _result(run, 128 if code is None else int(code), wall_s, self.name)


def _result(run: Any, code: int, wall_s: float, name: str) -> Result:
    return Result(
        status=Status.EXITED,
        exit_code=code,
        stdout=str(run["stdout"]).encode("utf-8", "surrogatepass"),
        stderr=str(run["stderr"]).encode("utf-8", "surrogatepass"),
        wall_s=wall_s,
        isolation=name,
    )


def run_remotely(backend: Backend, program: str, task: Task, settings: Settings) -> Run:
    """Runs every test of a task elsewhere, each as a job of its own.

    Raises:
        InvalidReferenceError: the task's checks are code that needs the local pair of sandboxes.
    """
    if not task.count:
        raise InvalidReferenceError(
            f"the {task.format} format with code that is more than literal asserts runs in the "
            "local sandbox only: the checks must not travel to where the program runs"
        )
    content = program.encode("utf-8", "replace")
    outcomes: list[Outcome] = []
    results: list[Result] = []
    for index in range(task.count):
        name = f"test {index}"
        test = _run_call if task.calls else _run_case
        outcome, result = test(backend, content, task, settings, index, name)
        outcomes.append(outcome)
        results.append(result)
        if settings.settles(outcome):
            break
    return Run(padded(outcomes, task.count), tuple(results), backend.name)


def _run_case(
    backend: Backend, content: bytes, task: Task, settings: Settings, index: int, name: str
) -> tuple[Outcome, Result]:
    case = task.stdio[index]
    source = LANGUAGES[task.language].source
    job = _job({source: content}, case.input.encode("utf-8", "replace"), task, settings)
    result = backend.run(job)
    return judge_output(case, task, result, name), result


def _run_call(
    backend: Backend, content: bytes, task: Task, settings: Settings, index: int, name: str
) -> tuple[Outcome, Result]:
    case = task.calls[index]
    mark = token_hex(16)
    request = pack_arguments(case, {"entry": task.entry, "mark": mark})
    files = {"main.py": _DRIVER.encode(), "solution.py": content, "rk_codec.py": _CODEC}
    result = backend.run(_job(files, request + b"\n", task, settings))
    lines = [line for line in result.stdout.split(b"\n") if line.startswith(mark.encode())]
    if result.status is not Status.EXITED or len(lines) != 1:
        return from_result(result, name), result
    try:
        answer = codec.unpack(lines[0][len(mark) :])
    except codec.CodecError as error:
        answer = {"x": {"n": "CodecError", "s": str(error)}}
    if not isinstance(answer, dict):
        answer = {}
    return judge_answer(case, task, answer, name), result


def _job(files: dict[str, bytes], stdin: bytes, task: Task, settings: Settings) -> RemoteJob:
    return RemoteJob(
        language=task.language,
        files=files,
        stdin=stdin,
        timeout_s=settings.timeout_s,
        memory_bytes=settings.memory_bytes,
    )
