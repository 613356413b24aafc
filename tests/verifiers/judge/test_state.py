"""What a judge keeps: cache, canaries, limits."""

import asyncio
import random
import sqlite3
import warnings

import pytest

from rewardkit import Reason
from rewardkit.verifiers.judge import JudgeAlarm
from rewardkit.verifiers.judge.cache import CachedReply, ReplyCache, cache_key
from rewardkit.verifiers.judge.canaries import CanaryWatch
from rewardkit.verifiers.judge.limits import Breaker, RateLimit, Slots
from rewardkit.verifiers.judge.parsing import Reply
from tests.verifiers.judge.scripted import ScriptedServer


def test_a_verdict_is_kept_over_processes_and_moods_of_the_server(judge_on, tmp_path):
    moods = iter(["CORRECT", "INCORRECT", "INCORRECT"])
    with ScriptedServer(rule=lambda call: {"verdict": next(moods)}) as server:
        cache = tmp_path / "replies.sqlite"
        first = judge_on(server, cache=cache).verify("17", "17")
        again = judge_on(server, cache=str(cache))
        second = again.verify("17", "17")
        assert (first.score, second.score) == (1.0, 1.0)
        assert (len(server.calls), again.metrics()["usage"]["cache_hits"]) == (1, 1)
        assert again.metrics()["usage"]["prompt_tokens"] == 0
        assert second.evidence["usage"]["from_cache"] == 1
        assert again.verify("17.", "17").score == 0.0


def test_equal_rows_of_a_batch_are_asked_about_once(judge_on, tmp_path):
    with ScriptedServer(delay_s=0.05) as server:
        judge = judge_on(server, cache=tmp_path / "c")
        verdicts = judge.verify_batch(["It is 17"] * 30 + ["It is 18"] * 30, ["17"] * 60)
        assert [verdict.score for verdict in verdicts] == [1.0] * 30 + [0.0] * 30
        assert len(server.calls) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"model": "other"},
        {"temperature": 0.5},
        {"max_tokens": 7},
        {"seed": 3},
        {"structured": "off"},
        {"reasoning": False},
        {"rubric": "mind the units"},
        {"extra_body": {"top_k": 1}},
    ],
    ids=str,
)
def test_whatever_changes_the_verdict_changes_the_key(server, judge_on, tmp_path, options):
    judge_on(server, cache=tmp_path / "c").verify("17", "17")
    judge_on(server, cache=tmp_path / "c", **options).verify("17", "17")
    assert len(server.calls) == 2


def test_a_key_is_of_the_address_too():
    assert cache_key("http://a/v1", {"model": "m"}) != cache_key("http://b/v1", {"model": "m"})


def test_a_kept_reply_is_read_again_by_the_present_parser(server, judge_on, tmp_path):
    path = tmp_path / "c"
    judge_on(server, cache=path).verify("17", "17")
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE replies SET reply = json_set(reply, '$.text', '{\"verdict\": \"MAYBE\"}')"
        )
    verdict = judge_on(server, cache=path).verify("17", "17")
    assert (verdict.score, verdict.evidence["unreadable"]) == (None, "out_of_set")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE replies SET reply = 'torn'")
    assert judge_on(server, cache=path).verify("17", "17").passed  # asked anew
    assert len(server.calls) == 2


def test_failures_are_not_kept(server, judge_on, tmp_path):
    judge = judge_on(server, cache=tmp_path / "c", max_attempts=1)
    assert judge.verify("17 [fault http_500 x1]", "17").score is None
    assert judge.verify("17 [fault http_500 x1]", "17").passed


def test_the_first_reply_stays(tmp_path):
    cache = ReplyCache(tmp_path / "c")
    cache.put("k", CachedReply(Reply("a \ud800"), "n1"), now=0.0)
    cache.put("k", CachedReply(Reply("b"), "n2"), now=1.0)
    assert cache.get("k") == CachedReply(Reply("a \ud800"), "n1")
    assert cache.get("other") is None
    cache.close()
    assert cache.get("k") is None
    assert cache.failures == 1


def test_canaries_are_mixed_in_at_their_rate_and_change_no_verdict(server, judge_on):
    judge = judge_on(server, canary_rate=0.25)
    verdicts = judge.verify_batch([f"It is {n}" for n in range(40)], [str(n) for n in range(40)])
    assert all(verdict.passed for verdict in verdicts)
    found = judge.metrics()["canaries"]
    assert (found["asked"], found["accepted"], found["alarm"]) == (10, 0, False)
    assert found["false_positive_rate"] == 0.0
    assert len(server.calls) == 50


