"""What the sandbox does for a caller: results, limits, channels, and its own life."""

# ruff: noqa: E501 - the programs are one-liners

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rewardkit.errors import ConfigError
from rewardkit.sandbox import Job, Limits, Sandbox, Status


def python(source: str, *, stdin: bytes = b"", limits: Limits | None = None) -> Job:
    return Job(files={"main.py": source.encode()}, stdin=stdin, limits=limits or Limits())


def test_a_program_reads_its_input_and_its_output_comes_back(sandbox: Sandbox) -> None:
    result = sandbox.run(python("print(input()[::-1])", stdin=b"abc\n"))
    assert (result.status, result.exit_code, result.stdout) == (Status.EXITED, 0, b"cba\n")
    assert result.succeeded
    assert result.isolation == "namespaces"


def test_any_executable_runs(sandbox: Sandbox) -> None:
    result = sandbox.run(Job(argv=("/bin/cat", "note.txt"), files={"note.txt": b"\x00\xff"}))
    assert result.stdout == b"\x00\xff"


def test_a_missing_executable_is_status_127(sandbox: Sandbox) -> None:
    result = sandbox.run(Job(argv=("/bin/no-such-program",)))
    assert (result.status, result.exit_code) == (Status.EXITED, 127)


def test_files_may_lie_in_directories_and_be_executable(sandbox: Sandbox) -> None:
    job = Job(
        argv=("/tmp/box/bin/run",),
        files={"bin/run": b"#!/bin/sh\necho ran\n"},
        executables=frozenset({"bin/run"}),
    )
    assert sandbox.run(job).stdout == b"ran\n"


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a//b", ".", "", "a/../b", "a\0b"])
def test_a_file_name_that_leaves_the_directory_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        Job(files={name: b""})


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("import sys; sys.exit('words')", 1),
        ("import os; os._exit(7)", 7),
        ("1 / 0", 1),
        ("def f(:", 1),
        ("import atexit, os; atexit.register(os._exit, 9)", 9),
    ],
)
def test_exit_codes_are_those_of_a_plain_run(sandbox: Sandbox, source: str, code: int) -> None:
    plain = subprocess.run([sys.executable, "-c", source], capture_output=True, check=False)
    assert plain.returncode == code
    result = sandbox.run(python(source))
    assert (result.status, result.exit_code) == (Status.EXITED, code)


def test_a_traceback_shows_the_program_and_nothing_of_the_server(sandbox: Sandbox) -> None:
    stderr = sandbox.run(python("def f():\n    return 1 / 0\nf()")).stderr.decode()
    assert "ZeroDivisionError" in stderr
    assert "return 1 / 0" in stderr
    assert "rewardkit" not in stderr


def test_the_module_is_main_and_the_streams_are_utf8(sandbox: Sandbox) -> None:
    source = "import sys\nif __name__ == '__main__': print(sys.stdin.read() + 'é世')"
    assert sandbox.run(python(source, stdin="ü".encode())).stdout.decode() == "üé世\n"


def test_a_signal_is_named(sandbox: Sandbox) -> None:
    result = sandbox.run(python("import os; os.abort()"))
    assert (result.status, result.signal) == (Status.SIGNALED, signal.SIGABRT)


def test_an_endless_loop_ends_at_the_processor_limit(sandbox: Sandbox) -> None:
    result = sandbox.run(python("while True: pass", limits=Limits(cpu_s=1, wall_s=60)))
    assert result.status is Status.CPU


def test_ignoring_the_warning_signal_does_not_help(sandbox: Sandbox) -> None:
    source = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    result = sandbox.run(python(source, limits=Limits(cpu_s=1, wall_s=60)))
    assert result.status is Status.CPU


def test_a_sleeper_ends_at_the_limit_on_the_clock(sandbox: Sandbox) -> None:
    result = sandbox.run(python("import time; time.sleep(60)", limits=Limits(wall_s=0.3)))
    assert result.status is Status.WALL


def test_output_beyond_the_limit_ends_the_run(sandbox: Sandbox) -> None:
    limits = Limits(output_bytes=100_000)
    result = sandbox.run(python("while True: print('x' * 1000)", limits=limits))
    assert result.status is Status.OUTPUT
    assert len(result.stdout) + len(result.stderr) == 100_000


def test_memory_of_one_process_is_limited(sandbox: Sandbox) -> None:
    limits = Limits(memory_bytes=200 << 20)
    result = sandbox.run(python("x = bytearray(400 << 20)", limits=limits))
    assert result.exit_code == 1
    assert b"MemoryError" in result.stderr


SHARED = """
import mmap
for _ in range(6):
    m = mmap.mmap(-1, 90 << 20)
    m.close()
"""
MANY = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        x = b'x' * (90 << 20)
        time.sleep(30)
