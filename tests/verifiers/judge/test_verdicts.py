"""A judge over real HTTP: closed verdicts, honest abstentions, bounded retries."""

import asyncio
import json
import os
import pickle
import warnings

import pytest

from rewardkit import Reason, Reward
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.judge import JudgeVerifier
from tests.verifiers.judge.scripted import ScriptedServer

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize("structured", ["auto", "off"])
def test_right_and_wrong_answers_are_told_apart(server, judge_on, structured):
    judge = judge_on(server, structured=structured)
    right = judge.verify("I get 17.", "17", question="8 + 9?")
    assert (right.score, right.reason) == (1.0, Reason.MATCH)
    assert right.evidence["usage"]["prompt_tokens"] == 100
    assert judge.verify("I get 18.", "17").reason is Reason.MISMATCH
    assert server.calls[0].data["question"] == "8 + 9?"
    assert ("response_format" in server.calls[0].body) == (structured == "auto")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("empty", "empty"),
        ("prose", "no_verdict"),
        ("out_of_set", "out_of_set"),
        ("two_verdicts", "two_verdicts"),
        ("cut_content", "cut"),
        ("length", "cut"),
        ("wrong_schema", "no_verdict"),
        ("refused", "refused"),
        ("refused_prose", "refused"),
        ("filtered", "refused"),
        ("http_400", "http_400"),
        ("http_401", "http_401"),
        ("http_302", "http_302"),
    ],
)
def test_what_cannot_be_read_is_an_abstention_with_its_reason(server, judge_on, fault, why):
    verdict = judge_on(server).verify(f"I get 17. [fault {fault}]", "17")
    assert (verdict.score, verdict.reason) == (None, Reason.ENGINE_FAILURE)
    assert verdict.evidence["unreadable"] == why
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("malformed", "malformed"),
        ("no_choices", "malformed"),
        ("http_500", "http_500"),
        ("http_503", "http_503"),
        ("half", "connection"),
        ("drop", "connection"),
    ],
)
def test_what_may_pass_is_tried_again_and_no_more_often_than_said(server, judge_on, fault, why):
    judge = judge_on(server, max_attempts=3)
    assert judge.verify(f"I get 17. [id a] [fault {fault} x2]", "17").passed
    assert (len(server.calls), server.answered["a"]) == (3, 1)
    verdict = judge.verify(f"I get 17. [id b] [fault {fault}]", "17")
    assert (verdict.score, verdict.evidence["unreadable"]) == (None, why)
    assert len(server.calls) == 6
    usage = judge.metrics()["usage"]
    assert (usage["requests"], usage["retries"], usage["replies"]) == (6, 4, 1)
    assert usage["failed_requests"] == {why: 5}


def test_retry_after_is_waited_for_and_never_past_the_deadline(server, judge_on):
    judge = judge_on(server)
    verdict = judge.verify("I get 17. [fault http_429 x1]", "17")
    assert verdict.passed
    assert verdict.seconds >= 0.1
    # An hour is asked for: waiting would be in vain, so it is given up at once.
    verdict = judge.verify("I get 17. [id b] [fault http_429_long]", "17")
    assert (verdict.score, verdict.evidence["unreadable"]) == (None, "http_429")
    assert verdict.seconds < 10


@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_a_server_that_hangs_or_trickles_costs_its_deadline_and_no_more(server, judge_on, fault):
    judge = judge_on(server, request_timeout_s=0.2, timeout_s=0.5)
    verdict = judge.verify(f"I get 17. [fault {fault}]", "17")
    assert (verdict.score, verdict.reason) == (None, Reason.TIMEOUT)
    assert verdict.seconds < 10
    assert judge.verify("I get 17.", "17").passed


def test_a_server_that_is_not_there_is_an_abstention():
    with JudgeVerifier(base_url="http://127.0.0.1:9/v1", backoff_s=0.01, timeout_s=5) as judge:
        verdict = judge.verify("17", "17")
    assert (verdict.score, verdict.evidence["unreadable"]) == (None, "connection")


def test_the_circuit_opens_after_failures_in_a_row_and_closes_after_a_success(judge_on):
    down = True
    with ScriptedServer(fault=lambda call, tries: "http_500" if down else None) as server:
        judge = judge_on(
            server, max_attempts=1, breaker_failures=3, breaker_pause_s=0.3, timeout_s=5
        )
        for _ in range(3):
            assert judge.verify("17", "17").score is None
        assert judge.metrics()["breaker"] == "open"
        verdict = judge.verify("17", "17")
        assert verdict.evidence["unreadable"] == "circuit_open"
        assert len(server.calls) == 3  # nothing was asked
        down = False
        waits = judge_on(server, max_attempts=1)
        assert waits.verify("17", "17").passed
        while judge.metrics()["breaker"] == "open":
            pass
        assert judge.verify("17", "17").passed
        assert judge.metrics()["breaker"] == "closed"


