"""Which prompts come next."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests._needs import needs

needs("torch")
needs("pydantic")

from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.samplers import (
    AdaRFTSampler,
    FrontierSampler,
    HitRateSampler,
    PlainSampler,
    ReplaySampler,
    make_sampler,
)

NAMES = ("plain", "hit_rate", "adarft", "frontier")


def made(name, size, replay=0.0):
    return make_sampler(GRPOConfig(sampler=name, replay_share=replay), size)


@pytest.mark.parametrize("name", NAMES)
@given(
    size=st.integers(1, 30),
    count=st.integers(1, 12),
    replay=st.sampled_from([0.0, 0.5]),
    rewards=st.lists(st.none() | st.floats(0, 1), min_size=12, max_size=12),
)
def test_any_sampler_draws_what_is_asked_and_resumes_exactly(name, size, count, replay, rewards):
    one, two = made(name, size, replay), made(name, size, replay)
    for step in range(3):
        drawn = one.draw(count, random.Random(step))
        assert len(drawn) == count
        assert all(0 <= index < size for index in drawn)
        one.observe(drawn, rewards[:count])
    two.restore(one.state())
    assert one.draw(count, random.Random(9)) == two.draw(count, random.Random(9))
    assert one.state() == two.state()


def test_plain_draws_every_prompt_once_an_epoch():
    sampler, rng = PlainSampler(10), random.Random(0)
    epochs = [[index for _ in range(5) for index in sampler.draw(2, rng)] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 2
    assert epochs[0] != epochs[1]


def test_hit_rate_leaves_out_what_is_solved_and_what_is_out_of_reach():
    sampler, rng = HitRateSampler(30, band=(0.1, 0.9)), random.Random(0)
    for _ in range(4):
        sampler.observe(range(30), [0.0] * 10 + [1.0] * 10 + [0.5] * 10)
    drawn = Counter(index for _ in range(200) for index in sampler.draw(4, rng))
    inside = sum(drawn[index] for index in range(20, 30))
    assert 0.5 < inside / 800 < 1
    assert all(drawn[index] for index in range(30))


def test_adarft_moves_to_harder_prompts_after_success():
    difficulties = [i / 9 for i in range(10)]
    sampler, rng = AdaRFTSampler(10, difficulties=difficulties, target=0.5), random.Random(0)
    assert sorted(sampler.draw(2, rng)) == [0, 1]
    for _ in range(100):
        sampler.observe([0, 1], [1.0, 1.0])
    assert sampler.difficulty == 1.0
    assert sorted(sampler.draw(2, rng)) == [8, 9]
    sampler.observe([8, 9], [0.0, 0.0])
    assert sampler.difficulty == pytest.approx(1 - 0.05 * 0.7616, abs=1e-4)


def test_frontier_draws_what_is_nearest_to_the_target_and_comes_back():
    sampler, rng = FrontierSampler(6, target=0.5, bonus=0.1), random.Random(0)
    for _ in range(5):
        sampler.observe(range(6), [0.0, 0.1, 0.45, 0.55, 0.9, 1.0])
    assert sorted(sampler.draw(2, rng)) == [2, 3]
    seen = {index for _ in range(12) for index in sampler.draw(2, rng)}
    assert seen == set(range(6))


def test_replay_draws_rare_successes_again():
    sampler, rng = ReplaySampler(PlainSampler(100), share=0.5), random.Random(0)
    sampler.observe([7, 8, 9], [0.125, 0.0, 1.0])
    assert 7 in sampler.draw(4, rng)
    sampler.observe([7], [0.5])
    assert sampler.rare == []