time.sleep(30)
"""


def test_memory_of_the_whole_tree_is_limited(sandbox: Sandbox) -> None:
    limits = Limits(memory_bytes=200 << 20, wall_s=25)
    assert sandbox.run(python(MANY, limits=limits)).status is Status.MEMORY


def test_shared_memory_is_granted_up_to_the_limit_over_the_whole_run(sandbox: Sandbox) -> None:
    result = sandbox.run(python(SHARED, limits=Limits(memory_bytes=200 << 20)))
    assert result.exit_code == 1
    assert b"Cannot allocate memory" in result.stderr
    assert sandbox.run(python(SHARED, limits=Limits(memory_bytes=600 << 20))).exit_code == 0


def test_processes_are_limited(sandbox: Sandbox) -> None:
    source = """
import os, time
made = 0
try:
    for _ in range(50):
        if os.fork() == 0: time.sleep(20)
        made += 1
except OSError as error:
    print(made, error.errno, flush=True)
os._exit(0)
"""
    result = sandbox.run(python(source, limits=Limits(processes=8)))
    made, number = map(int, result.stdout.split())
    assert (made, number) == (7, 11)


def test_files_and_the_disk_are_limited(sandbox: Sandbox) -> None:
    source = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def fill(name):
    try:
        with open(name, 'wb', 0) as f:
            while True: f.write(b'x' * (1 << 20))
    except OSError as error: print(error.errno)
fill('a')
for i in range(20): fill(str(i))
"""
    result = sandbox.run(python(source, limits=Limits(file_bytes=8 << 20)))
    numbers = set(result.stdout.split())
    assert numbers == {b"27", b"28"}  # EFBIG for one file, ENOSPC for all of them


def test_the_input_may_be_left_unread_and_be_large(sandbox: Sandbox) -> None:
    assert sandbox.run(python("print(1)", stdin=b"x" * (5 << 20))).stdout == b"1\n"
    source = "import sys; print(len(sys.stdin.buffer.read()))"
    assert sandbox.run(python(source, stdin=b"x" * (5 << 20))).stdout == b"5242880\n"


def test_large_output_on_both_streams_is_whole(sandbox: Sandbox) -> None:
    source = "import sys\nfor i in range(3000): print('o' * 99); print('e' * 99, file=sys.stderr)"
    result = sandbox.run(python(source))
    assert (len(result.stdout), len(result.stderr)) == (300_000, 300_000)


def test_what_needs_threads_processes_and_temporary_files_works(sandbox: Sandbox) -> None:
    source = """
import asyncio, multiprocessing, subprocess, sys, tempfile, threading
async def nap(): await asyncio.sleep(0.01); return 1
print(asyncio.run(nap()))
with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-2, -3]))
print(subprocess.run([sys.executable, '-c', 'print(4)'], capture_output=True, text=True).stdout.strip())
with tempfile.NamedTemporaryFile('w+') as f: f.write('5'); f.seek(0); print(f.read())
t = threading.Thread(target=print, args=(6,)); t.start(); t.join()
"""
    result = sandbox.run(python(source))
    assert result.stdout.split() == b"1 [2, 3] 4 5 6".split(), result


def test_a_channel_carries_frames_both_ways(sandbox: Sandbox) -> None:
    source = """
import os
while True:
    size = int.from_bytes(os.read(3, 4), 'little')
    if not size: break
    data = os.read(3, size)[::-1]
    os.write(4, len(data).to_bytes(4, 'little') + data)
"""
    session = sandbox.start(python(source), channel=True)
    assert session.exchange(b"abc", wall_s=10, max_bytes=100) == b"cba"
    assert session.exchange(b"xyz", wall_s=10, max_bytes=100) == b"zyx"
    assert session.wait().succeeded


def test_no_answer_in_time_ends_the_run(sandbox: Sandbox) -> None:
    session = sandbox.start(python("import time; time.sleep(60)"), channel=True)
    assert session.exchange(b"abc", wall_s=0.2, max_bytes=100) is None
    assert session.wait().status is Status.WALL


def test_an_answer_that_is_too_large_ends_the_run(sandbox: Sandbox) -> None:
    source = (
        "import os; os.write(4, b'\\xff\\xff\\xff\\x7f' + b'x' * 100); import time; time.sleep(9)"
    )
    session = sandbox.start(python(source), channel=True)
    assert session.exchange(b"", wall_s=10, max_bytes=1000) is None
    assert session.wait().status is Status.OUTPUT


def test_an_abandoned_run_is_killed(sandbox: Sandbox) -> None:
    session = sandbox.start(python("import time; time.sleep(60)"))
    session.close()
    assert sandbox.run(python("print(1)")).stdout == b"1\n"


def test_many_threads_share_one_sandbox(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: sandbox.run(python(f"print({i})")), range(60)))
    assert [int(result.stdout) for result in results] == list(range(60))


def test_a_killed_server_loses_no_run() -> None:
    with Sandbox(servers=1) as sandbox:
        sandbox.run(python("print(0)"))
        jobs = [python(f"import time; time.sleep(0.05); print({i})") for i in range(36)]
        killed = 0
        with ThreadPoolExecutor(3) as pool:
            running = [pool.submit(sandbox.run, job) for job in jobs]
            while not all(job.done() for job in running):
                time.sleep(0.25)
                for server in sandbox._pool.servers if killed < 2 else ():
                    for inner in children(server.process.pid):
                        os.kill(inner, signal.SIGKILL)
                        killed += 1
    assert killed >= 1
    assert [int(job.result().stdout) for job in running] == list(range(36))


