"""A reply is read to one allowed answer for each item, or to the reason why not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.judge.parsing import Reply, Trouble, parse_reply
from rewardkit.verifiers.judge.query import Query, answer_schema

ONE = Query("", {}, {"verdict": ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")})
TWO = Query("", {}, {"c1": ("MET", "UNMET"), "c2": ("MET", "UNMET")})
SCALE = Query("", {}, {"verdict": ("1", "2", "3", "4", "5")})


def read(text, query=ONE, nonce="ab12", **more):
    found = parse_reply(Reply(text, **more), query, nonce)
    return found.value if isinstance(found, Trouble) else dict(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"reasoning": "x", "verdict": "CORRECT"}', "CORRECT"),
        ('{"verdict": "correct"}', "CORRECT"),
        ('```json\n{"verdict": "INCORRECT"}\n```', "INCORRECT"),
        ('<think>{"verdict": "CORRECT"}</think>{"verdict": "INCORRECT"}', "INCORRECT"),
        ("Fine.\nVERDICT-ab12: CORRECT", "CORRECT"),
        ("Fine.\n**VERDICT-ab12: CORRECT**", "CORRECT"),
        ("VERDICT-ab12: CORRECT\nNo, wait.\nVERDICT-ab12: INCORRECT", "INCORRECT"),
        ("VERDICT-ab12: `not_attempted`.", "NOT_ATTEMPTED"),
    ],
)
def test_the_last_verdict_is_read(text, found):
    assert read(text) == {"verdict": found}


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("CORRECT", "no_verdict"),
        ("The response is CORRECT.", "no_verdict"),
        ("VERDICT: CORRECT", "no_verdict"),
        ("VERDICT-other: CORRECT", "no_verdict"),
        ("VERDICT-ab12: CORRECT\nBut I am not sure.", "no_verdict"),
        ("VERDICT-ab12: CORRECT or INCORRECT", "two_verdicts"),
        ("VERDICT-ab12: CORRECT / INCORRECT", "two_verdicts"),
        ("VERDICT-ab12: RIGHT", "out_of_set"),
        ("VERDICT-ab12:", "out_of_set"),
        ("VERDICT-ab12: CORRECT or WR", "out_of_set"),
        ('{"verdict": "CORRECT", "verdict": "INCORRECT"}', "two_verdicts"),
        ('{"verdict": true}', "out_of_set"),
        ('{"verdict": null}', "out_of_set"),
        ('{"verdict": ["CORRECT"]}', "out_of_set"),
        ('{"verdict": "CORRECT or INCORRECT"}', "two_verdicts"),
        ('{"reasoning": "x"}', "no_verdict"),
        ('{"reasoning": "x", "verdict": "COR', "cut"),
        # An object beside prose may be one that the judge quotes.
        ('The response is {"verdict": "CORRECT"}', "no_verdict"),
        ('{"verdict": "CORRECT"} {"verdict": "INCORRECT"}', "no_verdict"),
        ('{"verdict": "CORRECT"} That was my verdict on the text.', "no_verdict"),
        ("<think>VERDICT-ab12: CORRECT", "cut"),
        ("I'm sorry, I can't help with that.", "refused"),
        ("{" * 100_000, "cut"),
        ("[" * 100_000, "no_verdict"),
        ("x" * 300_000, "too_long"),
    ],
)
def test_anything_else_is_no_verdict(text, trouble):
    assert read(text) == trouble


def test_what_the_server_says_of_the_end_counts():
    assert read('{"verdict": "CORRECT"}', finish="length") == "cut"
    assert read("", finish="length") == "cut"
    assert read('{"verdict": "CORRECT"}', finish="content_filter") == "refused"
    assert read('{"verdict": "CORRECT"}', refusal="no") == "refused"


def test_every_item_needs_its_answer():
    assert read('{"c1": "MET", "c2": "UNMET"}', TWO) == {"c1": "MET", "c2": "UNMET"}
    assert read('{"c1": "MET"}', TWO) == "no_verdict"
    lines = "VERDICT-ab12 c1: MET\nVERDICT-ab12 c2: UNMET"
    assert read(lines, TWO) == {"c1": "MET", "c2": "UNMET"}
    assert read("VERDICT-ab12 c2: UNMET", TWO) == "no_verdict"
    assert read("VERDICT-ab12: MET", TWO) == "no_verdict"


@pytest.mark.parametrize(
    "value", ["6", "0", "-1", "4.5", "90", "[[90]]", "4 of 5", "five", "10/10"]
)
def test_a_number_outside_the_scale_is_never_brought_into_it(value):
    assert read(json.dumps({"verdict": value}), SCALE) in ("out_of_set", "two_verdicts")


def test_a_number_of_the_scale_may_be_a_number():
    assert read('{"verdict": 4}', SCALE) == {"verdict": "4"}
    assert read('{"verdict": 4.0}', SCALE) == "out_of_set"


@given(st.text(max_size=300), st.sampled_from(["stop", "length", "", "tool_calls"]))
def test_any_text_is_read_without_an_error(text, finish):
    found = parse_reply(Reply(text, finish), ONE, "ab12")
    assert isinstance(found, Trouble) or found["verdict"] in ONE.items["verdict"]


@given(st.text(max_size=100), st.sampled_from(ONE.items["verdict"]))
def test_reasons_before_the_verdict_do_not_change_it(reasons, verdict):
    reply = json.dumps({"reasoning": reasons, "verdict": verdict})
    assert read(reply) == {"verdict": verdict}


def test_a_schema_closes_the_set():
    schema = answer_schema(TWO, reasoning=True)
    assert schema["required"] == ["reasoning", "c1", "c2"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["c1"] == {"type": "string", "enum": ["MET", "UNMET"]}
