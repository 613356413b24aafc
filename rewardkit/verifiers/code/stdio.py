"""The stdio format: only the input goes into the sandbox, the host compares the output."""

import atexit
import math
import os
import subprocess
import tempfile
import threading
import time
from collections import OrderedDict
from functools import lru_cache
from hashlib import sha256

from rewardkit.sandbox import Job, Limits, Result, Sandbox, Status
from rewardkit.sandbox.job import MEBIBYTE
from rewardkit.verdict import Reason
from rewardkit.verifiers.code.compare import outputs_match, shorten
from rewardkit.verifiers.code.languages import BOX, CPP_OPTIONS, Toolchain
from rewardkit.verifiers.code.outcome import Outcome, Run, from_result, padded
from rewardkit.verifiers.code.reference import StdioCase, Task
from rewardkit.verifiers.code.settings import Settings

__all__ = ["Builder", "judge_output", "run_stdio"]

_BUILD_CPU_S = 60
_BUILD_WALL_S = 120.0
_MAX_ARTIFACT_BYTES = 64 << 20
_KEPT_BUILDS = 64


class Builder:
    """Compiles programs inside a sandbox of its own and keeps the last results."""

    def __init__(self, isolation: str, binds: tuple[str, ...]) -> None:
        self.isolation = isolation
        self.binds = binds
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Result] = OrderedDict()
        self._sandbox: Sandbox | None = None
        self._headers = ""

    def build(self, toolchain: Toolchain, program: bytes) -> Result:
        """Returns the build's result, with the artifact as its standard output."""
        language = toolchain.language
        key = sha256(language.name.encode() + b"\0" + program).hexdigest()
        with self._lock:
            sandbox = self._start(toolchain)
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        command = fill(language.build, toolchain).replace("{headers}", self._headers)
        job = Job(
            argv=("/bin/sh", "-c", f"{{ {command}; }} 1>&2 && cat {language.artifact}"),
            files={language.source: program},
            environment={**Job().environment, **dict(language.environment)},
            limits=build_limits(),
        )
        result = sandbox.run(job)
        # How long a build took says something of the machine, so only one that ended is kept.
        if result.status is Status.EXITED:
            with self._lock:
                self._kept[key] = result
                while len(self._kept) > _KEPT_BUILDS:
                    self._kept.popitem(last=False)
        return result

    def close(self) -> None:
        """Ends the sandbox and forgets the builds."""
        with self._lock:
            if self._sandbox is not None:
                self._sandbox.close()
            self._sandbox = None
            self._kept.clear()
            self._headers = ""

    def _start(self, toolchain: Toolchain) -> Sandbox:
        wants_headers = "{headers}" in toolchain.language.build and not self._headers
        if wants_headers or self._sandbox is None:
            if wants_headers:
                self._headers = f"-I{precompiled_headers(toolchain.tool)}"
            headers = (self._headers[2:],) if self._headers else ()
            if self._sandbox is not None:
                self._sandbox.close()
            self._sandbox = Sandbox(
                isolation=self.isolation,
                binds=(*self.binds, *headers),
                servers=1,
                spare=1,
                disk_bytes=256 * MEBIBYTE,
            )
        return self._sandbox


@lru_cache(maxsize=4)
def precompiled_headers(compiler: str) -> str:
    """Returns a directory with `bits/stdc++.h`, compiled once and removed when the process ends.

    Half of all contest programs include every header of the library, which takes seconds to parse.
    """
    keeper = tempfile.TemporaryDirectory(prefix="rewardkit-headers-", ignore_cleanup_errors=True)
    atexit.register(keeper.cleanup)
    os.chmod(keeper.name, 0o755)
    folder = os.path.join(keeper.name, "bits")
    os.mkdir(folder)
    source = os.path.join(keeper.name, "all.h")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include_next <bits/stdc++.h>\n")
    subprocess.run(
        [compiler, *CPP_OPTIONS, "-x", "c++-header", "-o", f"{folder}/stdc++.h.gch", source],
        capture_output=True,
        timeout=_BUILD_WALL_S,
        check=False,
    )
    return keeper.name


def build_limits() -> Limits:
    """Returns the limits of a compiler's run."""
    return Limits(
        cpu_s=_BUILD_CPU_S,
        wall_s=_BUILD_WALL_S,
        memory_bytes=2048 * MEBIBYTE,
        output_bytes=_MAX_ARTIFACT_BYTES,
    )


def fill(command: str, toolchain: Toolchain) -> str:
    """Returns a command with the toolchain's paths in it."""
    return command.replace("{tool}", toolchain.tool).replace(
        "{bin}", os.path.dirname(toolchain.tool)
    )


def run_stdio(
    sandbox: Sandbox,
    builder: Builder,
    program: str,
    task: Task,
    toolchain: Toolchain,
    settings: Settings,
) -> Run:
    """Runs every case of a task in a sandbox of its own."""
    language = toolchain.language
    content = program.encode("utf-8", "surrogatepass")
    files, results = {language.source: content}, []
    if language.build:
        built = builder.build(toolchain, content)
        results.append(built)
        if not built.succeeded:
            return Run(padded([_build_failure(built)], len(task.stdio)), (built,), "stdio")
        files = {language.artifact: built.stdout}
    outcomes: list[Outcome] = []
    began, deadline = time.monotonic(), math.inf
    for case in task.stdio:
        if time.monotonic() >= deadline:
            break
        wall_s = min(settings.wall_s, max(0.05, deadline - time.monotonic()))
        result = sandbox.run(_job(case, toolchain, files, settings, wall_s))
        results.append(result)
        outcomes.append(judge_output(case, task, result, f"test {len(outcomes)}"))
        if settings.settles(outcomes[-1]):
            break
        if outcomes[-1].reason is Reason.TIMEOUT:
            deadline = min(deadline, began + settings.timeout_s * len(task.stdio))
    return Run(padded(outcomes, len(task.stdio)), tuple(results), "stdio")


def _job(
    case: StdioCase,
    toolchain: Toolchain,
    files: dict[str, bytes],
    settings: Settings,
    wall_s: float,
) -> Job:
    language = toolchain.language
    argv = tuple(fill(word, toolchain) for word in language.run)
    if argv and argv[0].startswith("./"):
        argv = (f"{BOX}{argv[0][1:]}", *argv[1:])
    return Job(
        argv=argv,
        files=files,
        executables=frozenset(files),
        stdin=case.input.encode("utf-8", "surrogatepass"),
        environment={**Job().environment, **dict(language.environment)},
        limits=settings.limits(
            cpu_s=settings.timeout_s, wall_s=wall_s, memory_factor=language.memory_factor
        ),
    )


def judge_output(case: StdioCase, task: Task, result: Result, name: str) -> Outcome:
    """Returns what a finished run of one case is worth."""
    if result.status is not Status.EXITED:
        return from_result(result, name)
    if result.exit_code and not task.ignore_exit_code:
        return from_result(result, name)
    if outputs_match(result.stdout, case.output, mode=task.compare, tolerance=task.tolerance):
        return Outcome(True, Reason.MATCH)
    if result.exit_code:
        return from_result(result, name)
    got = shorten(result.stdout[:400].decode("utf-8", "backslashreplace"))
    return Outcome(
        False, Reason.MISMATCH, f"{name}: got {got}, expected {shorten(case.output[:400])}"
    )


def _build_failure(result: Result) -> Outcome:
    if result.status is Status.EXITED:
        lines = result.stderr[:4000].decode("utf-8", "replace").splitlines()
        shown = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
        return Outcome(False, Reason.UNPARSABLE, f"compile error: {shown}")
    return from_result(result, "compiling")
