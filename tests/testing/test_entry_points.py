"""What pytest and hypothesis load of rewardkit."""

import subprocess
import sys

from hypothesis import find
from hypothesis import strategies as st

from rewardkit import Verdict
from tests._environment import unmeasured


def test_from_type_makes_verdicts_once_registered():
    import _rewardkit_hypothesis

    _rewardkit_hypothesis.register()
    assert find(st.from_type(Verdict), lambda verdict: verdict.passed).score == 1.0


def test_the_plugin_of_pytest_does_not_import_hypothesis(root):
    script = "import _rewardkit_pytest, sys; print('hypothesis' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**unmeasured(root), "PYTHONPATH": f"{root}:{root}/adapters"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_the_entry_points_name_what_exists(root):
    import tomllib

    points = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points["pytest11"] == {"rewardkit": "_rewardkit_pytest"}
    assert points["hypothesis"] == {"rewardkit": "_rewardkit_hypothesis:register"}
    for module in ("_rewardkit_pytest", "_rewardkit_hypothesis"):
        assert (root / "adapters" / f"{module}.py").is_file()
