"""Strategies make what they say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit import MathVerifier, Verdict
from rewardkit.errors import ConfigError
from rewardkit.testing import strategies
from rewardkit.testing.frames import FRAMES
from rewardkit.testing.strategies import check_kind


@given(
    strategies.references("math").flatmap(
        lambda r: st.tuples(st.just(r), strategies.other_values(r))
    )
)
def test_another_number_shares_no_digit_and_is_far(pair):
    reference, other = pair
    assert not set(reference) & set(other)
    assert abs(int(reference) - int(other)) > 0.3 * int(reference)


@settings(max_examples=50)
@given(strategies.references("math"), st.data())
def test_a_framed_answer_is_read_by_the_math_verifier(reference, data):
    verifier = MathVerifier(symbolic=False)
    frame = data.draw(
        st.sampled_from([f for f in FRAMES if f.name in ("boxed", "hashes", "answer tag")])
    )
    assert verifier.verify(frame.fill(reference), reference).passed
    other = data.draw(strategies.other_values(reference))
    assert verifier.verify(frame.fill(other), reference).score == 0.0


@settings(max_examples=50)
@given(strategies.hostile_texts())
def test_hostile_texts_can_be_encoded(text):
    text.encode()


@settings(max_examples=50)
@given(strategies.batches(min_size=2, max_size=5))
def test_batches_repeat_prompts_and_mix_right_and_wrong(rows):
    assert 2 <= len(rows) <= 5
    assert len({prompt for prompt, _, _ in rows}) <= max(1, len(rows) // 2)


@settings(max_examples=30)
@given(strategies.verdicts())
def test_verdicts_travel_as_json(verdict):
    assert Verdict.from_json(verdict.to_json()).score == verdict.score


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError):
        check_kind("poems")
