"""Looking at processes from outside."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
"""How long a test waits for what a working pool does in milliseconds."""


def is_running(pid: int) -> bool:
    """True unless the process is gone or only its exit status is left."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat[stat.rindex(b")") + 2 :].split()[0] not in (b"Z", b"X")


def is_gone_soon(pid: int) -> bool:
    give_up = time.monotonic() + PATIENCE_S
    while is_running(pid):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.01)
    return True


def children(pid: int) -> list[int]:
    """The living and dead children of a process."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_bytes()
            except OSError:
                continue
            if int(stat[stat.rindex(b")") + 2 :].split()[1]) == pid:
                found.append(int(name))
    return found


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return below + [pid for child in below for pid in descendants(child)]


def run_script(
    text: str, folder: Path, *, arguments: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs a script without a main guard in an interpreter that complains about every leak."""
    script = folder / "script.py"
    script.write_text(text)
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=environment(),
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
