"""Controls: each pays for what it says and for nothing else."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import MathVerifier, Reward
from rewardkit.errors import ConfigError
from rewardkit.monitor.controls import (
    DeclaredAnswer,
    RandomReward,
    WrongAnswer,
    control_rewards,
)
from rewardkit.noise import wilson_interval

TEXTS = [r"\boxed{4}", r"\boxed{5}", r"\boxed{5}", "Answer: 6", "No idea at all"]
COLUMNS = {"reference": ["4"] * 5, "prompt": ["2+2"] * 5}


@pytest.fixture(scope="module")
def rewards():
    return control_rewards(MathVerifier(symbolic=False), seed=3)


@pytest.mark.parametrize(
    ("name", "paid"),
    [
        ("true", [1, 0, 0, 0, 0]),
        ("wrong", [0, 1, 1, 1, 0]),
        ("wrong_label", [0, 1, 1, 0, 0]),
        ("majority", [0, 1, 1, 0, 0]),
        ("format", [1, 1, 1, 0, 0]),
    ],
)
def test_each_control_pays_what_its_name_says(rewards, name, paid):
    assert rewards[name].score(TEXTS, **COLUMNS).scores == paid


def test_every_control_logs_how_often_the_policy_is_right(rewards):
    for reward in rewards.values():
        result = reward.score(TEXTS, **COLUMNS)
        assert result.components["true"] == [1, 0, 0, 0, 0]


def test_the_majority_may_be_right_and_the_wrong_label_never_is(rewards):
    texts = [r"\boxed{4}", r"\boxed{4}", r"\boxed{5}"]
    columns = {"reference": ["4"] * 3, "prompt": ["2+2"] * 3}
    assert rewards["majority"].score(texts, **columns).scores == [1, 1, 0]
    assert rewards["wrong_label"].score(texts, **columns).scores == [0, 0, 1]


def test_the_wrong_label_is_chosen_in_each_group_by_itself():
    shaper = WrongAnswer(correct="v", label="most_frequent")
    texts = ["It is 5.", "It is 6.", "It is 6.", "It is 5."]
    assert shaper(texts, v=[0.0] * 4, prompt=["a", "b", "b", "a"]) == [1, 1, 1, 1]
    assert shaper(texts, v=[0.0] * 4, prompt=["a"] * 4) == [1, 0, 0, 1]


@given(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=8), st.booleans())
def test_a_right_answer_is_never_paid_as_wrong_and_an_undecided_one_is_left_out(scores, label):
    shaper = WrongAnswer(correct="v", label="most_frequent" if label else "any")
    values = shaper(["It is 4."] * len(scores), v=scores, prompt=["p"] * len(scores))
    expected = {0.0: 1.0, 1.0: 0.0, None: None}
    assert values == [expected[score] for score in scores]


def test_the_random_reward_has_its_rate_whatever_the_text():
    for text in ("same", None):
        reward = RandomReward(rate=0.3, seed=7)
        values = reward([text or f"text {i}" for i in range(4000)])
        assert wilson_interval(int(sum(values)), 4000, 0.999).low < 0.3
        assert wilson_interval(int(sum(values)), 4000, 0.999).high > 0.3


def test_the_random_reward_is_drawn_anew_and_is_equal_for_equal_seeds():
    one, two, other = RandomReward(seed=1), RandomReward(seed=1), RandomReward(seed=2)
    first = one(["a"] * 64)
    assert first == two(["a"] * 64) != other(["a"] * 64)
    later = pickle.loads(pickle.dumps(one))
    assert one(["a"] * 64) == later(["a"] * 64) == two(["a"] * 64) != first


def test_the_ends_of_the_rate_are_never_and_always():
    assert RandomReward(rate=0.0)(["a"] * 100) == [0.0] * 100
    assert RandomReward(rate=1.0)(["a"] * 100) == [1.0] * 100


@given(st.text())
def test_any_text_gets_a_number_from_each_control(text):
    assert RandomReward()([text])[0] in (0.0, 1.0)
    assert DeclaredAnswer()([text])[0] in (0.0, 1.0)
    assert WrongAnswer(correct="v")([text], v=[0.0])[0] in (0.0, 1.0)


def test_form_pays_a_wrong_answer_in_a_box_and_no_empty_one():
    texts = [r"\boxed{nonsense}", "<answer>x</answer>", r"\boxed{}", r"\boxed{ }", "x"]
    assert DeclaredAnswer()(texts) == [1, 1, 0, 0, 0]


def test_impossible_options_are_refused():
    with pytest.raises(ConfigError, match="probability"):
        RandomReward(rate=1.5)
    with pytest.raises(ConfigError, match="label"):
        WrongAnswer(correct="v", label="first")


def test_a_control_that_lacks_its_verdict_says_so():
    with pytest.raises(ConfigError, match="'v'"):
        Reward({"wrong": WrongAnswer(correct="v")}).score(["x"])
