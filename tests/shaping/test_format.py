"""Format rewards against TRL's, against a regular expression and against jsonschema."""

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.shaping import JsonFormat, TagFormat, ThinkFormat
from rewardkit.shaping._json import JsonSchema, read_json
from tests._needs import needs
from tests.shaping.examples import texts

marks = st.lists(
    st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "a", "\n", " "]), max_size=9
).map("".join)


@given(text=marks)
@settings(max_examples=300)
def test_without_its_own_demands_think_format_is_trls(text):
    rewards = needs("trl.rewards")
    shaper = ThinkFormat(min_reasoning_chars=0, min_answer_chars=0, single_close=False)
    text = text.lstrip()
    assert shaper([text]) == rewards.think_format_reward([[{"content": text}]])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<think>2+2</think> 4", 1.0),
        ("\n<think>\n2\n+2\n</think>\n4", 1.0),
        ("<think></think>4", 0.0),
        ("<think> \n</think>4", 0.0),
        ("<think>2+2</think> ", 0.0),
        ("So <think>2+2</think> 4", 0.0),
        ("<think>2+2</think>4</think>5", 0.0),
        ("<think>2<think>2</think>4", 0.0),
        ("<think>2+2", 0.0),
        ("4", 0.0),
    ],
)
def test_think_format_asks_for_reasoning_and_an_answer(text, value):
    assert ThinkFormat()([text]) == [value]


def test_a_prefilled_mark_is_not_repeated():
    shaper = ThinkFormat(prefilled=True)
    assert shaper(["2+2</think>4", "<think>2+2</think>4", "2+2 is 4"]) == [1.0, 0.0, 0.0]


@given(text=marks)
@settings(max_examples=300)
def test_tag_format_is_the_regular_expression_that_it_stands_for(text):
    # With each mark once, the expression has one way to match.
    once = all(text.count(mark) == 1 for mark in ("<think>", "</think>", "<answer>", "</answer>"))
    pattern = r"\s*<think>\s*\S.*</think>\s*<answer>\s*\S.*</answer>\s*"
    body = re.fullmatch(pattern, text, re.DOTALL) is not None
    filled = not re.search(r"<(think|answer)>\s*</", text)
    assert TagFormat(tags=("think", "answer"))([text]) == [float(once and body and filled)]


@given(text=marks)
def test_the_share_counts_marks_that_stand_once_and_is_1_where_all_do(text):
    counts = [text.count(m) for m in ("<think>", "</think>", "<answer>", "</answer>")]
    share = TagFormat(tags=("think", "answer"), credit="share")
    assert share([text]) == [sum(count == 1 for count in counts) / 4]
    assert TagFormat(tags=("think", "answer"))([text])[0] <= share([text])[0]


def test_junk_in_the_right_tags_is_paid_like_any_text():
    # Stated in the docs: a format reward does not read. It only asks that something is there.
    assert TagFormat(tags=("answer",))(["<answer>junk</answer>"]) == [1.0]
    assert TagFormat(tags=("answer",))(["<answer></answer>"]) == [0.0]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.0])
    | st.text(st.sampled_from("ab"), max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip
_kinds = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
_small = st.integers(0, 3)
schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": _kinds | st.lists(_kinds, min_size=1, max_size=2, unique=True),
            "const": values,
            "enum": st.lists(values, min_size=1, max_size=3),
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
            "minLength": _small,
            "maxLength": _small,
            "minItems": _small,
            "maxItems": _small,
            "minimum": _small,
            "maximum": _small,
            "exclusiveMinimum": _small,
            "exclusiveMaximum": _small,
            "title": st.just("t"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "additionalProperties": st.booleans(),
        },
    ),
    max_leaves=4,
)


@given(schema=schemas, value=values)
@example(schema={"type": "integer"}, value=0.5)
@example(schema={"type": "integer"}, value=1.0)
@example(schema={"enum": [1, "a"]}, value=True)
@example(schema={"const": {"a": [1]}}, value={"a": [1.0]})
@settings(max_examples=300)
def test_a_schema_means_what_jsonschema_says(schema, value):
    oracle = needs("jsonschema").Draft202012Validator(schema)
    assert JsonSchema(schema).fits(value) == oracle.is_valid(value)


@given(value=values)
def test_what_json_writes_is_read_back(value):
    assert read_json(json.dumps(value), max_depth=9).value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[Infinity]",
        '{"a": 1, "a": 2}',
        "[1,]",
        "'a'",
        "9" * 5000,
        "[" * 65 + "]" * 65,
    ],
)
def test_what_is_no_json_earns_nothing(text):
    assert JsonFormat(parsed=0.5)([text]) == [0.0]


@given(text=texts)
def test_the_limits_come_before_the_work(text):
    assert JsonFormat(max_chars=3)([text + "    "]) == [0.0]
    assert read_json("[[]]", max_depth=1) is None
    assert read_json('["[[[["]', max_depth=1).value == ["[[[["]


def test_json_is_found_where_it_is_looked_for():
    text = '<think>{"a": 1}</think>```json\n{"answer": 4}\n```\n'
    values = [JsonFormat(where=where)([text])[0] for where in ("text", "final", "fence")]
    assert values == [0.0, 0.0, 1.0]
    assert JsonFormat(where="final")(['<think>2+2</think>{"answer": 4}']) == [1.0]
    assert JsonFormat(where="final")(['<think>{"answer": 4}']) == [0.0]
    assert JsonFormat(where="fence")(['```json\n{"answer": 4}']) == [0.0]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (ThinkFormat, {"opening": ""}, "not empty"),
        (ThinkFormat, {"min_answer_chars": -1}, "at least 0"),
        (TagFormat, {"tags": ()}, "at least one"),
        (TagFormat, {"tags": ("a", "a")}, "different names"),
        (TagFormat, {"tags": ("a",), "credit": "some"}, "credit is"),
        (JsonFormat, {"schema": {"pattern": "(a+)+"}}, "'pattern' is not known"),
        (JsonFormat, {"schema": {"type": "text"}}, "type is one of"),
        (JsonFormat, {"schema": {"items": {"minimum": "1"}}}, "minimum is a number"),
        (JsonFormat, {"schema": {"properties": []}}, "properties are"),
        (JsonFormat, {"schema": {"additionalProperties": {}}}, "true or false"),
        (JsonFormat, {"schema": {"enum": "ab"}}, "enum is a list"),
        (JsonFormat, {"schema": []}, "is an object"),
        (JsonFormat, {"where": "end"}, "where is"),
        (JsonFormat, {"parsed": 2.0}, "in \\[0, 1\\]"),
    ],
)
def test_an_option_that_cannot_be_is_refused(kind, options, message):
    with pytest.raises(ConfigError, match=message):
        kind(**options)
