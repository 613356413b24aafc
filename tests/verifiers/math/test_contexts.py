"""The same verdicts wherever a verifier is called, and nothing of the caller is touched."""

import asyncio
import importlib.util
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from rewardkit import MathVerifier
from rewardkit.verifiers.math import MathReference, compile_reference
from tests._needs import missing, needs
from tests.runtime.processes import environment
from tests.verifiers.math import contexts

needs("sympy")


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerifier]:
    with contexts.make_verifier() as verifier:
        yield verifier


@pytest.fixture(scope="module")
def here(verifier: MathVerifier) -> contexts.Graded:
    """The verdicts of the main thread."""
    graded = contexts.grade(verifier)
    assert [score for score, _, _ in graded] == contexts.EXPECTED
    return graded


def test_threads_get_the_same_verdicts(verifier, here):
    assert contexts.grade_in_threads(verifier, 4) == [here] * 4


def test_a_thread_without_an_event_loop_or_signals_gets_the_same_verdicts(here):
    found = []
    thread = threading.Thread(target=lambda: found.append(contexts.grade_with_a_fresh_one()))
    thread.start()
    thread.join()
    assert found == [here]


def test_asyncio_gets_the_same_verdicts(verifier, here):
    assert asyncio.run(contexts.grade_in_asyncio(verifier)) == here


def test_verify_inside_a_running_event_loop_gets_the_same_verdicts(verifier, here):
    async def call() -> contexts.Graded:
        return contexts.grade(verifier)

    assert asyncio.run(call()) == here


def test_a_forked_child_gets_the_same_verdicts(verifier, here):
    assert contexts.grade_in_a_forked_child(verifier) == here
    assert contexts.grade(verifier) == here


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_daemonic_pool_workers_get_the_same_verdicts(method, here):
    assert contexts.grade_in_daemons(method) == [here] * 2


def test_a_pickled_verifier_gives_the_same_verdicts_in_a_spawned_child(verifier, here):
    assert contexts.grade_pickled_in_a_child(verifier) == here


@pytest.mark.slow
def test_ray_actors_get_the_same_verdicts(here, tmp_path):
    if importlib.util.find_spec("ray") is None:  # it is not imported in this process
        missing("ray is not installed here: pip install -e '.[dev]'")
    done = subprocess.run(
        [sys.executable, "-m", "tests.verifiers.math.contexts"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    graded = [[tuple(row) for row in rows] for rows in json.loads(done.stdout)]
    assert graded == [here] * 2


def test_the_callers_alarm_and_signal_handlers_are_untouched(verifier):
    rung = []
    previous = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    handlers = {s: signal.getsignal(s) for s in (signal.SIGALRM, signal.SIGCHLD, signal.SIGTERM)}
    signal.setitimer(signal.ITIMER_REAL, 3600.0)
    try:
        contexts.grade(verifier)
        verifier.verify_batch(*zip(*contexts.ROWS))
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 3000 < left <= 3600
        assert interval == 0
        assert {s: signal.getsignal(s) for s in handlers} == handlers
        assert rung == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_an_alarm_that_rings_meanwhile_reaches_the_caller(verifier):
    rung = []
    previous = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        while not rung:
            assert contexts.grade(verifier)
            time.sleep(0.001)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_a_verifier_survives_pickling_with_its_options(here):
    options = {"decimal_comma": True, "significant_figures": 3, "symbolic": False, "timeout_s": 0.5}
    verifier = MathVerifier(mode="lenient", **options)
    copy = pickle.loads(pickle.dumps(verifier))
    for each in (verifier, copy):
        assert each.verify("Es sind \\boxed{3,5}.", "3.5").passed
        assert each.verify("\\boxed{3,501}", "3.5").passed
        assert not each.verify("\\boxed{3,61}", "3.5").passed
    assert (copy.mode, copy.policy, copy.timeout_s) == (verifier.mode, verifier.policy, 0.5)


@pytest.mark.parametrize("reference", [reference for _, reference in contexts.ROWS])
def test_a_reference_survives_pickling(reference):
    compiled = compile_reference(reference)
    copy = pickle.loads(pickle.dumps(compiled))
    assert isinstance(copy, MathReference)
    assert copy == compiled
    assert compile_reference(reference) is compiled