def test_a_server_without_structured_output_is_asked_for_lines_from_then_on(judge_on):
    with ScriptedServer(schema=False) as server:
        judge = judge_on(server)
        assert judge.verify("It is 17", "17").passed
        assert judge.verify("It is 18", "17").score == 0.0
        assert ["response_format" in call.body for call in server.calls].count(False) == 2
        assert "response_format" not in server.calls[-1].body
        never = judge_on(server, structured="schema", max_attempts=1)
        assert never.verify("It is 17", "17").score is None


def test_a_batch_keeps_its_order_and_hundreds_are_in_flight(judge_on):
    with ScriptedServer(delay_s=0.05) as server:
        judge = judge_on(server, concurrency=40)
        answers = [f"It is {number}" for number in range(200)]
        references = [str(number - number % 3) for number in range(200)]
        verdicts = judge.verify_batch(answers, references)
        assert [v.score for v in verdicts] == [float(number % 3 == 0) for number in range(200)]
        assert 20 < server.most_in_flight <= 40
        assert judge.verify_batch([], []) == []


def test_hundreds_are_awaited_side_by_side(judge_on):
    # A second is long enough for a busy machine to send a hundred before the first reply.
    with ScriptedServer(delay_s=1.0) as server:
        judge = judge_on(server, concurrency=100)

        async def many():
            rows = [judge.averify(f"It is {n}", str(n)) for n in range(150)]
            return await asyncio.gather(*rows)

        assert all(verdict.passed for verdict in asyncio.run(many()))
        assert server.most_in_flight > 50


def test_requests_are_spaced_by_the_rate(server, judge_on):
    judge = judge_on(server, max_per_second=20.0)
    verdicts = judge.verify_batch(["It is 17"] * 10, ["17"] * 10)
    assert max(verdict.seconds for verdict in verdicts) >= 9 / 20 - 0.05


def test_the_key_is_sent_and_is_seen_nowhere_else(server, judge_on, monkeypatch, tmp_path):
    cache = tmp_path / "c.sqlite"
    judge = judge_on(server, api_key=KEY, cache=str(cache))
    verdict = judge.verify("It is 17 [fault http_400]", "17")
    assert server.calls[0].headers["authorization"] == f"bearer {KEY}"
    assert "***" in verdict.detail
    judge.verify("It is 17", "17")
    copy = pickle.loads(pickle.dumps(judge))
    shown = [repr(judge), repr(judge.options), verdict.to_json(), repr(vars(judge))]
    shown += [json.dumps(judge.metrics()), repr(pickle.dumps(judge))]
    shown += [repr(file.read_bytes()) for file in tmp_path.iterdir()]
    assert not [text for text in shown if KEY in text]
    with copy:
        copy.verify("It is 18", "17")
        assert "authorization" not in server.calls[-1].headers
        monkeypatch.setenv("REWARDKIT_JUDGE_API_KEY", "from-the-environment")
        copy.verify("It is 19", "17")
        assert server.calls[-1].headers["authorization"] == "bearer from-the-environment"


def test_a_pickled_judge_judges_and_close_can_be_followed_by_use(server, judge_on):
    judge = judge_on(server)
    assert judge.verify("It is 17", "17").passed
    with pickle.loads(pickle.dumps(judge)) as copy:
        assert copy.verify("It is 17", "17").passed
    judge.close()
    assert judge.verify("It is 17", "17").passed


