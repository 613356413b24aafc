"""Remote engines give the verdicts that the local sandbox gives, and see no expected value."""

from collections.abc import Iterator

import pytest

from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json, Reason
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.code.remote import Piston, SandboxFusion
from tests.verifiers.code.engine_server import Engine, running_engine

CALL: Json = {
    "format": "call",
    "entry": "f",
    "cases": [{"args": [2], "expected": 774411}, {"args": [3], "expected": 774412}],
}
STDIO: Json = {"format": "stdio", "cases": [{"input": "ü\n", "output": "ü774411\n"}]}
ASSERT: Json = {"format": "assert", "entry": "f", "source": "assert f(2) == 774411"}


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


@pytest.fixture(scope="module")
def engine() -> Iterator[tuple[Engine, str]]:
    with running_engine() as running:
        yield running


@pytest.fixture(params=[SandboxFusion, Piston], ids=["sandbox-fusion", "piston"])
def verifier(request: pytest.FixtureRequest, engine: tuple[Engine, str]) -> Iterator[CodeVerifier]:
    with CodeVerifier(backend=request.param(engine[1]), timeout_s=2) as made:
        yield made


RIGHT = "import random\nprint('noise')\ndef f(x): return 774409 + x"
PROGRAMS = [
    (RIGHT, CALL, True, Reason.MATCH),
    (RIGHT, ASSERT, True, Reason.MATCH),
    ("class Solution:\n    def f(self, x): return 774409 + x", CALL, True, Reason.MATCH),
    ("def f(x): return '774411'", CALL, False, Reason.MISMATCH),
    (
        "class A(int):\n    def __eq__(s, o): return True\ndef f(x): return A(1)",
        CALL,
        False,
        Reason.MISMATCH,
    ),
    ("import os\ndef f(x): os._exit(0)", CALL, False, Reason.CRASH),
    ("def f(x): return 1 / 0", CALL, False, Reason.CRASH),
    ("def f(x:", CALL, False, Reason.CRASH),
    ("import time\ndef f(x): time.sleep(60)", CALL, False, Reason.TIMEOUT),
    ("print(input() + '774411')", STDIO, True, Reason.MATCH),
    ("print('no')", STDIO, False, Reason.MISMATCH),
    ("print(input() + '774411')\n1 / 0", STDIO, False, Reason.CRASH),
]


@pytest.mark.parametrize(("program", "reference", "passes", "reason"), PROGRAMS)
def test_verdicts(
    verifier: CodeVerifier, program: str, reference: Json, passes: bool, reason: Reason
) -> None:
    verdict = verifier.verify(fenced(program), reference)
    assert (verdict.passed, verdict.reason) == (passes, reason), verdict
    assert verdict.evidence["isolation"] == getattr(verifier.backend, "name", "")


def test_no_expected_value_leaves(verifier: CodeVerifier, engine: tuple[Engine, str]) -> None:
    engine[0].received.clear()
    for reference in (CALL, STDIO, ASSERT):
        verifier.verify(fenced("def f(x): return x"), reference)
    assert len(engine[0].received) == 4
    assert not [body for body in engine[0].received if b"77441" in body]


def test_trouble_is_repeated_and_then_an_abstention(
    verifier: CodeVerifier, engine: tuple[Engine, str]
) -> None:
    engine[0].broken = 2
    assert verifier.verify(fenced("print(input() + '774411')"), STDIO).passed
    engine[0].broken = 3
    verdict = verifier.verify(fenced("print(input() + '774411')"), STDIO)
    assert (verdict.score, verdict.reason) == (None, Reason.ENGINE_FAILURE)


def test_an_engine_that_is_not_there_is_an_abstention() -> None:
    with CodeVerifier(backend=Piston("http://127.0.0.1:9", attempts=1)) as verifier:
        assert verifier.verify(fenced("x"), STDIO).abstained


def test_checks_that_are_code_stay_at_home(verifier: CodeVerifier) -> None:
    reference: Json = {"format": "assert", "entry": "f", "source": "x = f(1)\nassert x"}
    with pytest.raises(InvalidReferenceError, match="local sandbox"):
        verifier.verify(fenced("def f(x): return 1"), reference)


def test_a_bad_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="url"):
        Piston("localhost")
