"""Memory does not grow with the file: neither in scoring, nor in resuming, nor in the report."""

import json
import subprocess
import sys

import pytest

from tests._environment import unmeasured
from tests._needs import needs

SCRIPT = """
import resource, sys
from rewardkit.cli import app
try:
    app(sys.argv[1:])
finally:
    print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def peak_mb(root, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        env=unmeasured(root),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    kilobytes = int(done.stderr.rpartition("PEAK ")[2])
    return kilobytes / (2**20 if sys.platform == "darwin" else 2**10)


def write(path, count):
    with path.open("w") as file:
        for i in range(count):
            row = {"id": i, "completion": f"{i} so " * 1500 + "four", "reference": "four"}
            file.write(json.dumps(row) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_four_times_the_rows_take_no_more_memory(root, tmp_path, suffix):
    pytest.importorskip("resource", reason="needs getrusage")
    if suffix == "parquet":
        needs("pyarrow")
    peaks = {}
    for count in (2_000, 8_000):
        source = write(tmp_path / f"{count}.jsonl", count)
        out = tmp_path / f"{count}-out.{suffix}"
        job = ("score", source, "--verifier", "tests.scoring.exact:ExactVerifier", "--out", out)
        first = peak_mb(root, *job, "--report", tmp_path / "r.html")
        again = peak_mb(root, *job, "--report", tmp_path / "r.html", "--against", out)
        peaks[count] = (first, again)
    # The larger input is 95 MB; a process varies by what one batch takes.
    assert peaks[8_000][0] < peaks[2_000][0] + 40, peaks
    assert peaks[8_000][1] < peaks[2_000][1] + 40, peaks
