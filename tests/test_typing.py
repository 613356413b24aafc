"""The public types are what users' own type checkers see."""

import subprocess
import sys

import pytest


def mypy(*arguments, cwd):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_a_strict_checker_accepts_and_refuses_what_it_must(root):
    done = mypy("tests/typing/public_api.py", cwd=root)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("verdict.passed = True", "read-only"),
        ("verdict.nonsense", 'has no attribute "nonsense"'),
    ],
)
def test_the_check_above_can_fail(root, tmp_path, line, error):
    page = tmp_path / "wrong.py"
    page.write_text(
        f"from rewardkit import Verdict\ndef f(verdict: Verdict) -> None:\n    {line}\n"
    )
    done = mypy("--config-file", str(root / "pyproject.toml"), str(page), cwd=root)
    assert done.returncode == 1
    assert error in done.stdout
