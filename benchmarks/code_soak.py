"""Grades hostile and honest programs, mixed, and prints what is left behind.

    python -m benchmarks.code_soak [--programs 20000] [--write-docs]

Half of the way through, the fork server is killed with SIGKILL.
"""

import argparse
import gc
import os
import random
import signal
import threading
import time
from pathlib import Path

from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers.code import CodeVerifier

REFERENCE: Json = {
    "format": "call",
    "entry": "f",
    "cases": [{"args": [2], "expected": 4}, {"args": [3], "expected": 9}],
}
ECHO: Json = {"format": "stdio", "cases": [{"input": "ab\n", "output": "ba\n"}]}
CHECKS: Json = {"format": "assert", "entry": "f", "source": "x = f(3)\nassert x == 9"}
_FORKS = (
    "import os, time\nfor _ in range(30):\n    try:\n        if os.fork() == 0: time.sleep(60)\n"
)
_WRITES = "import os\nfor d in range(3, 99):\n    try: os.write(d, b'1' * 99)\n"
_WRITES += "    except OSError: pass\ndef f(x): return 1"
# program, reference, whether it is right
PROGRAMS: list[tuple[str, Json, bool]] = [
    ("def f(x): return x * x", REFERENCE, True),
    ("class Solution:\n    def f(self, x): return x * x", REFERENCE, True),
    ("print(input()[::-1])", ECHO, True),
    ("def f(x): return x * x", CHECKS, True),
    ("def f(x): return x + x", REFERENCE, False),
    ("print(input())", ECHO, False),
    ("def f(x): return 0", CHECKS, False),
    ("import os\ndef f(x): os._exit(0)", REFERENCE, False),
    ("import os\ndef f(x): os.kill(os.getpid(), 9)", REFERENCE, False),
    ("import os\nos.closerange(0, 256)\ndef f(x): return x * x", REFERENCE, False),
    (_FORKS + "    except OSError: break\nos._exit(0)", ECHO, False),
    (
        "import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(60)",
        ECHO,
        False,
    ),
    ("print('x' * (20 << 20))", ECHO, False),
    ("x = bytearray(2 << 30)", ECHO, False),
    ("def f(x): raise ValueError('y' * 1000000)", REFERENCE, False),
    ("def f(x): return [0] * 3000000", REFERENCE, False),
    ("class A:\n    def __eq__(s, o): return True\ndef f(x): return A()", REFERENCE, False),
    (
        _WRITES,
        REFERENCE,
        False,
    ),
    ("import socket\nsocket.socket()", ECHO, False),
    ("def f(x", REFERENCE, False),
]
_SLOW = ("import time\ntime.sleep(60)", ECHO, False)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    table = soak(options.programs)
    text = f"{table.to_markdown()}\n\n{describe_machine()}"
    print(text)
    if options.write_docs:
        write_sections([Section("code-soak", text)])


def soak(count: int, *, seed: int = 7) -> Table:
    """Returns the table of a soak; raises AssertionError if a verdict is wrong or lost."""
    chooser = random.Random(seed)
    chosen = [chooser.choice(PROGRAMS) if i % 400 else _SLOW for i in range(1, count + 1)]
    batch = max(50, count // 20)
    memory: list[int] = []
    server_memory: list[int] = []
    graded = wrong = lost = kills = 0
    before = census()
    began = time.monotonic()
    with CodeVerifier(languages=(), wall_s=3, memory_bytes=256 << 20) as verifier:
        verifier.verify("```python\npass\n```", ECHO)
        for start in range(0, count, batch):
            part = chosen[start : start + batch]
            # A comment makes each program one of its own: equal ones would run once.
            texts = [f"```python\n# {start + i}\n{p}\n```" for i, (p, _, _) in enumerate(part)]
            killer = threading.Timer(0.3, kill_server, [verifier])
            if start <= count // 2 < start + batch:
                killer.start()
                kills += 1
            verdicts = verifier.verify_batch(texts, [reference for _, reference, _ in part])
            killer.cancel()
            graded += len(verdicts)
            lost += sum(verdict.abstained for verdict in verdicts)
            wrong += count_wrong(verdicts, part)
            gc.collect()
            memory.append(resident(os.getpid()))
            server_memory.append(sum(resident(pid) for pid in servers(verifier)))
        during = census()
    seconds = time.monotonic() - began
    time.sleep(0.5)
    after = census()
    rows = (
        ("programs graded", f"{graded:,} of {count:,}"),
        ("wrong verdicts", str(wrong)),
        ("abstentions", str(lost)),
        ("fork servers killed with SIGKILL", str(kills)),
        ("programs a second", f"{graded / seconds:.0f}"),
        ("judge's memory, first to last twentieth, MiB", _span(memory)),
        ("fork server's memory, first to last, MiB", _span(server_memory)),
        ("descriptors before, at the end, after closing", f"{before[0]}, {during[0]}, {after[0]}"),
        ("child processes before, at the end, after", f"{before[1]}, {during[1]}, {after[1]}"),
    )
    assert not wrong, "a wrong verdict"
    assert not lost, "a lost verdict"
    assert after[1] <= before[1], "a process is left"
    return Table("Soak", ("hostile and honest programs, mixed", "found"), rows)


def count_wrong(verdicts: list[Verdict], part: list[tuple[str, Json, bool]]) -> int:
    """Returns how many verdicts that were given are wrong."""
    return sum(
        verdict.passed != right and not verdict.abstained
        for verdict, (_, _, right) in zip(verdicts, part, strict=True)
    )


def servers(verifier: CodeVerifier) -> list[int]:
    """Returns the pids of the single-threaded servers inside their namespaces."""
    found = []
    for server in verifier.sandbox._pool.servers:
        pid = server.process.pid
        try:
            found += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            continue
    return [int(pid) for pid in found]


def kill_server(verifier: CodeVerifier) -> None:
    """Kills the fork servers as the kernel would when memory is short."""
    for pid in servers(verifier):
        os.kill(pid, signal.SIGKILL)


def resident(pid: int) -> int:
    """Returns a process's resident memory in bytes, 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def census() -> tuple[int, int]:
    """Returns open descriptors of this process, and its children with theirs, zombies included."""
    family, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                children = path.read_text().split()
            except OSError:
                continue
            family += len(children)
            waiting += map(int, children)
    return len(os.listdir("/proc/self/fd")), family


def _span(sizes: list[int]) -> str:
    return " → ".join(f"{size / (1 << 20):.0f}" for size in (sizes[0], sizes[-1]))


if __name__ == "__main__":
    main()
