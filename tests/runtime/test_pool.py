"""Every way a task may end is an outcome, and the pool goes on."""

import asyncio
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.runtime import Outcome, OutcomeStatus, WorkerPool
from tests.runtime import tasks
from tests.runtime.processes import children, is_gone_soon, is_running
from tests.runtime.tasks import LIMIT_S

SHORT_S = 0.3


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(workers=2, memory_mb=256, max_result_bytes=2**20) as pool:
        yield pool


def works(pool: WorkerPool) -> bool:
    return pool.call(tasks.double, 21, timeout_s=LIMIT_S).value == 42


def test_a_value_comes_back(pool: WorkerPool) -> None:
    outcome = pool.call(divmod, 7, 2, timeout_s=LIMIT_S)
    assert outcome.ok
    assert outcome.value == (3, 1)
    assert outcome.detail == ""
    assert outcome.seconds > 0


@given(value=st.recursive(st.none() | st.integers() | st.text() | st.binary(), st.lists))
@settings(max_examples=50)
def test_arguments_and_values_arrive_unchanged(pool: WorkerPool, value: Any) -> None:
    assert pool.call(tuple, [value], timeout_s=LIMIT_S).value == (value,)


def test_lone_surrogates_and_nul_travel(pool: WorkerPool) -> None:
    assert pool.call(str, "\ud800\x00", timeout_s=LIMIT_S).value == "\ud800\x00"


