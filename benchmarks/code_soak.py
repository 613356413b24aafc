"""Grades hostile and honest programs, mixed, and prints what is left behind.

    python -m benchmarks.code_soak [--programs 20000] [--write-docs]

Half of the way through, the fork server is killed with SIGKILL.
"""

import argparse
import random

from benchmarks._soak import Item, soak_table
from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.verdict import Json
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
    # A comment makes each program one of its own: equal ones would run once.
    items = [
        Item(f"```python\n# {number}\n{program}\n```", reference, right)
        for number, (program, reference, right) in enumerate(chosen)
    ]
    batch = max(50, count // 20)
    verifier = CodeVerifier(languages=(), wall_s=3, memory_bytes=256 << 20)
    half = {count // 2 // batch}
    what = "hostile and honest"
    return soak_table(verifier, verifier.sandbox, items, batch=batch, kills=half, what=what)


if __name__ == "__main__":
    main()