@pytest.mark.parametrize("on_alarm", ["warn", "abstain"])
def test_a_judge_that_says_yes_to_everything_rings_the_alarm(judge_on, on_alarm):
    with ScriptedServer(rule=lambda call: {"verdict": "CORRECT"}) as server:
        judge = judge_on(server, canary_rate=0.5, on_alarm=on_alarm)
        with pytest.warns(JudgeAlarm, match="accepted") as caught:
            judge.verify_batch(["It is 5"] * 20, ["6"] * 20)
        assert len(caught) == 1
        assert judge.metrics()["canaries"]["alarm"] is True
        later = judge.verify("It is 5", "6")
        if on_alarm == "warn":
            assert later.passed
        else:
            assert (later.score, later.reason) == (None, Reason.UNPROVED)


def test_the_alarm_waits_for_evidence_and_then_stays():
    watch = CanaryWatch(1.0, 0.05)
    watch.record(1.0, accept_at=1.0)
    watch.record(1.0, accept_at=1.0)
    assert not watch.alarm  # 0.0005 ** (1 / 2) = 0.022 is the exact lower end for two of two
    with pytest.warns(JudgeAlarm, match="3 of 3"):
        watch.record(1.0, accept_at=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for score in (0.0, 0.5, None):
            watch.record(score, accept_at=1.0)
    found = watch.to_json()
    assert (found["asked"], found["accepted"], found["unreadable"]) == (5, 3, 1)
    assert found["alarm"] is True


def test_a_judge_within_its_bound_rarely_rings():
    chance = random.Random(5)
    rings = 0
    for _ in range(40):
        watch = CanaryWatch(1.0, 0.05)
        for _ in range(150):
            watch.record(float(chance.random() < 0.04), accept_at=1.0)
            if watch.alarm:
                break
        rings += watch.alarm
    assert rings <= 2


@pytest.mark.parametrize("rate", [0.0, 0.1, 1 / 3, 1.0])
def test_canaries_are_due_at_exactly_their_rate(rate):
    watch = CanaryWatch(rate, 0.05)
    due = sum(watch.next_turn() is not None for _ in range(300))
    assert due == round(300 * rate)


def test_a_retry_goes_before_what_has_not_begun():
    async def run():
        slots, order = Slots(1), []
        held = await slots.acquire()

        async def take(name, is_retry):
            slot = await slots.acquire(is_retry=is_retry)
            order.append(name)
            slots.release(slot)

        waiting = [asyncio.ensure_future(take(n, n == "retry")) for n in ("new", "newer", "retry")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        slots.release(held)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert await slots.acquire() == 0  # the slot came back
        return order

    assert asyncio.run(run()) == ["retry", "newer"]


def test_a_slot_that_comes_with_a_cancellation_is_passed_on():
    async def run():
        slots = Slots(1)
        held = await slots.acquire()
        first = asyncio.ensure_future(slots.acquire())
        second = asyncio.ensure_future(slots.acquire())
        await asyncio.sleep(0)
        slots.release(held)
        first.cancel()
        assert await second == 0

    asyncio.run(run())


def test_the_breaker_by_its_clock():
    now = 0.0
    breaker = Breaker(2, 10.0, lambda: now)
    breaker.fail(), breaker.succeed(), breaker.fail()
    assert breaker.state == "closed"  # two failures, not in a row
    breaker.fail()
    assert (breaker.state, breaker.wait_s(), breaker.opened) == ("open", 10.0, 1)
    now = 10.0
    assert (breaker.state, breaker.wait_s()) == ("half_open", 0.0)
    assert breaker.wait_s() > 0  # one trial at a time
    breaker.fail()
    assert (breaker.state, breaker.wait_s(), breaker.opened) == ("open", 10.0, 2)
    now = 20.0
    assert breaker.wait_s() == 0.0
    breaker.succeed()
    assert breaker.state == "closed"


def test_a_rate_leaves_no_debt_after_a_pause():
    limit = RateLimit(10.0)
    assert [round(limit.reserve(now=1.0), 6) for _ in range(3)] == [0.0, 0.1, 0.2]
    assert limit.reserve(now=5.0) == 0.0
    assert RateLimit(None).reserve(now=1.0) == 0.0
