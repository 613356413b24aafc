"""`check_reward` in a test, as a function and as a fixture."""

import subprocess
import sys

import pytest

from rewardkit.errors import ConfigError
from rewardkit.testing import check_reward
from tests._environment import unmeasured

CLEAN = """
import re


def reward(completions, answer, **kwargs):
    scores = []
    for completion, reference in zip(completions, answer):
        found = re.findall(r"\\\\boxed\\{([^{}]*)\\}", completion)
        given = found[-1].strip() if found else ""
        scores.append(float(bool(given) and given == str(reference).strip()))
    return scores


def holey(completions, answer, **kwargs):
    return [float(str(a) in c) for c, a in zip(completions, answer)]
"""


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "checked_rewards.py"
    path.write_text(CLEAN)
    return path


def test_a_hole_fails_the_test_and_is_shown(module):
    with pytest.raises(AssertionError, match="substring"):
        check_reward(f"{module}:holey", kind="math")


def test_what_no_process_can_load_is_refused():
    with pytest.raises(ConfigError, match="top of a module"):
        check_reward(lambda completions: [0.0])


def test_the_plugin_gives_a_fixture_and_loads_without_hypothesis(module, root):
    (module.parent / "test_it.py").write_text(
        "import sys\n\nEARLY = 'hypothesis' in sys.modules\n\n\n"
        "def test_reward(check_reward):\n"
        "    assert not EARLY\n"
        f"    check_reward({f'{module}:reward'!r}, kind='math')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "_rewardkit_pytest",
         "-p", "no:cacheprovider", "test_it.py"],
        cwd=module.parent,
        env={**unmeasured(root), "PYTHONPATH": f"{root}:{root}/adapters",
             "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
