"""A key that no verifier reads is refused, and the message names the known ones."""

import pytest

from rewardkit.errors import InvalidReferenceError
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.catalog import make_verifier
from rewardkit.verifiers.code.countdown import CountdownCodeVerifier
from rewardkit.verifiers.code.reference import read_reference as read_code
from rewardkit.verifiers.dafny.verifier import _statement as read_dafny
from rewardkit.verifiers.lean.source import read_statement as read_lean
from rewardkit.verifiers.prolog.reference import read_reference as read_prolog
from rewardkit.verifiers.rocq.statement import read_statement as read_rocq
from tests._needs import needs

CALL = {"format": "call", "entry": "f", "cases": [{"args": [1], "expected": 1}]}
STDIO = {"format": "stdio", "cases": [{"input": "1", "output": "1"}]}
HUMANEVAL = {"prompt": "def f(x):\n", "entry_point": "f", "test": "assert f(1) == 1"}
MBPP = {"task_id": 7, "text": "t", "code": "c", "test_list": ["assert f(1) == 1"]}
ANSWER = {"expect": {"type": "answer", "value": 4}}


@pytest.mark.parametrize(
    ("read", "reference", "key", "said"),
    [
        (read_code, CALL, "tolerence", r"did you mean tolerance\?"),
        (read_code, CALL, "tests", "there are: format, entry, cases"),
        (read_code, STDIO, "stdin", "there are: format"),
        (read_code, HUMANEVAL, "tests", r"did you mean test\?"),
        (read_code, MBPP, "tests", "test_list, test_setup_code"),
        (read_prolog, ANSWER, "var", r"did you mean vars\?"),
        (read_lean, {"statement": "theorem t : True := by sorry"}, "imports", "statement, header"),
        (read_rocq, {"statement": "Theorem t : True."}, "headers", r"did you mean header\?"),
        (read_dafny, {"statement": "lemma L() ensures true"}, "header", "there are: statement"),
    ],
)
def test_an_unknown_key_is_named_with_the_known_ones(read, reference, key, said):
    read(reference)
    with pytest.raises(InvalidReferenceError, match=f"'{key}'.*{said}"):
        read({**reference, key: 1})


@pytest.mark.parametrize(
    ("read", "reference", "said"),
    [
        (read_code, {**CALL, "cases": [{"input": [1], "expected": 1}]}, r"`cases\[0\]`.*args"),
        (read_code, {**STDIO, "cases": [{"input": "1", "expected": "1"}]}, "input, output"),
        (read_prolog, {"expect": {"type": "answer", "vlaue": 4}}, r"did you mean value\?"),
    ],
)
def test_parts_of_a_reference_are_looked_at_too(read, reference, said):
    with pytest.raises(InvalidReferenceError, match=said):
        read(reference)


def test_choices_and_countdown_too():
    with pytest.raises(InvalidReferenceError, match=r"'choise' \(did you mean choices\?\)"):
        make_verifier("choice").verify("A", {"answer": "A", "choise": ["x", "y"]})
    with pytest.raises(InvalidReferenceError, match="numbers, target"):
        CountdownCodeVerifier().verify("x", {"numbers": [1], "target": 1, "goal": 1})


def test_a_graph_reference_too():
    needs("rdflib")
    with make_verifier("kb") as verifier, pytest.raises(InvalidReferenceError, match="sparql"):
        verifier.verify("x", {"graph": "", "sparql": "ASK {}", "query": "ASK {}"})


def test_a_hostile_key_is_cut():
    with pytest.raises(InvalidReferenceError) as caught:
        check_keys("a reference", {"x" * 10_000: 1}, ("a",))
    assert len(str(caught.value)) < 200
