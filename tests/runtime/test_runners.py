"""Runners on this machine: the same verdicts, the same order, the same deadlines."""

import asyncio
import contextvars
import os
import signal
import threading
import time
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import InlineRunner, PoolRunner, Reason, Reward, Verifier
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime import active_runner, running_on
from rewardkit.runtime._cancel import CALL_OFF, CalledOffError, CallOff
from tests.runtime.verifiers import Echo, Loud

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


@pytest.mark.parametrize("made", [Echo, Loud])
def test_a_verifiers_own_batch_inside_the_block_is_graded_on_the_runner(pool, made):
    own = str(os.getpid())
    assert made().verify_batch(["pid"], ["x"])[0].answer == own
    with running_on(pool):
        assert made().verify_batch(["pid"], ["x"])[0].answer != own
        assert made().verify("pid", "x").answer == own  # a single one stays here
        with InlineRunner():
            assert made().verify_batch(["pid"], ["x"])[0].answer == own
    assert made().verify_batch(["pid"], ["x"])[0].answer == own


@dataclass(frozen=True)
class Counting(InlineRunner):
    """Grades here, and keeps what it was given."""

    given: list = field(default_factory=list)
    name: str = "counting"

    def grade_rows(self, verifier, rows, until, /):
        self.given.append(rows)
        return super().grade_rows(verifier, rows, until)


@dataclass(frozen=True)
class Nested(Verifier):
    """Asks another verifier for a batch, as a cascade does."""

    inner: Verifier
    name: str = "nested"

    def verify(self, completion, reference, /, **context):
        return self.inner.verify_batch([completion], [reference])[0]


def test_what_a_runner_grades_does_not_come_back_to_it():
    with Counting() as runner:
        verdicts = Nested(Nested(Echo())).verify_batch(["a", "b"], ["a", "a"])
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]
    assert len(runner.given) == 1


def test_the_block_counts_for_its_thread_alone():
    with Counting() as runner:
        thread = threading.Thread(target=Echo().verify_batch, args=(["a"], ["a"]))
        thread.start()
        thread.join()
        assert runner.given == []
        Echo().verify_batch(["a"], ["a"])
        assert len(runner.given) == 1


def test_threads_with_blocks_of_their_own_do_not_meet():
    failures = []

    def work(number):
        with Counting() as runner:
            for turn in range(50):
                verdicts = Echo().verify_batch([f"{number} {turn}"], [f"{number} {turn}"])
                if not verdicts[0].passed or len(runner.given) != turn + 1:
                    failures.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_equal_rows_are_graded_once_and_all_get_the_verdict():
    with Counting() as runner:
        hints = ["h"] * 5 + ["other"]
        rows = ["a", "b", "a", [{"role": "assistant", "content": "a"}], "a", "a"]
        verdicts = Echo().verify_batch(rows, ["a", "a", "a", "a", "b", "a"], hint=hints)
    [given] = runner.given
    assert [row[0] for row in given] == ["a", "b", rows[3], "a", "a"]
    assert [v.score for v in verdicts] == [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    assert verdicts[0].detail == "hint h"
    assert verdicts[5].detail == "hint other"


def test_values_that_only_compare_equal_are_different_rows():
    with Counting() as runner:
        Echo().verify_batch(["a"] * 4, [1, 1.0, True, "1"])
    assert len(runner.given[0]) == 4


def test_a_row_that_cannot_travel_has_no_equal():
    deep = current = []
    for _ in range(5000):
        current.append(inner := [])
        current = inner
    with Counting() as runner:
        verdicts = Echo().verify_batch(["a", "a"], ["a", "a"], live=[lambda: 0, lambda: 0])
        assert len(runner.given[0]) == 2
        Echo().verify_batch(["a", "a"], [deep, deep])
    assert [verdict.score for verdict in verdicts] == [1.0, 1.0]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("ab"), st.integers(0, 1))))
def test_grading_equal_rows_once_changes_no_verdict(rows):
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    alone = [Echo().verify(c, r, hint=h) for c, r, h in rows]
    with Counting() as runner:
        assert Echo().verify_batch(columns[0], columns[1], hint=columns[2]) == alone
    assert len(runner.given[0]) == len(set(rows))


def test_a_block_within_the_same_block_ends_alone(pool):
    with Counting() as runner:
        with runner:
            pass
        assert active_runner() is runner
    assert active_runner() is None


def test_work_that_is_called_off_is_killed():
    call_off = CallOff()
    errors = []

    def work():
        CALL_OFF.set(call_off)
        try:
            runner.verify_batch(Echo(), [f"hang {i}" for i in range(9)], ["x"] * 9)
        except CalledOffError as error:
            errors.append(error)

    with PoolRunner(workers=2) as runner:
        thread = threading.Thread(target=work)
        thread.start()
        while runner.state().busy < 2:
            time.sleep(0.01)
        call_off.call()
        thread.join()
        assert len(errors) == 1
        assert runner.state().busy == 0
        assert runner.verify_batch(Echo(), ["a"], ["a"])[0].passed
    with pytest.raises(CalledOffError):
        contextvars.copy_context().run(work_inline, call_off)


def work_inline(call_off):
    CALL_OFF.set(call_off)
    InlineRunner().verify_batch(Echo(), ["a"], ["a"])


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
