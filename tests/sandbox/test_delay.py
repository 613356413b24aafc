"""The time that a run is given back because others had the processors."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rewardkit.sandbox._server.delay import delay_s

INIT = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if os.fork() == 0:
    for _ in range(8):
        if os.fork() == 0: break
    while True: pass
time.sleep(60)
"""


def waited_s(init: int) -> float:
    children = Path(f"/proc/{init}/task/{init}/children").read_text().split()
    if not children:
        return 0.0
    return int(Path(f"/proc/{children[0]}/schedstat").read_text().split()[1]) / 1e9


def test_what_a_run_computes_beside_its_main_thread_is_not_given_back() -> None:
    with subprocess.Popen([sys.executable, "-c", INIT], start_new_session=True) as init:
        try:
            # Nine processes share one processor: while the first waits, the others compute.
            deadline = time.monotonic() + 60
            while waited_s(init.pid) - delay_s(init.pid) < 0.5 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert delay_s(init.pid) + 0.3 < waited_s(init.pid)
        finally:
            os.killpg(init.pid, signal.SIGKILL)


def test_a_run_that_is_gone_is_given_nothing() -> None:
    assert delay_s(2**22 + 1) == 0.0
