"""Hostile output gets a verdict within bounds of time and memory, and no code of it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit.testing.soup import MATH_REFERENCES as REFERENCES
from tests.runtime.processes import environment
from tests.verifiers.math import hostile
from tests.verifiers.math.cases import KINDS_OF_BOMBS, by_kind

WALL_S = 300.0
"""For a group on a machine that others load too; what bounds its work is the limit on CPU time."""


def grade(part: str, folder: Path, *, cpu_s: int) -> list[dict]:
    """Returns a line for each row that a process with little memory graded."""
    # Measuring coverage takes several times the processor time that is allowed here.
    unmeasured = {k: v for k, v in environment().items() if not k.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.verifiers.math.hostile", part, str(cpu_s)],
        capture_output=True,
        text=True,
        timeout=WALL_S,
        cwd=folder,
        env=unmeasured,
    )
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
    assert list(folder.iterdir()) == []  # what injected code would have made
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_bombs_get_verdicts(tmp_path):
    rows = grade("bombs", tmp_path, cpu_s=20)
    assert [row["name"] for row in rows] == list(hostile.BOMBS)
    assert [row["name"] for row in rows if row["score"] == 1.0] == []
    assert max(row["length"] for row in rows) < 20_000


def test_the_bombs_of_the_fixtures_get_their_verdicts(tmp_path):
    expected = {c.id: c.accepted for kind in KINDS_OF_BOMBS for c in by_kind()[kind]}
    rows = grade("fixtures", tmp_path, cpu_s=20)
    assert {row["name"]: row["score"] == 1.0 for row in rows} == expected


@pytest.mark.slow
def test_answers_full_of_one_fragment_get_verdicts(tmp_path):
    rows = grade("floods", tmp_path, cpu_s=60)
    assert len(rows) > 10 * len(REFERENCES)
    assert {row["score"] for row in rows} <= {0.0, 1.0, None}
