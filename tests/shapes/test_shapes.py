"""Objects, JSON, environments and token ids."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import MathVerifier
from rewardkit.advantages import AdvantageStage
from rewardkit.errors import ConfigError, DataError
from rewardkit.shapes import (
    EnvironmentSession,
    JsonShape,
    ObjectShape,
    Scorer,
    completion_from_ids,
    read_path,
    refuse_stage,
    token_starts,
)

MATH = Scorer(MathVerifier())


def test_an_object_is_read_by_paths():
    shape = ObjectShape("output.messages", {"reference": "task.answers.-1"})
    state = SimpleNamespace(
        output={"messages": [{"role": "assistant", "content": "\\boxed{4}"}]},
        task=SimpleNamespace(answers=["3", "4"]),
    )
    assert shape.score(MATH, state).score == 1.0
    assert asyncio.run(shape.ascore(MATH, state)).answer == "4"


@pytest.mark.parametrize("path", ["a.c", "a.b.7", "x"])
def test_a_path_that_leads_nowhere_is_named(path):
    with pytest.raises(ConfigError, match=f"the path '{path}' ends at '{path[-1]}'"):
        read_path({"a": {"b": [1]}}, path)


SHAPE = JsonShape("query", {"reference": "labels", "prompt": "prompts"})


def test_json_is_scored_as_a_batch():
    body = json.dumps({"query": ["\\boxed{4}", "no"], "labels": ["4", "4"]}).encode()
    assert SHAPE.score(MATH, body).scores == [1.0, 0.0]


@pytest.mark.parametrize(
    "body",
    ["", b"\xff", "[]", "[" * 100_000, "{}", '{"query": "text"}', '{"query": ["a"], "labels": []}'],
)
def test_a_request_of_another_shape_is_the_callers_mistake(body):
    with pytest.raises(DataError):
        SHAPE.score(MATH, body)


def test_an_episode_ends_when_a_try_passes_or_the_turns_are_used_up():
    session = EnvironmentSession(MATH, {"reference": "4"}, max_turns=2)
    first = session.step("\\boxed{5}")
    assert (first.reward, first.done, first.observation) == (0.0, False, session.feedback)
    last = asyncio.run(session.astep("\\boxed{5}"))
    assert (last.reward, last.done, last.observation) == (0.0, True, "")
    assert session.rewards == [0.0, 0.0]
    with pytest.raises(ConfigError, match="max_turns"):
        EnvironmentSession(MATH, max_turns=0)


def test_a_completion_in_ids_ends_before_its_end_token():
    def decode(ids):
        return "".join("abc$_"[i] for i in ids)

    assert completion_from_ids([0, 1, 3, 4, 4], decode, eos=[3]) == "ab"
    assert completion_from_ids([0, 1], decode, eos=[3]) == "ab"


def utf8(ids):
    return bytes(ids).decode("utf-8", errors="replace")


@given(st.text(st.sampled_from("aé😀 "), max_size=12))
def test_token_starts_point_into_the_text_even_where_a_letter_is_several_tokens(text):
    ids = list(text.encode())
    starts = token_starts(ids, utf8)
    assert starts == sorted(starts)
    assert len(starts) == len(ids)
    place = 0
    for index, character in enumerate(text):
        assert starts[place] == index
        place += len(character.encode())


def test_token_starts_may_be_counted_from_the_text_that_is_graded():
    assert token_starts(list(b"ab ab"), utf8, text="ab") == [-3, -2, -1, 0, 1]
    assert token_starts([], utf8, text="ab") == []


def test_what_a_framework_cannot_carry_is_refused_with_the_reason():
    refuse_stage("X", None, instead="")
    with pytest.raises(ConfigError, match=r"X takes one number .* would cancel .* Use Y"):
        refuse_stage("X", AdvantageStage("mean"), instead="Use Y.")