def test_a_forked_child_judges_over_connections_of_its_own(server, judge_on, tmp_path):
    judge = judge_on(server, cache=tmp_path / "c")
    assert judge.verify("It is 17", "17").passed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork, from Python 3.12 on
        child = os.fork()
    if child == 0:
        passed = judge.verify("It is 18", "18").passed and judge.verify("It is 17", "17").passed
        os._exit(0 if passed else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert judge.verify("It is 19", "19").passed
    assert len(server.calls) == 3


def test_one_bad_reference_refuses_a_batch_before_anything_is_asked(server, judge_on):
    with pytest.raises(InvalidReferenceError):
        judge_on(server).verify_batch(["It is 17", "It is 18"], ["17", None])
    assert server.calls == []


def test_answers_that_say_no_do_not_open_the_circuit(server, judge_on):
    judge = judge_on(server, breaker_failures=2)
    for _ in range(4):
        judge.verify("It is 17 [fault http_400]", "17")
    assert judge.metrics()["breaker"] == "closed"


def test_a_progress_bar_shows_where_there_is_a_terminal(server, judge_on, capfd, monkeypatch):
    judge = judge_on(server, progress=True)
    judge.verify_batch(["It is 17"] * 3, ["17"] * 3)
    assert capfd.readouterr().err.strip() == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    judge.verify_batch(["It is 17"] * 3, ["17"] * 3)
    assert "judging" in capfd.readouterr().err


def test_a_reward_takes_a_judge(server, judge_on):
    reward = Reward({"judge": judge_on(server)})
    completions = ["It is 17", "It is 18", "It is 17 [fault refused]"]
    assert reward.score(completions, reference=["17"] * 3).scores == [1.0, 0.0, None]


def test_cost_and_tokens_count_failed_parses_too(server, judge_on):
    judge = judge_on(server, price_per_million=(1.0, 10.0))
    judge.verify_batch(["It is 17", "17 [fault prose]", ":"], ["17"] * 3)
    usage = judge.metrics()["usage"]
    assert (usage["verdicts"], usage["abstentions"], usage["gated"]) == (3, 1, 1)
    assert (usage["prompt_tokens"], usage["unreadable_tokens"]) == (200, 110)
    assert usage["cost"] == pytest.approx(2 * (100 * 1.0 + 10 * 10.0) / 1e6)


@pytest.mark.parametrize("text", ["", "   ", ":", "Thought process:", "Solution", "解", "…!"])
def test_texts_that_judges_accept_and_that_answer_nothing_are_not_asked_about(
    server, judge_on, text
):
    verdict = judge_on(server).verify(text, "17")
    assert (verdict.score, verdict.reason) == (0.0, Reason.NO_ANSWER)
    assert server.calls == []


def test_gates_let_pass_what_is_the_reference_itself(server, judge_on):
    judge = judge_on(server)
    judge.verify("Solution", "solution")
    judge.verify("+", "+")
    assert len(server.calls) == 2


def test_a_response_without_a_committed_answer_can_be_refused(server, judge_on):
    judge = judge_on(server, needs_answer=True)
    assert judge.verify("There is much to say about 17 and more", "17").reason is Reason.TRUNCATED
    assert judge.verify("Well. The answer is 17.", "17").passed
    assert len(server.calls) == 1


def test_hostile_completions_get_verdicts(server, judge_on):
    judge = judge_on(server)
    for text in (None, "\ud800 17", "\x00 17", [{"role": "assistant", "content": "17"}], 5):
        assert judge.verify(text, "17").score in (0.0, 1.0)
    assert judge.verify("17 " * 50_000, "17").reason is Reason.SIZE_LIMIT
    assert judge.verify("<think>17", "17").reason is Reason.TRUNCATED


@pytest.mark.parametrize(
    "reference", [None, "", {}, [], {"answer": ""}, {"answer": ["x"]}, {"key": 1}, True]
)
def test_a_reference_without_an_answer_is_refused(server, judge_on, reference):
    with pytest.raises(InvalidReferenceError):
        judge_on(server).verify("17", reference)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "nope"},
        {"base_url": "ftp://x"},
        {"base_url": "http://user:pass@x/v1"},
        {"base_url": "http://x:y/v1"},
        {"timeout_s": 0},
        {"concurrency": 0},
        {"temperature": -1},
        {"canary_rate": 2},
        {"canaries": ()},
        {"max_per_second": 0},
        {"vote": "loudest"},
        {"veto": 2},
        {"scale": (5, 1), "mode": "scale"},
        {"scale": (1, 2, 3), "mode": "scale"},
        {"rubric": "", "mode": "scale"},
        {"rubric": "[1]", "mode": "rubric"},
        {"rubric": [{"criterion": "x"}]},
        {"mode": "skills"},
        {"price_per_million": (1.0,)},
        {"structured": "yes"},
        {"on_alarm": "shout"},
        {"panel": "gpt"},
        {"disagreement": "x"},
    ],
    ids=str,
)
def test_options_outside_their_values_are_refused(options):
    with pytest.raises(ConfigError) as caught:
        JudgeVerifier(**options)
    assert "pass@" not in str(caught.value)


def test_a_cache_that_cannot_be_used_is_the_callers_mistake(server, judge_on, tmp_path):
    bad = tmp_path / "x.sqlite"
    bad.write_text("this is no database, and long enough to be seen as none" * 20)
    with pytest.raises(ConfigError, match="cannot be used"):
        judge_on(server, cache=bad).verify("17", "17")
