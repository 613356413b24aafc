"""The same containment and the same corpus when a plain user runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests already run as a plain user")
def test_containment_and_corpus_hold_for_a_plain_user() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    files = ["tests/sandbox/test_containment.py", "tests/verifiers/code/test_corpus.py"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.unprivileged", *command, *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
