"""A reward as a file."""

import pytest

from rewardkit import Reward
from rewardkit.errors import ConfigError, DataError
from rewardkit.reward_file import make_reward, read_reward
from tests._needs import needs


def make_brevity(*, chars=10):
    return lambda completions, /, **columns: [-len(text) / chars for text in completions]


def make_own():
    return Reward({"brevity": make_brevity()})


HERE = __name__


def test_a_file_of_components(tmp_path):
    needs("yaml")
    path = tmp_path / "reward.yaml"
    path.write_text(
        f"""
components:
  math: {{verifier: math, options: {{mode: lenient}}, weight: 2, reference: answer}}
  brief: {{factory: "{HERE}:make_brevity", options: {{chars: 100}}}}
  format: {{verifier: math, reference: answer, gate: {{at_least: 1.0, otherwise: -1}}}}
clip: [-1, 1.5]
"""
    )
    with read_reward(path) as reward:
        result = reward.score(["\\boxed{4}", "\\boxed{5}"], answer=["4", "4"])
    assert result.scores == [1.5, -1.0]
    assert reward.components["math"].mode == "lenient"


def test_a_verifier_alone_and_a_reward_of_ones_own(tmp_path):
    path = tmp_path / "reward.json"
    path.write_text('{"verifier": "math"}')
    with read_reward(path) as reward:
        assert list(reward.components) == ["math"]
    assert list(make_reward({"factory": f"{HERE}:make_own"}).components) == ["brevity"]
    assert list(make_reward({"factory": f"{HERE}:make_brevity"}).components) == ["component"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "either verifier or factory"),
        ({"verifier": "math", "factory": "x:y"}, "either verifier or factory"),
        ({"verifer": "math"}, "no field 'verifer'"),
        ({"verifier": "nope"}, "nope"),
        ({"verifier": "math", "options": {"mood": 1}}, "mood"),
        ({"verifier": "math", "options": [1]}, "options"),
        ({"components": {}}, "components"),
        ({"components": {"a": "math"}}, "component a"),
        ({"components": {"a": {"verifier": "math"}}, "verifier": "math"}, "beside components"),
        ({"components": {"a": {"verifier": "math", "gate": {"at": 1}}}}, "no field 'at'"),
        ({"components": {"a": {"verifier": "math", "gate": {"at_least": "x"}}}}, "numbers"),
        ({"components": {"a": {"verifier": "math", "weight": "x"}}}, "weight"),
        ({"components": {"a": {"verifier": "math"}}, "combine": "mean"}, "combine"),
        ({"components": {"a": {"verifier": "math"}}, "clip": [1]}, "clip"),
        ({"factory": "os"}, "name a function"),
        ({"factory": "no_such_module_here:x"}, "PYTHONPATH"),
        ({"factory": "os:getpid"}, "returned a int"),
    ],
)
def test_a_wrong_field_is_named(fields, said):
    with pytest.raises(ConfigError, match=said):
        make_reward(fields)


@pytest.mark.parametrize("text", ["[1]", "{", "\x00", "verifier: [math", "- 1"])
def test_a_file_that_is_no_reward_is_refused(tmp_path, text):
    needs("yaml")
    for name in ("reward.yaml", "reward.json"):
        (tmp_path / name).write_text(text)
        with pytest.raises((ConfigError, DataError), match=name):
            read_reward(tmp_path / name)
    with pytest.raises(DataError, match="No such file"):
        read_reward(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"factory": f"{HERE}:make_brevity", "options": {"char": 4}}, r"did you mean chars\?"),
        ({"factory": f"{HERE}:make_own", "options": {"a": 4}}, "Its options: none"),
        ({"factory": "rewardkit.shaping:CosineLength", "options": {}}, "max_length"),
        ({"verifier": "math", "options": {"timeout": 1}}, r"did you mean timeout_s\?"),
        ({"verifier": "math", "wieght": 1}, r"did you mean weight\?"),
    ],
)
def test_a_wrong_option_is_answered_with_the_nearest(part, said):
    with pytest.raises(ConfigError, match=said):
        make_reward({"components": {"a": part}})
