"""What a program raises, or writes in place of an answer, is its failure and nobody else's."""

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json, Reason
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.code._inside.codec import CodecError, decode, encode


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with CodeVerifier(timeout_s=3, languages=()) as made:
        yield made


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


LOOPS = [
    "for got, want in zip(map(f, [1, 2]), [2, 3]):\n    assert got == want\n",
    "assert all(map(lambda c: f(c[0]) == c[1], [(1, 2), (2, 3)]))\n",
]


@pytest.mark.parametrize("kind", ["StopIteration", "StopAsyncIteration"])
@pytest.mark.parametrize("source", LOOPS)
def test_a_raised_end_of_iteration_does_not_end_the_checks(
    verifier: CodeVerifier, kind: str, source: str
) -> None:
    reference: Json = {"format": "assert", "entry": "f", "source": source}
    assert verifier.verify(fenced(f"def f(x): raise {kind}"), reference).score == 0.0
    assert verifier.verify(fenced("def f(x): return x + 1"), reference).score == 1.0


def test_an_iterator_of_the_program_still_ends(verifier: CodeVerifier) -> None:
    source = "it = iter(f(2))\nassert [next(it), next(it)] == [0, 1]\nassert next(it, 9) == 9\n"
    program = "def f(x):\n    yield from range(x)"
    reference: Json = {"format": "assert", "entry": "f", "source": source}
    assert verifier.verify(fenced(program), reference).score == 1.0


def test_arguments_too_large_to_send_are_the_references_fault(
    verifier: CodeVerifier,
) -> None:
    cases: Json = [{"args": ["x" * 9_000_000], "expected": 1}]
    reference: Json = {"format": "call", "entry": "f", "cases": cases}
    with pytest.raises(InvalidReferenceError, match="make them smaller"):
        verifier.verify(fenced("def f(x): return 1"), reference)


def test_an_array_without_numpy_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: ModuleType | None = None
    monkeypatch.setitem(sys.modules, "numpy", missing)
    with pytest.raises(CodecError, match="numpy is not installed"):
        decode({"n": ["<f8", encode([1])]}, lambda form: form)


def test_an_error_that_is_no_text_is_still_a_crash(verifier: CodeVerifier) -> None:
    frame = '{"x":{"n":' + "[" * 400 + "]" * 400 + ',"s":{}}}'
    program = (
        f"import os, time\ndef f(x):\n    d = {frame!r}.encode()\n"
        "    os.write(4, len(d).to_bytes(4, 'little') + d)\n    time.sleep(9)"
    )
    cases: Json = [{"args": [1], "expected": 1}]
    verdict = verifier.verify(fenced(program), {"format": "call", "entry": "f", "cases": cases})
    assert (verdict.score, verdict.reason) == (0.0, Reason.CRASH)
