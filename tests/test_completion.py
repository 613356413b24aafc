"""Whatever a model's output looks like, its text is read and nothing raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import completion_text
from rewardkit.completion import split_reasoning

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "type", "tool_calls"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)
parts = st.lists(
    st.text()
    | st.builds(lambda text: {"type": "text", "text": text}, st.text())
    | st.just({"type": "image_url", "image_url": {"url": "data:"}}),
    max_size=4,
)
messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant", "tool"]),
            "content": st.none() | st.text() | parts,
        }
    ),
    max_size=5,
)


@given(anything)
def test_any_value_at_all_gives_a_string(value):
    assert isinstance(completion_text(value), str)


@given(messages)
def test_any_chat_gives_text_that_an_assistant_wrote_if_one_spoke(chat):
    speakers = [m for m in chat if m["role"] == "assistant"] or chat
    assert completion_text(chat) in {"", *(completion_text([m]) for m in speakers)}


@given(st.text())
def test_a_string_is_its_own_text(text):
    assert completion_text(text) == text


@given(st.text().filter(str.strip))
def test_a_chat_of_one_turn_is_the_same_as_its_string(text):
    as_parts = [{"type": "text", "text": text}]
    assert completion_text([{"role": "assistant", "content": text}]) == text
    assert completion_text([{"role": "assistant", "content": as_parts}]) == text


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        (None, ""),
        ([], ""),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}], ""),
        ([{"content": "4"}], "4"),
        ([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}], "4"),
        # A tool's log is not the model's answer, even where it comes last.
        ([{"role": "assistant", "content": "4"}, {"role": "tool", "content": "5"}], "4"),
        # A closing turn that only calls a tool leaves the last words standing.
        (
            [{"role": "assistant", "content": "4"}, {"role": "assistant", "content": " \n"}],
            "4",
        ),
        # Silent assistants do not lend the user's words to the model.
        ([{"role": "user", "content": "4"}, {"role": "assistant", "content": ""}], ""),
        (
            [{"role": "assistant", "content": [{"type": "text", "text": "a"}, "b", 3, None]}],
            "ab",
        ),
        ([{"role": ["assistant"], "content": "4"}], "4"),
        (["4"], ""),
        (b"4", ""),
        ({"role": "assistant", "content": "4"}, ""),
    ],
)
def test_the_last_assistant_message_with_text_is_graded(completion, text):
    assert completion_text(completion) == text


def final_part(text: str) -> str:
    return text[split_reasoning(text)[0] :]


@pytest.mark.parametrize(
    ("text", "final", "ended"),
    [
        ("4", "4", True),
        ("", "", True),
        ("<think>2+2</think>4", "4", True),
        # Chat templates that open the block in the prompt leave only the closing tag.
        ("2+2</think>4", "4", True),
        ("<think>a</think>b<think>c</think>d", "d", True),
        ("<THINK>a</Think>b", "b", True),
        ("<think>2+2", "", False),
        # Thinking that starts again after an answer and is cut: the answer was withdrawn.
        ("<think>a</think>4<think>wait", "", False),
        ("[THINK]a[/THINK]b", "b", True),
        ("◁think▷a◁/think▷b", "b", True),
        ("<|begin_of_thought|>a<|end_of_thought|>b", "b", True),
        ("<|channel|>analysis<|message|>a<|channel|>final<|message|>b", "b", True),
        ("<|channel|>analysis<|message|>a", "", False),
        ("a < think > b", "a < think > b", True),
        ("x<thin>y</thinker>z", "x<thin>y</thinker>z", True),
    ],
)
def test_the_final_part_follows_the_last_closed_reasoning(text, final, ended):
    assert (final_part(text), split_reasoning(text)[1]) == (final, ended)


@given(st.text(st.sampled_from("<>/think abc\n[]THINK◁▷|"), max_size=60))
def test_the_final_part_begins_inside_the_text(text):
    start, ended = split_reasoning(text)
    assert 0 <= start <= len(text)
    assert ended or start == len(text)


@pytest.mark.parametrize(
    "piece", ["<", "</", "<think", "<think>", "</think>", "<|channel|>", "◁", "[THINK"]
)
def test_a_million_characters_of_broken_tags_are_read_in_one_pass(piece):
    # Linear by construction: no pattern in it repeats. A quadratic reading would take hours here.
    text = piece * (1_000_000 // len(piece))
    start, ended = split_reasoning(text)
    assert (start, ended) in {(0, True), (len(text), True), (len(text), False)}
