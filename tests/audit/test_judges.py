"""A reward that asks a language model, against a server that plays it."""

import json
import urllib.request

import pytest

from benchmarks.audit_mutants import FOLDER, read_planted
from rewardkit.audit import audit_reward
from rewardkit.audit.judge_server import STYLES, Asked, JudgeServer, Reply, answer_schema
from tests._needs import needs

needs("hypothesis")

MUTANTS = {row.reward.partition(":")[2]: row for row in read_planted("judge_mutants.jsonl")}


def audit(name):
    report = audit_reward(f"{FOLDER}/judges.py:{name}", kind="judge", profile="smoke")
    assert "nothing was tried on it" not in " ".join(report.notes)
    return [finding.root_cause.partition(":")[0] for finding in report.findings]


@pytest.mark.parametrize("name", ["sound", "sound_scale"])
def test_a_sound_judge_reward_gets_no_finding(name):
    assert audit(name) == []


@pytest.mark.parametrize("name", ["first_word", "unread_is_zero", "clamped", "formatted_twice"])
def test_a_fault_of_a_judge_reward_is_named(name):
    slugs = audit(name)
    assert MUTANTS[name].judge(slugs) == (True, True), slugs


def test_a_reward_that_asks_nobody_is_told_so():
    report = audit_reward(f"{FOLDER}/good.py:boxed_number", kind="judge", profile="smoke")
    assert "OPENAI_BASE_URL" in " ".join(report.notes)


def post(server, body):
    request = urllib.request.Request(
        f"{server.url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def test_the_server_speaks_the_protocol_and_counts():
    with JudgeServer() as server:
        server.say = lambda asked: Reply(asked.text[::-1], finish="length")
        choice = post(server, {"messages": [{"role": "user", "content": "abc"}]})["choices"][0]
        assert choice["message"]["content"] == "cba"
        assert choice["finish_reason"] == "length"
        assert server.requests == 1
        assert server.environment["OPENAI_BASE_URL"] == server.url


def test_a_schema_is_answered_with_yes_and_no():
    schema = {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "verdict": {"enum": ["INCORRECT", "CORRECT", "NOT_ATTEMPTED"]},
            "grade": {"type": "integer", "minimum": 1, "maximum": 7},
            "right": {"type": "boolean"},
        },
    }
    yes, no = answer_schema(schema, True), answer_schema(schema, False)
    assert (yes["verdict"], yes["grade"], yes["right"]) == ("CORRECT", 7, True)
    assert (no["verdict"], no["grade"], no["right"]) == ("INCORRECT", 1, False)


def test_the_lines_that_a_prompt_asks_for_are_written():
    asked = Asked("Think. Then write\nVERDICT-a1: CORRECT or INCORRECT", None, json_wanted=False)
    style = next(s for s in STYLES if s.name == "by the lines asked for")
    assert style.write(asked, True, "").splitlines()[-1] == "VERDICT-a1: CORRECT"
    assert style.write(asked, False, "").splitlines()[-1] == "VERDICT-a1: INCORRECT"
    assert style.write(Asked("Grade it.", None, json_wanted=False), True, "") is None