def _named(value: object) -> str:
    """The same id in every process: a function's address is not."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(
    ("function", "arguments", "status", "detail"),
    [
        (tasks.raise_it, (ValueError("odd"),), OutcomeStatus.ERROR, "ValueError: odd"),
        (tasks.raise_it, (KeyboardInterrupt(),), OutcomeStatus.ERROR, "KeyboardInterrupt"),
        (tasks.raise_it, (GeneratorExit(),), OutcomeStatus.ERROR, "GeneratorExit"),
        (sys.exit, (3,), OutcomeStatus.ERROR, "SystemExit: 3"),
        (
            tasks.raise_hostile,
            (),
            OutcomeStatus.ERROR,
            "HostileError: (its message cannot be read)",
        ),
        (tasks.recurse, (), OutcomeStatus.ERROR, "RecursionError"),
        (tasks.return_lambda, (), OutcomeStatus.ERROR, "return_lambda"),
        (tasks.return_unreadable, (), OutcomeStatus.ERROR, "cannot be read back"),
        (tasks.return_bytes, (2**21,), OutcomeStatus.ERROR, "the limit is 1,048,576"),
        (tasks.leave, (0,), OutcomeStatus.CRASH, "exited with code 0"),
        (tasks.leave, (3,), OutcomeStatus.CRASH, "exited with code 3"),
        (os.abort, (), OutcomeStatus.CRASH, "killed by SIGABRT"),
        (tasks.read_null, (), OutcomeStatus.CRASH, "killed by SIGSEGV"),
        (tasks.kill_self, (), OutcomeStatus.CRASH, "killed by SIGKILL"),
        (tasks.eat_memory, (), OutcomeStatus.MEMORY, "over 256 MiB"),
        (tasks.use_memory, (10**6,), OutcomeStatus.MEMORY, "over 256 MiB"),
        (tasks.raise_it, (MemoryError(),), OutcomeStatus.MEMORY, "over 256 MiB"),
    ],
    ids=_named,
)
def test_a_bad_end_is_an_outcome_and_the_pool_goes_on(
    pool: WorkerPool,
    function: Any,
    arguments: tuple[Any, ...],
    status: OutcomeStatus,
    detail: str,
) -> None:
    outcome = pool.call(function, *arguments, timeout_s=LIMIT_S)
    assert outcome.status is status
    assert detail in outcome.detail
    assert outcome.value is None
    assert works(pool)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (tasks.hang_in_c, ()),
        (tasks.sleep, (1000.0,)),
        (tasks.close_all_files, ()),
        (signal.pause, ()),
        (tasks.start_child_and_hang, ("{tmp}",)),
    ],
    ids=_named,
)
def test_a_hang_ends_at_its_deadline(
    pool: WorkerPool, tmp_path: Path, function: Any, arguments: tuple[Any, ...]
) -> None:
    arguments = tuple(str(tmp_path / "pid") if a == "{tmp}" else a for a in arguments)
    outcome = pool.call(function, *arguments, timeout_s=SHORT_S)
    assert outcome.status is OutcomeStatus.TIMEOUT
    assert outcome.detail == "not done after 0.3 s"
    assert outcome.seconds >= SHORT_S
    assert works(pool)


@pytest.mark.parametrize(
    "function", [tasks.announce_and_hang, tasks.start_child_and_hang, tasks.detach_child_and_hang]
)
def test_the_whole_process_tree_of_a_task_dies_with_it(
    pool: WorkerPool, tmp_path: Path, function: Any
) -> None:
    path = str(tmp_path / "pid")
    assert pool.call(function, path, timeout_s=2.0).status is OutcomeStatus.TIMEOUT
    assert is_gone_soon(int(tasks.wait_for(path)))


def test_a_detached_child_of_a_living_task_outlives_another_workers_death(tmp_path: Path) -> None:
    path, word = str(tmp_path / "pid"), tmp_path / "word"
    with WorkerPool(workers=2) as pool:
        outcomes: list[Outcome[Any]] = []
        keeper = threading.Thread(
            target=lambda: outcomes.append(
                pool.call(tasks.detach_child_and_wait, path, str(word), timeout_s=LIMIT_S)
            )
        )
        keeper.start()
        child = int(tasks.wait_for(path))
        assert pool.call(tasks.exit_with, 1, timeout_s=LIMIT_S).status is OutcomeStatus.CRASH
        assert works(pool)
        assert is_running(child)
        word.touch()
        keeper.join()
        assert outcomes[0].ok
    assert is_gone_soon(child)


def test_a_crash_is_seen_at_once_though_a_child_holds_the_channel(
    pool: WorkerPool, tmp_path: Path
) -> None:
    path = str(tmp_path / "pid")
    outcome = pool.call(tasks.fork_a_holder_and_die, path, timeout_s=LIMIT_S)
    assert outcome.status is OutcomeStatus.CRASH
    assert is_gone_soon(int(tasks.wait_for(path)))


def test_detail_is_one_bounded_line(pool: WorkerPool) -> None:
    outcome = pool.call(tasks.raise_verbose, timeout_s=LIMIT_S)
    assert outcome.status is OutcomeStatus.ERROR
    assert len(outcome.detail) <= 500
    assert len(outcome.detail.splitlines()) == 1
    outcome.detail.encode()


def test_a_large_value_under_the_limit_arrives_whole(pool: WorkerPool) -> None:
    value = pool.call(tasks.return_bytes, 2**20 - 100, timeout_s=LIMIT_S).value
    assert value == b"x" * (2**20 - 100)


def test_a_large_argument_arrives_whole(pool: WorkerPool) -> None:
    assert pool.call(len, "é" * 3_000_000, timeout_s=LIMIT_S).value == 3_000_000


def test_an_argument_over_the_memory_limit_is_out_of_memory() -> None:
    with WorkerPool(workers=1, memory_mb=64) as pool:
        outcome = pool.call(len, b"x" * 2**27, timeout_s=LIMIT_S)
        assert outcome.status is OutcomeStatus.MEMORY
        assert works(pool)


def test_an_alarm_left_behind_does_not_kill_the_worker() -> None:
    with WorkerPool(workers=1) as pool:
        pid = pool.call(tasks.leave_alarm_behind, timeout_s=LIMIT_S).value
        assert pool.call(tasks.sleep, 0.1, timeout_s=LIMIT_S).value == pid


def test_the_callers_alarm_and_handlers_are_left_alone(pool: WorkerPool) -> None:
    def on_alarm(*_: object) -> None:
        raise AssertionError("the alarm of a day from now went off")

    before = signal.signal(signal.SIGALRM, on_alarm)
    handlers = {s: signal.getsignal(s) for s in signal.valid_signals()}
    signal.setitimer(signal.ITIMER_REAL, 86_400)
    try:
        pool.call(tasks.hang_in_c, timeout_s=SHORT_S)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 80_000
        assert handlers == {s: signal.getsignal(s) for s in signal.valid_signals()}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_what_a_task_prints_stays_off_the_standard_output(
    pool: WorkerPool, capfd: pytest.CaptureFixture[str]
) -> None:
    with WorkerPool(workers=1) as fresh:  # started while the capture is on
        assert fresh.call(tasks.print_noise, timeout_s=LIMIT_S).value == 1
    assert capfd.readouterr().out == ""


# Mistakes of the caller


def local_function() -> Any:
    def inner() -> None:
        pass

    return inner


class FromTheScript:
    """Stands for a class of the running script."""


@pytest.mark.parametrize("function", [lambda: 1, local_function(), threading.Lock().acquire])
def test_a_function_that_cannot_travel_is_an_error(pool: WorkerPool, function: Any) -> None:
    with pytest.raises(ConfigError, match="cannot be sent to a worker"):
        pool.call(function, timeout_s=LIMIT_S)


def test_an_argument_that_cannot_travel_is_an_error(pool: WorkerPool) -> None:
    with pytest.raises(ConfigError, match="the arguments cannot be sent"):
        pool.call(len, threading.Lock(), timeout_s=LIMIT_S)
    with pytest.raises(ConfigError, match="item 1 cannot be sent"):
        pool.map(len, ["a", threading.Lock()], timeout_s=LIMIT_S)


def test_what_lives_in_the_running_script_is_named(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FromTheScript, "__module__", "__main__")
    with pytest.raises(ConfigError, match="'FromTheScript' is defined in the script"):
        pool.call(len, [FromTheScript()], timeout_s=LIMIT_S)


def test_a_function_that_workers_cannot_import_is_an_error(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "passing_module.py").write_text("def f(): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import passing_module

    (tmp_path / "passing_module.py").write_text("raise OSError('moved away')\n")
    with pytest.raises(ConfigError, match="cannot be imported in a worker: OSError: moved away"):
        pool.call(passing_module.f, timeout_s=LIMIT_S)
    assert works(pool)


def test_a_path_added_after_the_start_reaches_the_workers(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert works(pool)
    (tmp_path / "late_module.py").write_text("def f(): return 'late'\n")
    monkeypatch.syspath_prepend(tmp_path)
    import late_module

    assert pool.call(late_module.f, timeout_s=LIMIT_S).value == "late"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers is at least 1"),
        ({"memory_mb": 63}, "memory_mb is at least 64"),
        ({"max_tasks": 0}, "max_tasks is at least 1"),
        ({"max_result_bytes": 0}, "max_result_bytes is at least 1"),
        ({"start_timeout_s": 0.0}, "start_timeout_s is a positive number"),
        ({"start_timeout_s": float("inf")}, "start_timeout_s is a positive number"),
        ({"initializer": lambda: None}, "the initializer cannot be sent"),
    ],
)
def test_an_option_outside_its_range_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        WorkerPool(**options)


@pytest.mark.parametrize("timeout_s", [0, -1.0, float("nan"), float("inf")])
def test_a_deadline_is_a_positive_number(pool: WorkerPool, timeout_s: float) -> None:
    with pytest.raises(ConfigError, match="timeout_s is a positive number"):
        pool.call(len, "a", timeout_s=timeout_s)
    with pytest.raises(ConfigError, match="timeout_s is a positive number"):
        pool.map(len, ["a"], timeout_s=timeout_s)


def test_a_chunk_has_at_least_one_item(pool: WorkerPool) -> None:
    with pytest.raises(ConfigError, match="chunk_size is at least 1"):
        pool.map(len, ["a"], timeout_s=LIMIT_S, chunk_size=0)


# Starting


def test_the_initializer_runs_in_each_worker_and_is_no_part_of_the_deadline() -> None:
    with WorkerPool(workers=1, initializer=tasks.mark, initargs=("warm",)) as pool:
        assert pool.call(tasks.marks, timeout_s=LIMIT_S).value == ["warm"]
        pool.call(tasks.leave, 1, timeout_s=LIMIT_S)
        assert pool.call(tasks.marks, timeout_s=LIMIT_S).value == ["warm"]
    with WorkerPool(workers=1, initializer=tasks.sleep, initargs=(1.5,)) as pool:
        assert pool.call(tasks.double, 1, timeout_s=1.0).ok


def test_a_failing_initializer_is_the_callers_error() -> None:
    with (
        WorkerPool(workers=1, initializer=tasks.fail_to_start) as pool,
        pytest.raises(ConfigError, match="its initializer raised ValueError: no licence"),
    ):
        pool.call(len, "a", timeout_s=LIMIT_S)


def test_a_missing_preload_is_the_callers_error() -> None:
    with (
        WorkerPool(workers=1, preload=["no_such_module"]) as pool,
        pytest.raises(ConfigError, match="preload of no_such_module raised ModuleNotFoundError"),
    ):
        pool.call(len, "a", timeout_s=LIMIT_S)


def test_a_preloaded_module_is_there_before_the_first_task() -> None:
    with WorkerPool(workers=1, preload=["colorsys"]) as pool:
        assert pool.call(eval, "'colorsys' in __import__('sys').modules", timeout_s=LIMIT_S).value


def test_a_warm_pool_preloads_before_its_first_task_and_has_no_worker_yet(tmp_path: Path) -> None:
    before, mark = set(children(os.getpid())), tmp_path / "imported"
    (tmp_path / "leaves_a_mark.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        with WorkerPool(workers=1, preload=["leaves_a_mark"]) as pool:
            pool.warm()
            pool.warm()
            assert len(set(children(os.getpid())) - before) == 1
            tasks.wait_for(str(mark))
            assert pool.state().alive == 0
            assert works(pool)
            assert len(set(children(os.getpid())) - before) == 1


def test_a_pool_that_was_only_warmed_leaves_no_process() -> None:
    before = set(children(os.getpid()))
    pool = WorkerPool(workers=1, preload=["time"], initializer=tasks.sleep, initargs=(1000.0,))
    pool.warm()
    started = set(children(os.getpid())) - before
    pool.close()
    assert len(started) == 1
    assert all(is_gone_soon(pid) for pid in started)


def test_a_preload_that_fails_shows_at_the_first_task_and_not_when_warmed() -> None:
    with WorkerPool(workers=1, preload=["no_such_module"]) as pool:
        pool.warm()
        with pytest.raises(ConfigError, match="preload of no_such_module"):
            pool.call(len, "a", timeout_s=LIMIT_S)


def test_a_preload_is_looked_up_on_the_callers_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "only_here.py").write_text("def f(): return 'here'\n")
    monkeypatch.syspath_prepend(tmp_path)
    with WorkerPool(workers=1, preload=["only_here"]) as pool:
        assert works(pool)


def test_a_worker_that_never_starts_is_a_crash() -> None:
    with WorkerPool(
        workers=1, initializer=tasks.sleep, initargs=(1000.0,), start_timeout_s=SHORT_S
    ) as pool:
        outcome = pool.call(len, "a", timeout_s=LIMIT_S)
    assert outcome.status is OutcomeStatus.CRASH
    assert outcome.detail == "no worker was up after 0.3 s"


def test_nothing_starts_before_the_first_task() -> None:
    before = children(os.getpid())
    with WorkerPool(workers=1) as pool:
        assert children(os.getpid()) == before
        assert works(pool)
        assert len(children(os.getpid())) == len(before) + 1
    assert children(os.getpid()) == before


def test_a_closed_pool_starts_again() -> None:
    pool = WorkerPool(workers=1)
    first = pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value
    assert first
    pool.close()
    pool.close()
    assert not is_running(first)
    assert works(pool)
    pool.close()


def test_a_pool_that_is_dropped_ends_its_processes() -> None:
    pool = WorkerPool(workers=1)
    pid = pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value
    assert pid
    del pool
    assert is_gone_soon(pid)


def test_pickling_keeps_the_settings_and_drops_the_processes() -> None:
    with WorkerPool(workers=1, initializer=tasks.mark, initargs=("warm",)) as pool:
        pid = pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value
        with pickle.loads(pickle.dumps(pool)) as copy:
            assert copy.workers == 1
            assert copy.call(tasks.marks, timeout_s=LIMIT_S).value == ["warm"]
            assert copy.call(tasks.worker_pid, timeout_s=LIMIT_S).value != pid


def test_a_worker_is_replaced_after_its_share_of_tasks() -> None:
    with WorkerPool(workers=1, max_tasks=3) as pool:
        pids = [pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]


def test_many_functions_do_not_pile_up_in_a_worker() -> None:
    with WorkerPool(workers=1) as pool:
        pids = {pool.call(tasks.Counter().add, 0, timeout_s=LIMIT_S).value for _ in range(3)}
        assert pids == {1, 2, 3}  # equal objects are one function
        functions = [bytes(str(i), "ascii").join for i in range(40)]
        first = pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value
        for function in functions:
            assert pool.call(function, [b"a", b"b"], timeout_s=LIMIT_S).ok
        assert pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value != first


# Death from outside


def test_a_worker_killed_while_idle_is_replaced() -> None:
    with WorkerPool(workers=1) as pool:
        pid = pool.call(tasks.worker_pid, timeout_s=LIMIT_S).value
        assert pid
        os.kill(pid, signal.SIGKILL)
        assert is_gone_soon(pid)
        assert works(pool)


def test_a_worker_killed_at_work_is_a_crash_of_that_item_only(tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    with WorkerPool(workers=2) as pool:
        outcomes: list[Outcome[Any]] = []
        victim = threading.Thread(
            target=lambda: outcomes.append(
                pool.call(tasks.announce_and_hang, path, timeout_s=LIMIT_S)
            )
        )
        victim.start()
        pid = int(tasks.wait_for(path))
        assert works(pool)
        os.kill(pid, signal.SIGKILL)
        victim.join()
        assert outcomes[0].status is OutcomeStatus.CRASH
        assert outcomes[0].detail == "the worker was killed by SIGKILL"
        assert works(pool)


def test_a_killed_fork_server_is_a_crash_and_is_started_again() -> None:
    with WorkerPool(workers=1) as pool:
        outcome = pool.call(tasks.kill_fork_server, timeout_s=LIMIT_S)
        assert outcome.status is OutcomeStatus.CRASH
        assert works(pool)


def test_closing_while_a_task_runs_ends_it(tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    pool = WorkerPool(workers=1)
    outcomes: list[Outcome[Any]] = []
    runner = threading.Thread(
        target=lambda: outcomes.append(pool.call(tasks.announce_and_hang, path, timeout_s=LIMIT_S))
    )
    runner.start()
    pid = int(tasks.wait_for(path))
    pool.close()
    runner.join()
    assert outcomes[0].status is OutcomeStatus.CRASH
    assert is_gone_soon(pid)
    assert works(pool)
    pool.close()


def test_closing_ends_tasks_that_wait_for_a_worker(tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    before = children(os.getpid())
    pool = WorkerPool(workers=1)
    outcomes: list[Outcome[Any]] = []
    threads = [
        threading.Thread(
            target=lambda: outcomes.append(
                pool.call(tasks.announce_and_hang, path, timeout_s=LIMIT_S)
            )
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    tasks.wait_for(path)
    pool.close()
    for thread in threads:
        thread.join()
    assert [outcome.status for outcome in outcomes] == [OutcomeStatus.CRASH] * 3
    assert children(os.getpid()) == before


# Many at a time


def test_map_keeps_order_and_length(pool: WorkerPool) -> None:
    outcomes = pool.map(tasks.double, range(500), timeout_s=LIMIT_S)
    assert [outcome.value for outcome in outcomes] == [2 * i for i in range(500)]
    assert pool.map(tasks.double, [], timeout_s=LIMIT_S) == []


@pytest.mark.parametrize("chunk_size", [None, 1, 1000])
def test_a_poisonous_item_loses_only_itself(pool: WorkerPool, chunk_size: int | None) -> None:
    outcomes = pool.map(tasks.poison, range(60), timeout_s=LIMIT_S, chunk_size=chunk_size)
    bad = {i: outcome.status for i, outcome in enumerate(outcomes) if not outcome.ok}
    assert bad == {
        7: OutcomeStatus.CRASH,
        17: OutcomeStatus.ERROR,
        27: OutcomeStatus.MEMORY,
        57: OutcomeStatus.CRASH,
    }
    assert all(outcome.value == -i for i, outcome in enumerate(outcomes) if outcome.ok)


def test_each_item_of_a_chunk_has_its_own_deadline() -> None:
    with WorkerPool(workers=1) as pool:
        seconds = [0.4, 0.4, 0.4, 1000.0, 0.0]
        outcomes = pool.map(tasks.sleep, seconds, timeout_s=1.0, chunk_size=5)
    # The first three take longer together than one may.
    assert [outcome.status.value for outcome in outcomes] == ["ok", "ok", "ok", "timeout", "ok"]


def test_waiting_for_a_worker_is_no_part_of_the_deadline() -> None:
    with WorkerPool(workers=1) as pool:
        outcomes = pool.map(tasks.sleep, [0.2] * 6, timeout_s=1.0, chunk_size=1)
    assert all(outcome.ok for outcome in outcomes)


def test_map_uses_every_worker(tmp_path: Path) -> None:
    # Each of the two items waits for a file that only the other one writes.
    with WorkerPool(workers=2) as pool:
        pairs = [(str(tmp_path / "a"), str(tmp_path / "b"))]
        pairs.append(pairs[0][::-1])
        outcomes = pool.map(tasks.meet, pairs, timeout_s=LIMIT_S)
    assert all(outcome.ok for outcome in outcomes)


def test_an_error_of_the_caller_in_map_is_raised_once(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "fleeting_module.py").write_text("def f(x): return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import fleeting_module

    (tmp_path / "fleeting_module.py").unlink()
    with pytest.raises(ConfigError, match="cannot be imported in a worker"):
        pool.map(fleeting_module.f, range(10), timeout_s=LIMIT_S)
    assert works(pool)


def test_a_bound_method_travels_once_per_worker() -> None:
    with WorkerPool(workers=1) as pool:
        outcomes = pool.map(tasks.Counter().add, range(5), timeout_s=LIMIT_S)
    assert [outcome.value for outcome in outcomes] == [1, 2, 3, 4, 5]


def test_many_threads_share_a_pool(pool: WorkerPool) -> None:
    wrong: list[object] = []

    def use(start: int) -> None:
        for number in range(start, start + 30):
            if number % 10 == 3:
                outcome: Outcome[Any] = pool.call(tasks.leave, 1, timeout_s=LIMIT_S)
                good = outcome.status is OutcomeStatus.CRASH
            else:
                outcome = pool.call(tasks.double, number, timeout_s=LIMIT_S)
                good = outcome.value == 2 * number
            if not good:
                wrong.append((number, outcome))

    threads = [threading.Thread(target=use, args=(100 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_call_is_not_starved_by_a_map() -> None:
    with WorkerPool(workers=1) as pool:
        order: list[str] = []
        started = threading.Event()

        def many() -> None:
            started.set()
            pool.map(tasks.sleep, [0.02] * 40, timeout_s=LIMIT_S, chunk_size=1)
            order.append("map")

        thread = threading.Thread(target=many)
        thread.start()
        started.wait()
        for _ in range(3):
            assert works(pool)
        order.append("calls")
        thread.join()
    assert order == ["calls", "map"]


def test_acall_leaves_the_event_loop_free(pool: WorkerPool, tmp_path: Path) -> None:
    path = tmp_path / "word"

    async def main() -> Outcome[str]:
        waiting = asyncio.create_task(pool.acall(tasks.wait_for, str(path), timeout_s=LIMIT_S))
        await asyncio.sleep(0.05)
        draft = tmp_path / "draft"
        draft.write_text("hello")
        draft.rename(path)
        return await waiting

    assert asyncio.run(main()).value == "hello"


def test_many_acalls_share_a_pool(pool: WorkerPool) -> None:
    async def main() -> list[Outcome[Any]]:
        return await asyncio.gather(
            *(pool.acall(tasks.poison, i, timeout_s=LIMIT_S) for i in range(20))
        )

    outcomes = asyncio.run(main())
    assert [i for i, outcome in enumerate(outcomes) if not outcome.ok] == [7, 17]


def test_a_cancelled_acall_leaves_the_pool_usable(pool: WorkerPool) -> None:
    async def main() -> Outcome[int]:
        task = asyncio.create_task(pool.acall(tasks.sleep, 1000.0, timeout_s=SHORT_S))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await pool.acall(tasks.double, 4, timeout_s=LIMIT_S)

    assert asyncio.run(main()).value == 8


def test_hostile_calls_leave_nothing_behind(pool: WorkerPool) -> None:
    assert works(pool)
    assert works(pool)
    server = children(os.getpid())
    files = len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    for i in range(100):
        pool.call(tasks.poison, i, timeout_s=LIMIT_S)
        if i % 25 == 0:
            pool.call(tasks.hang_in_c, timeout_s=0.05)
    assert children(os.getpid()) == server
    assert len(os.listdir("/proc/self/fd")) <= files + 2  # the other worker's pair of sockets
    assert threading.active_count() == threads
