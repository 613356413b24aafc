"""The tiers for machines without user namespaces."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.errors import EngineMissingError
from rewardkit.sandbox import Job, Limits, Sandbox, Status

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=["landlock", "unsafe"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(isolation=request.param) as made:
        try:
            made.tier()
        except EngineMissingError as error:
            pytest.skip(f"refused on this machine: {error}")
        yield made


def python(source: str, limits: Limits | None = None) -> Job:
    return Job(files={"main.py": source.encode()}, limits=limits or Limits())


def test_programs_run_and_the_tier_is_named(sandbox: Sandbox) -> None:
    result = sandbox.run(python("import json, tempfile\ntempfile.TemporaryFile()\nprint(6 * 7)"))
    assert (result.stdout, result.isolation) == (b"42\n", sandbox.isolation), result


def test_executables_run(sandbox: Sandbox) -> None:
    job = Job(
        argv=("/tmp/box/go",), files={"go": b"#!/bin/sh\necho ran\n"}, executables=frozenset({"go"})
    )
    assert sandbox.run(job).stdout == b"ran\n"


def test_nothing_outlives_the_result_and_the_directory_is_gone(sandbox: Sandbox) -> None:
    daemon = (
        "import os, time\nprint(os.getcwd(), flush=True)\nif os.fork() == 0:\n    os.setsid()\n"
    )
    daemon += "    if os.fork() == 0: time.sleep(60)\n    os._exit(0)\n"
    for ending in ("", "time.sleep(60)"):
        result = sandbox.run(python(daemon + ending, Limits(wall_s=1)))
        work = result.stdout.decode().strip()
        deadline = time.monotonic() + 2
        while os.path.exists(work) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not os.path.exists(work)
        assert not in_directory(work)


def in_directory(work: str) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd").startswith(work):
                found.append(name)
        except OSError:
            continue
    return found


def test_limits_hold(sandbox: Sandbox) -> None:
    assert sandbox.run(python("while True: pass", Limits(cpu_s=1))).status is Status.CPU
    result = sandbox.run(python("x = bytearray(1 << 30)"))
    assert b"MemoryError" in result.stderr


def test_closing_ends_what_runs() -> None:
    sandbox = Sandbox(isolation="unsafe")
    session = sandbox.start(python("import time; print(1, flush=True); time.sleep(60)"))
    server = sandbox._pool.servers[0].process.pid
    sandbox.close()
    assert session.wait().status in {Status.FAILED, Status.STOPPED}
    assert not os.path.exists(f"/proc/{server}")


ESCAPES = """
import os, socket
for path in ('/etc/passwd', '/proc/1/status', '/root', '/tmp', '/home', {secret!r}):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        print('read', path)
    except OSError: pass
for path in ('/tmp/rk_canary', '/usr/rk_canary', '/dev/shm/rk_canary', '/var/tmp/rk_canary'):
    try: open(path, 'w'); print('wrote', path)
    except OSError: pass
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    try: socket.socket(family); print('socket')
    except OSError: pass
try: os.kill({judge}, 0); print('signalled')
except OSError: pass
try: os.kill(os.getppid(), 9); print('killed')
except OSError: pass
"""


def test_landlock_keeps_files_network_and_processes_out_of_reach(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("expected")
    with Sandbox(isolation="landlock") as sandbox:
        try:
            sandbox.tier()
        except EngineMissingError as error:
            pytest.skip(f"refused on this machine: {error}")
        result = sandbox.run(python(ESCAPES.format(secret=str(secret), judge=os.getpid())))
    assert (result.exit_code, result.stdout) == (0, b""), result


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests already run as a plain user")
def test_the_lower_tiers_hold_for_a_plain_user() -> None:
    files = [__file__, str(Path(__file__).with_name("test_neighbours.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.unprivileged", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    # This test itself, and one that says why it cannot be held without namespaces.
    assert "skipped" not in done.stdout.splitlines()[-1] or ", 2 skipped" in done.stdout


def test_a_dead_judge_takes_the_server_with_it() -> None:
    source = "from rewardkit.sandbox import *\nimport time\ns = Sandbox()\ns.tier()\n"
    source += "print(s._pool.servers[0].process.pid, flush=True)\ntime.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, cwd=ROOT
    ) as judge:
        assert judge.stdout is not None
        server = int(judge.stdout.readline())
        assert os.path.exists(f"/proc/{server}")
        judge.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while alive(server) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(server)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
