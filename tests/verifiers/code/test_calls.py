"""Calls wait in the pipe for one another: same answers, in order, whatever their sizes."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.code import CodeVerifier

LENGTH = "def f(text, n):\n    return [len(text), n]\n"


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with CodeVerifier(timeout_s=5, languages=()) as made:
        yield made


def reference(sizes: list[int]) -> Json:
    cases = [{"args": ["x" * n, i], "expected": [n, i]} for i, n in enumerate(sizes)]
    return {"format": "call", "entry": "f", "cases": list[Json](cases)}


def shares_of(verdict: Verdict) -> list[float]:
    return [v for name, v in verdict.parts.items() if name.startswith("test_")]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=st.lists(st.sampled_from([0, 10, 8_000, 33_000, 70_000, 300_000]), min_size=1))
def test_every_call_is_answered_in_order(verifier: CodeVerifier, sizes: list[int]) -> None:
    verdict = verifier.verify(LENGTH, reference(sizes))
    assert verdict.passed, verdict


def test_a_thousand_small_calls_are_answered_in_order(verifier: CodeVerifier) -> None:
    assert verifier.verify(LENGTH, reference([1] * 1_000)).passed


@pytest.mark.parametrize("size", [1, 40_000])
def test_a_program_that_dies_fails_that_call_alone(verifier: CodeVerifier, size: int) -> None:
    dies = (
        "import os\ndef f(text, n):\n    if n in (1, 3): os._exit(0)\n    return [len(text), n]\n"
    )
    verdict = verifier.verify(dies, reference([size] * 5))
    assert shares_of(verdict) == [1, 0, 1, 0, 1]


def test_a_program_that_hangs_fails_that_call_alone() -> None:
    hangs = (
        "import time\ndef f(text, n):\n    if n == 1: time.sleep(60)\n    return [len(text), n]\n"
    )
    # Under "all" the rest would not run: nothing that it says could change the score.
    with CodeVerifier(timeout_s=0.5, languages=(), policy="fraction") as quick:
        verdict = quick.verify(hangs, reference([1] * 40))
    assert shares_of(verdict) == [1, 0] + [1] * 38
    assert verdict.reason is Reason.PARTIAL


def test_calls_that_wait_do_not_tell_what_is_expected(verifier: CodeVerifier) -> None:
    # All that a program can read ahead are the arguments of later calls.
    peeks = (
        "import os\n"
        "ahead = os.read(3, 1 << 16)\n"
        "def f(text, n):\n    return None\n"
        "assert b'4242' not in ahead\n"
    )
    cases: list[Json] = [{"args": ["x", i], "expected": 4242} for i in range(3)]
    verdict = verifier.verify(peeks, {"format": "call", "entry": "f", "cases": cases})
    assert verdict.score == 0
    assert "AssertionError" not in verdict.detail
