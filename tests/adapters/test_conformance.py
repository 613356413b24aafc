"""What the page on adapters says is what these tests and packages are."""

import importlib.util
import json
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

ROWS = [
    json.loads(line)
    for line in (ROOT / "fixtures/adapters/conformance.jsonl").read_text("utf-8").splitlines()
]
PACKAGES = sorted(
    path.parent.name
    for path in (ROOT / "adapters").glob("*/__init__.py")
    if path.parent.name not in {"rewardkit_doctor", "rewardkit_grpo"}  # a command and a trainer
)
FRAMEWORKS = set(
    "accelerate datasets inspect_ai lighteval lm_eval numpy openenv reasoning_gym skyrl skyrl_gym"
    " torch transformers trl verifiers verl".split()
)


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/_generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["generate"]
    return module


def test_every_adapter_has_a_row():
    assert sorted(row["adapter"] for row in ROWS) == PACKAGES


def test_the_page_is_up_to_date():
    made = generator()
    page = (ROOT / "docs/adapters.md").read_text("utf-8")
    assert made.place(page, made.conformance(), name="adapters") == page, "python docs/_generate.py"


@pytest.mark.parametrize("row", ROWS, ids=[row["adapter"] for row in ROWS])
def test_the_tests_of_a_row_exist(row):
    assert row["checked"] in {"run", "run apart", "recorded"}
    for test in row["tests"]:
        file, _, name = test.partition("::")
        text = (ROOT / "tests/adapters" / file).read_text("utf-8")
        assert re.search(rf"^def {name}\(", text, re.M), test
        assert "pytest.mark.frameworks" in text or row["checked"] != "run"
    apart = any(test.startswith("test_apart.py::") for test in row["tests"])
    assert apart == (row["checked"] == "run apart")


def test_at_least_five_frameworks_run_their_own_entry_points():
    assert len({row["framework"] for row in ROWS if row["checked"] == "run"}) >= 5


@pytest.mark.parametrize("package", PACKAGES)
def test_an_adapter_is_one_short_typed_file(package):
    folder = ROOT / "adapters" / package
    files = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    assert files == {"__init__.py", "py.typed"}
    assert len((folder / "__init__.py").read_text("utf-8").splitlines()) <= 200


def test_importing_the_adapters_loads_no_framework():
    code = f"import sys, {', '.join(PACKAGES)}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.partition(".")[0] for name in done.stdout.split()} & FRAMEWORKS
