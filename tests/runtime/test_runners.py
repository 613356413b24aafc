"""Runners on this machine: the same verdicts, the same order, the same deadlines."""

import asyncio
import os
import signal
import threading
import time

import pytest

from rewardkit import InlineRunner, PoolRunner, Reason, Reward
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime import active_runner, running_on
from tests.runtime.verifiers import Echo

SLOW = [f"slow {i}" for i in range(100)]
CHEAP = [f"word {i}" for i in range(300)]


@pytest.fixture(scope="module")
def pool():
    runner = PoolRunner(workers=2, row_timeout_s=20.0)
    yield runner
    runner.close()


def told(verdicts):
    return [(v.score, v.reason, v.answer, v.detail) for v in verdicts]


@pytest.mark.parametrize("bad", ["raise", "nothing"])
def test_inline_and_pool_say_the_same(pool, bad):
    rows = [*CHEAP, bad, *CHEAP]
    hints = [str(i) for i in range(len(rows))]
    references = ["word 3"] * len(rows)
    expected = told(InlineRunner().verify_batch(Echo(), rows, references, hint=hints))
    for _ in range(3):  # from the second time on, cheap rows travel by the chunk
        assert told(pool.verify_batch(Echo(), rows, references, hint=hints)) == expected


def test_among_chunks_of_cheap_rows_a_bad_one_still_loses_only_itself(pool):
    for _ in range(2):
        pool.verify_batch(Echo(), CHEAP, CHEAP)
    rows = [*CHEAP[:100], "exit", *CHEAP[100:200], "eat", *CHEAP[200:]]
    verdicts = pool.verify_batch(Echo(), rows, rows)
    lost = {row: v.reason for row, v in zip(rows, verdicts) if not v.passed}
    assert lost == {"exit": Reason.ENGINE_FAILURE, "eat": Reason.MEMORY}
    assert [v.answer for v in verdicts if v.passed] == CHEAP


def test_among_chunks_of_cheap_rows_a_hanging_one_is_a_timeout_at_the_deadline(pool):
    pool.verify_batch(Echo(), CHEAP, CHEAP)
    rows = [*CHEAP, "hang"]
    started = time.monotonic()
    verdicts = pool.verify_batch(Echo(), rows, rows, until=started + 4.0)
    assert verdicts[-1].reason is Reason.TIMEOUT
    assert all(verdict.passed for verdict in verdicts[:-1])


def test_what_has_not_begun_at_the_deadline_is_a_timeout(pool):
    for runner in (InlineRunner(), pool):
        verdicts = runner.verify_batch(Echo(), ["a"] * 3, ["a"] * 3, until=time.monotonic() - 1)
        assert told(verdicts) == [(None, Reason.TIMEOUT, None, "echo: not begun in time")] * 3


def test_who_waits_for_a_worker_waits_no_longer_than_its_deadline():
    with PoolRunner(workers=1) as runner:
        until = time.monotonic() + 4.0
        first = threading.Thread(
            target=lambda: runner.verify_batch(Echo(), ["hang"], ["a"], until=until)
        )
        first.start()
        while runner.state().busy == 0:
            time.sleep(0.01)
        verdicts = runner.verify_batch(Echo(), ["a"], ["a"], until=time.monotonic() + 0.2)
        assert verdicts[0].detail == "echo: not begun in time"
        assert time.monotonic() < until
        first.join()


def test_a_worker_that_is_killed_from_outside_costs_no_verdict():
    with PoolRunner(workers=1) as runner:
        pid = int(runner.verify_batch(Echo(), ["pid"], ["x"])[0].answer)
        threading.Timer(0.3, os.kill, [pid, signal.SIGKILL]).start()
        verdicts = runner.verify_batch(Echo(), SLOW, SLOW)
        assert all(verdict.passed for verdict in verdicts)
        assert int(runner.verify_batch(Echo(), ["pid"], ["x"])[0].answer) != pid


def test_a_reward_inside_the_block_is_scored_on_the_runner(pool):
    reward = Reward({"echo": Echo()})
    own = str(os.getpid())

    def where():
        return reward.score(["pid"], reference=["x"]).verdicts["echo"][0].answer

    assert where() == own
    with running_on(pool):
        assert active_runner() is pool
        assert where() != own
        with InlineRunner() as inner:
            assert active_runner() is inner
            assert where() == own
        assert where() != own
    assert active_runner() is None
    assert where() == own


def test_a_reward_is_scored_on_the_runner_from_asyncio_too(pool):
    reward = Reward({"echo": Echo()})

    async def where():
        row = await reward.ascore_one("pid", reference="x")
        return row.verdicts["echo"].answer

    with running_on(pool):
        assert asyncio.run(where()) != str(os.getpid())


def test_the_callers_mistakes_raise(pool):
    for runner in (InlineRunner(), pool):
        with pytest.raises(InvalidReferenceError, match="'b'"):
            runner.verify_batch(Echo(), ["a", "b"], ["a", None])
        with pytest.raises(ConfigError, match="references"):
            runner.verify_batch(Echo(), ["a"], [])


@pytest.mark.parametrize("options", [{"row_timeout_s": 0}, {"crash_retries": -1}, {"workers": 0}])
def test_an_option_outside_its_range_is_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        PoolRunner(**options)


def test_a_verifier_of_the_running_script_is_graded_here():
    class Local(Echo):
        pass

    Local.__module__ = "__main__"
    with PoolRunner(workers=1) as runner:
        verdict = runner.verify_batch(Local(), ["pid"], ["x"])[0]
    assert verdict.answer == str(os.getpid())