def test_a_closed_sandbox_leaves_no_process_and_may_be_used_again() -> None:
    sandbox = Sandbox()
    sandbox.run(python("print(1)"))
    server = sandbox._pool.servers[0].process.pid
    family = [server, *children(server), *(g for c in children(server) for g in children(c))]
    assert len(family) >= 3
    sandbox.close()
    deadline = time.monotonic() + 5
    while any(os.path.exists(f"/proc/{pid}") for pid in family) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not [pid for pid in family if os.path.exists(f"/proc/{pid}")]
    assert sandbox.run(python("print(2)")).stdout == b"2\n"
    sandbox.close()


def test_a_pickled_sandbox_starts_its_own_servers(sandbox: Sandbox) -> None:
    with pickle.loads(pickle.dumps(sandbox)) as copy:
        assert copy.run(python("print(3)")).stdout == b"3\n"


def test_a_forked_child_starts_its_own_servers(sandbox: Sandbox) -> None:
    sandbox.run(python("print(1)"))
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, sandbox.run(python("print(4)")).stdout)
            sandbox.close()
        finally:
            os._exit(0)
    os.close(write_end)
    assert os.read(read_end, 100) == b"4\n"
    os.close(read_end)
    os.waitpid(child, 0)
    assert sandbox.run(python("print(5)")).stdout == b"5\n"


def test_an_unknown_isolation_and_a_bind_of_everything_are_refused() -> None:
    with pytest.raises(ConfigError, match="isolation"):
        Sandbox(isolation="strong")
    for path in ("/", "relative"):
        with pytest.raises(ConfigError, match="bind"):
            Sandbox(binds=(path,))


READ_AND_TRY_TO_WRITE = """
import os, sys
for folder in sys.stdin.read().split():
    print(open(folder + "/given").read(), os.listdir(os.path.dirname(folder)))
    try:
        open(folder + "/made", "w")
    except OSError as error:
        print(error.strerror)
open("/tmp/own", "w")
"""


def test_what_is_shown_may_lie_below_tmp_and_stays_read_only() -> None:
    """An interpreter's environment may, too: its packages are shown in the same way."""
    with tempfile.TemporaryDirectory(dir="/tmp") as outer:
        inner = Path(outer, "inner")
        inner.mkdir()
        for folder in (Path(outer), inner):
            (folder / "given").write_text("seen")
            folder.chmod(0o755)
        for binds in ((outer,), (outer, str(inner)), (str(inner),)):
            with Sandbox(binds=binds) as sandbox:
                job = python(READ_AND_TRY_TO_WRITE, stdin=" ".join(binds).encode())
                for _ in range(2):
                    result = sandbox.run(job)
                    assert result.succeeded, result.stderr
                    assert result.stdout.count(b"seen") == len(binds)
                    assert result.stdout.count(b"Read-only file system") == len(binds)
        assert sorted(os.listdir(outer)) == ["given", "inner"]


@pytest.mark.parametrize("field", ["cpu_s", "memory_bytes", "output_bytes", "processes"])
def test_limits_are_checked(field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        Limits(**{field: 0})


def children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def test_the_module_prints_the_tier_that_works_here() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rewardkit.sandbox"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "namespaces: 42\n")


BUSY = "import time\nwhile time.process_time() < 1.5: pass\nprint('done')"


def test_a_busy_machine_does_not_make_a_right_program_late(sandbox: Sandbox) -> None:
    # Six of them on each processor: none can have its processor second in its second on the clock.
    count = 6 * len(os.sched_getaffinity(0))
    job = python(BUSY, limits=Limits(cpu_s=5, wall_s=4))
    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(sandbox.run, [job] * count))
    assert [result.stdout for result in results] == [b"done\n"] * count


FLOOD = """
import fcntl, os
fcntl.fcntl(3, 1031, 4096)
os.write(4, (1).to_bytes(4, 'little') + b'v')
os.write(4, (100).to_bytes(4, 'little'))
while True:
    os.write(4, b'y' * (1 << 20))
"""


def test_what_a_program_writes_unasked_is_kept_only_so_far(sandbox: Sandbox) -> None:
    session = sandbox.start(python(FLOOD), channel=True)
    assert session.answer(wall_s=20, max_bytes=1000) == b"v"
    session.post(b"z" * 100_000, wall_s=20)
    assert session.answer(wall_s=20, max_bytes=1000) is None
    assert session.wait().status is Status.OUTPUT


@pytest.mark.parametrize("name", ["exit", "quit"])
def test_a_program_may_leave_as_a_plain_interpreter_lets_it(sandbox: Sandbox, name: str) -> None:
    result = sandbox.run(python(f"print(1)\n{name}(3)\nprint(2)"))
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"1\n", b"")
