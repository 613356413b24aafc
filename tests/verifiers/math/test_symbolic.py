"""The last tier: an engine that hangs is killed, one that breaks or is missing is an abstention."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from rewardkit import MathVerifier
from rewardkit.verdict import Reason
from tests._needs import needs
from tests.runtime.processes import PATIENCE_S, descendants, environment, is_gone_soon, is_running

needs("sympy")

HANGING = "\\int\\frac{\\sqrt{x^5+3x+1}\\sin(x^3)}{\\ln(x)+x^7}dx"
"""sympy looks for this integral for hours."""


@pytest.fixture
def verifier() -> Iterator[MathVerifier]:
    with MathVerifier(workers=1, timeout_s=60.0) as verifier:
        yield verifier


def boxed(answer: str) -> str:
    return f"The answer is $\\boxed{{{answer}}}$."


def workers() -> set[int]:
    """The running processes below this one."""
    return {pid for pid in descendants(os.getpid()) if is_running(pid)}


def worker_of(started: set[int]) -> int:
    """The one that grades, of the processes that a verifier started: it has no child."""
    return next(pid for pid in started if not descendants(pid))


def assert_decides(verifier: MathVerifier) -> None:
    right = verifier.verify(boxed("\\int x^2\\,dx"), "\\frac{x^3}{3}")
    wrong = verifier.verify(boxed("\\int x^2\\,dx"), "x^2")
    assert (right.score, wrong.score) == (1.0, 0.0), (right, wrong)
    assert right.evidence["tier"] == "symbolic"


def test_what_no_other_tier_decides_is_decided_by_sympy(verifier):
    assert_decides(verifier)


def test_nothing_is_started_for_what_the_other_tiers_decide(verifier):
    before = workers()
    assert verifier.verify(boxed("(x+1)^2"), "x^2+2x+1").passed
    assert workers() == before


def test_the_engine_loads_in_the_background_when_the_tiers_before_it_are_nearly_used_up(verifier):
    before = workers()
    assert verifier.verify(boxed("\\sin 2x"), "2\\sin x\\cos x").evidence["tier"] == "numeric"
    started = workers() - before
    assert len(started) == 1  # Its modules are loaded there; no worker is forked yet.
    assert_decides(verifier)
    assert started < workers() - before


def test_a_reference_with_a_sum_or_an_integral_loads_the_engine(verifier):
    before = workers()
    assert verifier.verify(boxed("\\frac14"), "\\int_0^1 x^3\\,dx").passed
    assert len(workers() - before) == 1


def test_without_the_last_tier_nothing_is_loaded():
    before = workers()
    with MathVerifier(symbolic=False) as verifier:
        assert verifier.verify(boxed("\\sin 2x"), "2\\sin x\\cos x").passed
        assert workers() == before


def test_a_simplification_that_hangs_is_killed_at_the_deadline():
    with MathVerifier(workers=1, timeout_s=10.0) as verifier:
        before = workers()
        verifier.verify(boxed("\\int x^2\\,dx"), "x^2")
        worker = worker_of(workers() - before)
        verdict = verifier.verify(boxed(HANGING), "\\sin x")
        assert (verdict.score, verdict.reason) == (None, Reason.TIMEOUT)
        assert verdict.evidence["tier"] == "symbolic"
        assert is_gone_soon(worker)
    with MathVerifier(workers=1, timeout_s=60.0) as verifier:
        assert_decides(verifier)


def test_the_worker_is_back_for_the_next_call():
    with MathVerifier(workers=1, timeout_s=8.0) as verifier:
        assert verifier.verify(boxed(HANGING), "\\sin x").reason is Reason.TIMEOUT
        verdicts = [verifier.verify(boxed("\\int x^2\\,dx"), "\\frac{x^3}{3}") for _ in range(3)]
        assert verdicts[-1].passed


def test_a_worker_that_is_killed_is_an_abstention_and_is_replaced(verifier):
    before = workers()
    assert_decides(verifier)
    worker = worker_of(workers() - before)
    verdicts = []
    thread = threading.Thread(
        target=lambda: verdicts.append(verifier.verify(boxed(HANGING), "\\sin x"))
    )
    thread.start()
    started = time.monotonic()
    while worker_is_idle(worker):
        assert time.monotonic() < started + PATIENCE_S
        time.sleep(0.02)
    os.kill(worker, signal.SIGKILL)
    thread.join()
    assert (verdicts[0].score, verdicts[0].reason) == (None, Reason.ENGINE_FAILURE)
    assert_decides(verifier)


def worker_is_idle(pid: int) -> bool:
    """True while the process sleeps: it waits for a task."""
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "R"


def test_no_process_is_left_when_the_verifier_is_closed():
    before = workers()
    verifier = MathVerifier(workers=1, timeout_s=60.0)
    assert_decides(verifier)
    started = workers() - before
    assert started
    verifier.close()
    assert all(is_gone_soon(pid) for pid in started)
    assert_decides(verifier)  # it may be used again
    verifier.close()


def test_without_the_tier_an_open_answer_is_an_abstention():
    with MathVerifier(symbolic=False) as verifier:
        verdict = verifier.verify(boxed("\\int x^2\\,dx"), "\\frac{x^3}{3}")
    assert (verdict.score, verdict.reason) == (None, Reason.UNPROVED)


HIDING = """
import importlib.machinery

HIDDEN = {"sympy", "math_verify", "latex2sympy2_extended"}
found = importlib.machinery.PathFinder.find_spec.__func__

def find_spec(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in HIDDEN else found(cls, name, path, target)

importlib.machinery.PathFinder.find_spec = classmethod(find_spec)
"""
"""Put where every interpreter starts: the engine's packages are as if they were not installed."""


def test_a_missing_engine_is_an_abstention_that_says_how_to_get_it(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    script = """
import sys
from rewardkit import MathVerifier
with MathVerifier(workers=1, timeout_s=60.0) as verifier:
    rows = ("\\\\int x^2 dx", "x^2"), ("(x+1)^2", "x^2+2x+1"), ("\\\\sin 1", "\\\\sin 2")
    for answer, reference in rows:
        verdict = verifier.verify(f"\\\\boxed{{{answer}}}", reference)
        print(verdict.score, verdict.reason, "rewardkit[math]" in verdict.detail)
    batch = ["\\\\boxed{\\\\int x^2 dx}", "\\\\boxed{4}"]
    for verdict in verifier.verify_batch(batch, ["x^2", "4"]):
        print(verdict.score, verdict.reason)
assert not {"sympy", "math_verify"} & set(sys.modules)
"""
    path = f"{tmp_path}:{environment()['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": path},
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [
        "None engine_missing True",
        "1.0 match False",
        "0.0 mismatch False",
        "None engine_missing",
        "1.0 match",
    ]
