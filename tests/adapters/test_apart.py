"""The adapters of frameworks that want an environment of their own, in such an environment.

verifiers and lighteval pin versions that do not go with those that rewardkit is tested with. Where
`REWARDKIT_FRAMEWORKS` names a folder with a virtual environment for each, by these names, their own
entry points call the adapters there; docs/contributing.md says how they are made.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

import rewardkit_lighteval
import rewardkit_verifiers
from tests.conftest import ROOT

pytestmark = pytest.mark.frameworks


def result_of(name):
    folder = os.environ.get("REWARDKIT_FRAMEWORKS")
    if folder is None:
        pytest.skip("REWARDKIT_FRAMEWORKS names no folder of environments: see contributing.md")
    done = subprocess.run(
        [Path(folder) / name / "bin" / "python", ROOT / f"tests/adapters/apart/{name}_run.py"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"},
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(lines[-1].removeprefix("RESULT "))


def test_a_task_of_verifiers_scores_its_traces():
    found = result_of("verifiers")
    assert f"verifiers=={found['version']}" == rewardkit_verifiers.TESTED
    right, wrong, lost = found["traces"]
    assert [trace["rewards"] for trace in found["traces"]] == [
        {"rewardkit": [score, 0.5]} for score in (1.0, 0.0, 0.0)
    ]
    assert (right["reward"], wrong["reward"]) == (0.5, 0.0)
    assert right["metrics"] == {"decided": 1.0, "moody": 1.0}
    assert lost["metrics"] == {"decided": 0.0}


def test_lightevals_pipeline_computes_the_metric():
    found = result_of("lighteval")
    assert f"lighteval=={found['version']}" == rewardkit_lighteval.TESTED
    assert sorted(map(str, found["values"])) == ["0.0", "1.0", "nan"]
    assert found["mean"] == 0.5
