"""What a program cannot do to its init, its server and its user's other processes."""

# ruff: noqa: E501 - the programs are one-liners

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.errors import EngineMissingError
from rewardkit.sandbox import Job, Limits, Sandbox, Status


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(isolation=request.param) as made:
        try:
            made.tier()
        except EngineMissingError as error:
            pytest.skip(f"refused on this machine: {error}")
        yield made


def python(source: str, limits: Limits | None = None) -> Job:
    return Job(files={"main.py": source.encode()}, limits=limits or Limits())


ACTS = {
    "prlimit64": [f"resource.prlimit(parent, {kind}, (1, 1))" for kind in range(16)],
    "sched_setaffinity": ["os.sched_setaffinity(parent, os.sched_getaffinity(0))"],
    "sched_setscheduler": ["os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0))"],
    "sched_setparam": ["os.sched_setparam(parent, os.sched_param(0))"],
    "setpriority": [
        "os.setpriority(os.PRIO_PROCESS, parent, 19)",
        "os.setpriority(os.PRIO_PGRP, 0, 19)",
        "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
        "os.setpriority(os.PRIO_USER, 0, 19)",
    ],
}


@pytest.mark.parametrize("call", ACTS)
def test_limits_and_priorities_of_others_cannot_be_set(sandbox: Sandbox, call: str) -> None:
    lines = "".join(
        f"try:\n    {act}\n    print('did', {act!r})\nexcept PermissionError: pass\n"
        for act in ACTS[call]
    )
    result = sandbox.run(python(f"import os, resource\nparent = os.getppid()\n{lines}print('end')"))
    assert result.stdout == b"end\n", result
    assert call in result.denied


def test_a_program_may_set_its_own(sandbox: Sandbox) -> None:
    source = """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
os.nice(1)
os.sched_setaffinity(0, os.sched_getaffinity(0))
print(resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, 0))
"""
    result = sandbox.run(python(source))
    assert result.stdout == b"(64, 64) 1\n", result
    assert result.denied == ()


UNMAPPED = """
import mmap
keep = []
for _ in range(8):
    shared = mmap.mmap(-1, 40 << 20)
    for at in range(0, 40 << 20, 4096): shared[at] = 1
    shared.madvise(mmap.MADV_DONTNEED)
    keep.append(shared)
"""
TABLES = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
size = 1 << 38
start = libc.mmap(None, size, 1, 0x4022, -1, 0)
for at in range(0, size, 2 << 20): ctypes.c_char.from_address(start + at).value
"""
SOCKETS = """
import os, socket, time
keep = []
for _ in range(8):
    if os.fork() == 0: break
try:
    while True:
        pair = socket.socketpair()
        for end in pair:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            end.setblocking(False)
            try:
                while True: end.send(b'x' * 65536)
            except OSError: pass
        keep.append(pair)
except OSError: pass
time.sleep(30)
"""


def test_shared_pages_count_though_nobody_maps_them(sandbox: Sandbox) -> None:
    result = sandbox.run(python(UNMAPPED, Limits(memory_bytes=200 << 20, wall_s=25)))
    assert result.exit_code == 1
    assert b"Cannot allocate memory" in result.stderr


def test_the_tables_of_a_mapping_that_is_only_read_count(sandbox: Sandbox) -> None:
    result = sandbox.run(python(TABLES, Limits(memory_bytes=200 << 20, wall_s=25)))
    assert result.status is Status.MEMORY, result


def test_what_waits_in_sockets_counts(sandbox: Sandbox) -> None:
    if sandbox.isolation == "landlock":
        pytest.skip("sockets of one run cannot be told from those of others")
    result = sandbox.run(python(SOCKETS, Limits(memory_bytes=200 << 20, wall_s=25)))
    assert result.status is Status.MEMORY, result


def test_a_little_shared_memory_is_shared(sandbox: Sandbox) -> None:
    source = """
import mmap, os
shared = mmap.mmap(-1, 4096)
if os.fork() == 0:
    shared[0] = 7
    os._exit(0)
os.wait()
print(shared[0])
"""
    assert sandbox.run(python(source)).stdout == b"7\n"


def test_pairs_of_sockets_are_local(sandbox: Sandbox) -> None:
    source = """
import ctypes, socket
a, b = socket.socketpair()
a.send(b'x')
print(b.recv(1))
made, libc = (ctypes.c_int * 2)(), ctypes.CDLL(None)
print([family for family in (2, 10, 16, 17, 30, 38, 40) if libc.socketpair(family, 1, 0, made) == 0])
"""
    assert sandbox.run(python(source)).stdout == b"b'x'\n[]\n"


@pytest.fixture(scope="module")
def landlocked() -> Iterator[Sandbox]:
    with Sandbox(isolation="landlock") as made:
        try:
            made.tier()
        except EngineMissingError as error:
            pytest.skip(f"refused on this machine: {error}")
        yield made


def test_files_of_the_same_user_stay_as_they_are(landlocked: Sandbox, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("x")
    before = mine.stat()
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o755)
    source = f"""
import ctypes, os, shutil
mine, libc = {str(mine)!r}, ctypes.CDLL(None)
os.chmod(mine, 0)
os.utime(mine, (1, 1))
for act in (lambda: os.chown(mine, os.getuid(), os.getgid()), lambda: os.setxattr(mine, 'user.x', b'x'),
            lambda: open(mine, 'w'), lambda: os.truncate(mine, 0), lambda: os.unlink(mine), lambda: os.rename(mine, mine + '2')):
    try: act(); print('did it')
    except OSError: pass
print(libc.inotify_init(), libc.inotify_init1(0))
open('own', 'w').write('x')
shutil.copy('own', 'copy')
print(open('copy').read())
"""
    result = landlocked.run(python(source))
    assert result.stdout == b"-1 -1\nx\n", result
    after = mine.stat()
    assert stat.S_IMODE(after.st_mode) == stat.S_IMODE(before.st_mode)
    assert (after.st_mtime_ns, after.st_uid, after.st_size) == (
        before.st_mtime_ns,
        before.st_uid,
        1,
    )
    assert os.listxattr(mine) == []


def test_no_datagram_reaches_a_socket_by_its_path(landlocked: Sandbox, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        listener.settimeout(0.2)
        source = f"""
import socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    try:
        end, other = socket.socketpair(socket.AF_UNIX, kind)
        end.sendto(b'out', {path!r})
    except OSError: pass
print('end')
"""
        assert landlocked.run(python(source)).stdout == b"end\n"
        with pytest.raises(TimeoutError):
            listener.recv(16)
