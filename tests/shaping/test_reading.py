"""A reward hands the values of its components to the shapers that read them."""

import asyncio
import pickle

import pytest

from rewardkit import Gate, MathVerifier, Reward
from rewardkit.errors import ConfigError
from rewardkit.shaping import CosineLength, DifficultyLength, HitRate, OverlongPenalty, ThinkFormat
from tests._needs import needs

TEXTS = [r"\boxed{4}", r"Let us see. It is \boxed{4}", r"\boxed{5}"]
COLUMNS = {"reference": ["4"] * 3, "prompt": ["2+2"] * 3}


def reward_of(**more):
    needs("sympy")
    return Reward(
        {
            # A shaper may stand before what it reads.
            "brevity": CosineLength(max_length=40, unit="characters", correct="math"),
            "math": MathVerifier(),
            **more,
        },
        weights={"math": 0.0},
    )


def test_a_shaper_reads_the_verdicts_of_the_same_reward():
    result = reward_of().score(TEXTS, **COLUMNS)
    direct = CosineLength(max_length=40, unit="characters")(TEXTS, correct=[1.0, 1.0, 0.0])
    assert result.components["math"] == [1.0, 1.0, 0.0]
    assert result.components["brevity"] == result.scores == direct
    assert list(result.components) == ["brevity", "math"]
    assert set(result.verdicts) == {"math"}


def test_it_does_so_off_the_event_loop_and_after_pickling():
    reward = reward_of(adaptive=DifficultyLength(correct="math", unit="words"))
    wanted = reward.score(TEXTS, **COLUMNS).components
    assert asyncio.run(reward.ascore(TEXTS, **COLUMNS)).components == wanted
    again = pickle.loads(pickle.dumps(reward)).score(TEXTS, **COLUMNS)
    assert again.components == wanted
    one = asyncio.run(reward.ascore_one(TEXTS[0], reference="4", prompt="2+2"))
    assert one.components == {"brevity": wanted["brevity"][0], "math": 1.0, "adaptive": 0.5}


def test_a_component_wins_over_a_column_of_its_name_and_a_column_serves_without_one():
    shaper = CosineLength(max_length=40, unit="characters", correct="math")
    found = reward_of().score(TEXTS, math=[0.0] * 3, **COLUMNS)
    assert found.components["brevity"][0] > 0
    alone = Reward({"brevity": shaper}).score(TEXTS, math=[0.0] * 3)
    assert max(alone.scores) < 0
    with pytest.raises(ConfigError, match="'math' is not there"):
        Reward({"brevity": shaper}).score(TEXTS)


def test_a_shaper_may_be_read_if_it_reads_nothing_itself():
    reward = Reward({"think": ThinkFormat(), "hits": HitRate(correct="think", signal="rate")})
    found = reward.score(["<think>a</think>b", "b"], prompt=["p"] * 2)
    assert found.components["hits"] == [0.5, 0.5]


@pytest.mark.parametrize("name", ["hits", "other"])
def test_reading_in_a_row_or_in_a_circle_is_refused(name):
    with pytest.raises(ConfigError, match="itself reads a component"):
        Reward(
            {
                "think": ThinkFormat(),
                "hits": HitRate(correct=name),
                "other": HitRate(correct="think"),
            }
        )


def test_gates_caps_and_products_take_shapers_like_anything_else():
    needs("sympy")
    reward = Reward(
        {
            "format": ThinkFormat(),
            "math": MathVerifier(),
            "long": OverlongPenalty(max_length=30, buffer=10, unit="characters"),
        },
        gates={"format": Gate(otherwise=-1.0)},
        clip=(-1.0, 1.0),
    )
    texts = [r"<think>2</think> \boxed{4}", r"\boxed{4}", r"<think>2222</think> \boxed{4}"]
    found = reward.score(texts, reference=["4"] * 3)
    assert found.scores == pytest.approx([1 - 0.6, -1.0, 1 - 0.9])


def test_an_undecided_verdict_stays_undecided():
    shaper = CosineLength(max_length=40, unit="characters", correct="judge")

    def judge(completions, /, **columns):
        return [None] * len(completions)

    reward = Reward({"judge": judge, "brevity": shaper}, weights={"judge": 0.0})
    assert reward.score(["a"]).scores == [None]
