"""Each program on a handful of rows."""

import re
import subprocess
import sys

import pytest

from tests._environment import unmeasured
from tests._needs import needs

pytestmark = pytest.mark.slow


def run(root, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=root,
        env=unmeasured(root),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells(table, row):
    line = next(line for line in table.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_math_benchmark_prints_every_table(root):
    out = run(root, "benchmarks.math_verifier", "--rows", "14", "--repeat", "1",
              "--graders", "rewardkit, lenient", "rewardkit, strict")  # fmt: skip
    titles = re.findall(r"(?m)^\*\*(.+)\*\*$", out)
    assert titles[0] == "Labelled cases: fixtures"
    for title in (
        "Right verdicts in % on the ten kinds that are hardest for peers",
        "Where rewardkit is wrong or undecided",
        "Speed on ordinary rows, one process",
        "Cost by tier, references known",
        "Length of the completion",
        "The same verdicts everywhere",
        "Start of the last tier, wall time",
    ):
        assert title in titles
    accuracy = cells(out, "rewardkit, lenient")
    assert accuracy[-4:] == ["0", "0", "0", "0"]  # late, killed, exceptions, ran code
    assert cells(out, "spawned process")[2] == "0"


def test_the_long_run_loses_nothing_and_changes_no_verdict(root):
    out = run(root, "benchmarks.math_soak", "--rows", "400")
    assert cells(out, "rows graded")[1] == "400"
    assert cells(out, "lost or doubled")[1] == "0"
    assert cells(out, "verdicts unlike an earlier one on the same case")[1] == "0"


def test_the_runtime_benchmark_prints_every_table(root):
    needs("pebble")
    out = run(root, "benchmarks.runtime", "--calls", "50", "--items", "64")
    for title in ("warm call", "map, ", "a hang in C, deadline 0.2 s", "50 calls, a tenth hostile"):
        assert title in out
    assert "45 ok" in out


def test_a_grader_that_is_not_known_is_refused(root):
    with pytest.raises(AssertionError, match="no such grader is installed: nobody"):
        run(root, "benchmarks.math_verifier", "--graders", "nobody")
