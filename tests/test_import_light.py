"""`import rewardkit` costs little: no engine, framework or command line comes with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests._environment import unmeasured

ROOT = Path(__file__).resolve().parents[1]

HEAVY = set(
    "antlr4 datasets email fastapi httpx hypothesis math_verify multiprocessing numpy openai"
    " pandas pebble pint pyarrow pytest ray rich sqlglot starlette sympy torch transformers typer"
    " uvicorn".split()
)


def modules_after(code):
    """Returns the top-level modules that a fresh interpreter holds after running `code`."""
    script = f"{code}\nimport sys\nfor name in sys.modules: print(name)"
    # A coverage run would measure the interpreter from within, and bring its own modules.
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=unmeasured(ROOT),
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_rewardkit_loads_nothing_heavy():
    loaded = modules_after("import rewardkit")
    assert "rewardkit" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("module", ["rewardkit.engines", "rewardkit.shaping", "rewardkit_doctor"])
def test_helpers_of_the_command_line_load_no_engine(module):
    assert not modules_after(f"import {module}") & HEAVY


def test_the_public_names_are_the_listed_ones_and_all_exist():
    import rewardkit

    assert sorted(set(rewardkit.__all__)) == list(rewardkit.__all__)
    for name in rewardkit.__all__:
        assert getattr(rewardkit, name) is not None
