"""Two processes under torchrun, on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def run_two_ranks(module: str, folder: Path) -> None:
    """Runs a module of the tests in two processes, which write into a folder."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", "-m", module, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
