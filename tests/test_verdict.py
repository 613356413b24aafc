"""A verdict is a value: checked when built, equal by content, the same after JSON and pickle."""

import dataclasses
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Reason, StepVerdict, Verdict
from rewardkit.errors import ConfigError

texts = st.text(st.characters(), max_size=40)  # all of Unicode, lone surrogates included
scores = st.none() | st.floats(0.0, 1.0)
finite = st.floats(allow_nan=False, allow_infinity=False)
reasons = st.sampled_from(Reason)
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
steps = st.builds(
    StepVerdict, st.integers(0, 99), st.integers(0, 99), scores, reasons, detail=texts
)
verdicts = st.builds(
    Verdict,
    scores,
    reasons,
    answer=st.none() | texts,
    detail=texts,
    parts=st.dictionaries(texts, finite, max_size=3),
    steps=st.lists(steps, max_size=3).map(tuple),
    evidence=st.dictionaries(texts, json_data, max_size=3),
    seconds=st.floats(0.0, 1e6),
)


def without_split_pairs(value: object) -> object:
    """JSON spells a character beyond U+FFFF as two surrogates: two lone ones come back joined."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, dict):
        return {without_split_pairs(k): without_split_pairs(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_split_pairs(v) for v in value]
    return value


@given(verdicts)
def test_json_brings_back_the_same_verdict(verdict):
    back = Verdict.from_json(verdict.to_json())
    assert back.to_dict() == without_split_pairs(verdict.to_dict())


@given(verdicts)
def test_json_is_one_line_of_ascii_that_any_reader_accepts(verdict):
    line = verdict.to_json()
    assert line.isascii()
    assert "\n" not in line
    strict = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert strict["reason"] == verdict.reason.value


@given(verdicts)
def test_pickle_brings_back_an_equal_verdict(verdict):
    assert pickle.loads(pickle.dumps(verdict)) == verdict


@given(verdicts)
def test_passed_means_exactly_one_and_abstained_means_none(verdict):
    assert verdict.passed == (verdict.score == 1.0)
    assert verdict.abstained == (verdict.score is None)
    assert not (verdict.passed and verdict.abstained)


@given(st.floats().filter(lambda x: not 0.0 <= x <= 1.0))
def test_a_score_outside_zero_to_one_is_refused(score):
    with pytest.raises(ConfigError, match="in \\[0, 1\\] or None"):
        Verdict(score, Reason.MATCH)
    with pytest.raises(ConfigError, match="in \\[0, 1\\] or None"):
        StepVerdict(0, 1, score, Reason.MATCH)


@pytest.mark.parametrize("score", ["1.0", [1.0], {}])
def test_a_score_that_is_no_number_is_refused(score):
    with pytest.raises(ConfigError, match="a verdict's score is in"):
        Verdict(score, Reason.MATCH)


@pytest.mark.parametrize("reason", ["match", None, 1])
def test_a_reason_outside_the_list_is_refused_when_the_verdict_is_made(reason):
    with pytest.raises(ConfigError, match="a verdict's reason is one of Reason"):
        Verdict(1.0, reason)
    with pytest.raises(ConfigError, match="a step's reason is one of Reason"):
        StepVerdict(0, 1, 1.0, reason)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_is_refused_when_written(bad):
    verdict = Verdict(1.0, Reason.MATCH, parts={"tests": bad})
    with pytest.raises(ValueError, match="not JSON compliant"):
        verdict.to_json()


def test_a_verdict_cannot_be_changed():
    verdict = Verdict(0.0, Reason.MISMATCH)
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.score = 1.0


def test_two_verdicts_do_not_share_their_default_mappings():
    assert Verdict(None, Reason.TIMEOUT).parts is not Verdict(None, Reason.TIMEOUT).parts


def test_old_json_without_optional_fields_is_read():
    assert Verdict.from_dict({"score": None, "reason": "timeout"}) == Verdict(None, Reason.TIMEOUT)


def test_an_unknown_reason_is_refused_because_the_list_is_closed():
    with pytest.raises(ValueError, match="'because' is not a valid Reason"):
        Verdict.from_dict({"score": 1.0, "reason": "because"})


def test_a_reason_is_the_plain_word_that_logs_and_columns_hold():
    assert str(Reason.NO_ANSWER) == "no_answer" == f"{Reason.NO_ANSWER}"
    assert json.dumps({"reason": Reason.MATCH}) == '{"reason": "match"}'
