"""What a hostile program cannot do. Each test first shows that the same act works outside."""

# ruff: noqa: E501 - the programs are one-liners

import os
import socket
import time
from pathlib import Path

import pytest

from rewardkit.sandbox import Job, Sandbox
from rewardkit.sandbox._client import python_prefixes

IN_TMP = sorted({"box"} | {Path(p).parts[2] for p in python_prefixes() if p.startswith("/tmp/")})
"""What a program sees in /tmp: its own directory, and an interpreter that is installed there."""


def run(sandbox: Sandbox, source: str) -> list[str]:
    result = sandbox.run(Job(files={"main.py": source.encode()}))
    assert result.exit_code == 0, result
    return result.stdout.decode().splitlines()


def test_only_the_listed_directories_are_visible(sandbox: Sandbox) -> None:
    seen = set(run(sandbox, "import os\nfor n in os.listdir('/'): print(n)"))
    own = {
        "usr",
        "bin",
        "sbin",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "dev",
        "etc",
        "proc",
        "tmp",
        "var",
    }
    prefixes = {Path(path).parts[1] for path in python_prefixes()}
    assert seen <= own | prefixes


def test_files_of_the_host_are_not_there(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the expected answer")
    source = f"import os\nprint(os.path.exists({str(secret)!r}), os.path.exists('/etc/shadow'), sorted(os.listdir('/tmp')))"
    assert run(sandbox, source) == [f"False False {IN_TMP}"]


def test_nothing_can_be_written_outside_the_box(sandbox: Sandbox) -> None:
    source = """
import os, sys
for d in ('/', '/usr', '/usr/bin', '/etc', '/dev', '/proc', '/var', sys.prefix, os.path.dirname(os.__file__)):
    try:
        open(d + '/rk_canary', 'w')
        print('wrote', d)
    except OSError: pass
    try:
        os.chmod(d, 0o777); print('chmod', d)
    except OSError: pass
"""
    assert run(sandbox, source) == []


def test_one_run_sees_nothing_of_another(sandbox: Sandbox) -> None:
    source = "import os\nprint(sorted(os.listdir('/tmp') + os.listdir('/dev/shm')))\nopen('/tmp/left', 'w')"
    assert run(sandbox, source) == run(sandbox, source) == [str(sorted(2 * IN_TMP))]


def test_no_network_not_even_loopback(sandbox: Sandbox) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        listener.accept()[0].close()
        source = f"""
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
    try: socket.socket(family, socket.SOCK_RAW if family == 17 else socket.SOCK_DGRAM); print('made', family)
    except OSError: pass
try: socket.create_connection(('127.0.0.1', {port}), timeout=1); print('connected')
except OSError: pass
"""
        assert run(sandbox, source) == []
        with pytest.raises(TimeoutError):
            listener.accept()


def test_abstract_sockets_of_the_host_are_out_of_reach(sandbox: Sandbox) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0rewardkit-test-abstract")
        listener.listen(1)
        source = """
import socket
s = socket.socket(socket.AF_UNIX)
try: s.connect('\\0rewardkit-test-abstract'); print('connected')
except OSError: pass
"""
        assert run(sandbox, source) == []


def test_the_environment_is_cleared(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RK_SECRET", "canary-value")
    with Sandbox() as fresh:
        source = """
import os
print(sorted(os.environ))
print(open('/proc/self/environ').read().find('canary'), os.popen('env').read().find('canary'))
"""
        lines = run(fresh, source)
    assert lines == ["['HOME', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR', 'USER']", "-1 -1"]


def test_only_the_three_streams_are_open(sandbox: Sandbox) -> None:
    source = "import os\nprint([fd for fd in range(256) if os.path.exists(f'/proc/self/fd/{fd}')])"
    assert run(sandbox, source) == ["[0, 1, 2]"]


def test_other_processes_are_not_visible(sandbox: Sandbox) -> None:
    source = "import os\nprint(sorted(p for p in os.listdir('/proc') if p.isdigit()), os.getpid(), os.getppid())"
    assert run(sandbox, source) == ["['1', '2'] 2 1"]


def test_the_init_cannot_be_killed_read_or_traced(sandbox: Sandbox) -> None:
    source = """
import ctypes, os
os.kill(1, 9)
for name in ('mem', 'environ', 'maps', 'fd', 'fd/3'):
    try:
        path = f'/proc/1/{name}'
        os.listdir(path) if name == 'fd' else open(path, 'rb').read(1)
        print('read', name)
    except OSError: pass
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0), libc.process_vm_readv(1, 0, 0, 0, 0, 0))
print(libc.syscall(438, os.pidfd_open(1), 3, 0))
"""
    assert run(sandbox, source) == ["-1 -1", "-1"]


@pytest.mark.parametrize("number", [*range(1, 32), 34, 64])
def test_no_signal_to_the_init_spoils_the_result(sandbox: Sandbox, number: int) -> None:
    source = f"import os\nfor _ in range(3): os.kill(1, {number})\nprint('still here')"
    assert run(sandbox, source) == ["still here"]


def test_refused_calls_are_reported(sandbox: Sandbox) -> None:
    source = b"import ctypes\nprint(ctypes.CDLL(None).unshare(0x10000000))"
    result = sandbox.run(Job(files={"main.py": source}))
    assert result.stdout == b"-1\n"
    assert result.denied == ("unshare",)


def test_an_honest_program_reports_no_refused_call(sandbox: Sandbox) -> None:
    source = b"import asyncio, json, threading\nasyncio.run(asyncio.sleep(0))\nprint(json.dumps(1))"
    assert sandbox.run(Job(files={"main.py": source})).denied == ()


@pytest.mark.parametrize(
    "call",
    [
        "libc.unshare(0x10000000 | 0x20000)",
        "libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)",
        "libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None)",
        "libc.umount2(b'/proc', 2)",
        "libc.umount2(b'/tmp', 2)",
        "libc.chroot(b'/tmp')",
        "libc.setns(0, 0)",
        "libc.syscall(321, 0, 0, 0)",
        "libc.syscall(425, 8, 0)",
        "libc.syscall(298, 0, 0, -1, -1, 0)",
        "libc.syscall(323, 0)",
        "libc.syscall(319, b'x', 0)",
        "libc.syscall(435, 0, 0)",
        "libc.prctl(22, 2, 0)",
        "libc.shmget(0, 4096, 0o600)",
        "libc.sethostname(b'x', 1)",
        "libc.personality(0x40000)",
        "libc.syscall(250, 0, 0)",
    ],
)
def test_kernel_doors_are_shut(sandbox: Sandbox, call: str) -> None:
    source = f"import ctypes, os\nlibc = ctypes.CDLL(None)\nprint({call})"
    assert run(sandbox, source) == ["-1"]


def test_no_capability_is_left(sandbox: Sandbox) -> None:
    source = "for l in open('/proc/self/status'):\n    if l.startswith(('Cap', 'NoNewPrivs', 'Seccomp:')): print(*l.split())"
    zero = "0000000000000000"
    assert run(sandbox, source) == [
        *[f"Cap{kind}: {zero}" for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")],
        "NoNewPrivs: 1",
        "Seccomp: 2",
    ]


def test_limits_cannot_be_raised(sandbox: Sandbox) -> None:
    source = """
import resource
for name in ('CPU', 'DATA', 'FSIZE', 'NPROC', 'NOFILE', 'CORE', 'STACK'):
    kind = getattr(resource, 'RLIMIT_' + name)
    try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); print('raised', name)
    except (ValueError, OSError): pass
"""
    assert run(sandbox, source) == []


def test_set_uid_programs_gain_nothing(sandbox: Sandbox) -> None:
    source = "import subprocess, os\nprint(subprocess.run(['su', '-c', 'id'], capture_output=True).returncode != 0)"
    assert run(sandbox, source) == ["True"]


def test_kernel_settings_cannot_be_changed(sandbox: Sandbox) -> None:
    source = """
import os
for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sys/vm/overcommit_memory',
             '/proc/sysrq-trigger', '/proc/1/oom_score_adj'):
    try: open(path, 'w').write('1'); print('wrote', path)
    except OSError: pass
"""
    assert run(sandbox, source) == []


SURVIVORS = {
    "daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)",
    "holds the pipes": "import os, time\nif os.fork() == 0: time.sleep(60)",
    "stopped": "import os, signal\npid = os.fork()\nif pid == 0: os.kill(os.getpid(), 19)",
    "fork bomb": "import os\ntry:\n    while True: os.fork()\nexcept OSError: pass",
    "ignores everything": "import signal, os, time\nfor s in range(1, 64):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nif os.fork() == 0: time.sleep(60)",
}


@pytest.mark.parametrize("name", SURVIVORS)
def test_nothing_outlives_the_result(sandbox: Sandbox, name: str) -> None:
    sandbox.run(Job(files={"main.py": SURVIVORS[name].encode()}))
    # What stays are the server's two processes and the sandboxes that wait: an init and its program
    # each. One that is being made has a process more for a moment, so the count has to settle.
    settled = 2 + 2 * sandbox.spare
    deadline = time.monotonic() + 10
    calm_since = time.monotonic()
    while (now := time.monotonic()) - calm_since < 0.3:
        if len(family(sandbox)) > settled:
            calm_since = now
        assert now < deadline, f"{len(family(sandbox))} processes, not {settled}, after 10 s"
        time.sleep(0.02)


def family(sandbox: Sandbox) -> list[int]:
    found: list[int] = []
    waiting = [server.process.pid for server in sandbox._pool.servers]
    while waiting:
        pid = waiting.pop()
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except OSError:
            continue
        found.append(pid)
        waiting += [int(child) for child in text.split()]
    return found


def test_the_server_runs_without_privileges(sandbox: Sandbox) -> None:
    sandbox.run(Job(argv=("/bin/true",)))
    inner = family(sandbox)[1]
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{inner}/status").read_text().splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split()[0] != "0"
    assert os.readlink(f"/proc/{inner}/ns/user") != os.readlink("/proc/self/ns/user")
