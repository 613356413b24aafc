"""A key that is a slip for a known one is refused; what a data set carries along is not."""

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
    ("read", "reference", "slip", "meant"),
    [
        (read_code, CALL, "tolerence", "tolerance"),
        (read_code, STDIO, "ignore_exitcode", "ignore_exit_code"),
        (read_code, MBPP, "test_setup", "test_setup_code"),
        (read_prolog, ANSWER, "var", "vars"),
        (read_lean, {"statement": "theorem t : True := by sorry"}, "headers", "header"),
        (read_rocq, {"statement": "Theorem t : True."}, "headers", "header"),
    ],
)
def test_a_slip_is_named_with_what_was_meant(read, reference, slip, meant):
    read(reference)
    with pytest.raises(InvalidReferenceError, match=rf"'{slip}' \(did you mean {meant}\?\)"):
        read({**reference, slip: 1})


@pytest.mark.parametrize(
    ("read", "reference"),
    [
        (read_code, CALL),
        (read_code, STDIO),
        (read_code, HUMANEVAL),
        (read_code, MBPP),
        (read_prolog, ANSWER),
        (read_lean, {"statement": "theorem t : True := by sorry"}),
        (read_rocq, {"statement": "Theorem t : True."}),
        (read_dafny, {"statement": "lemma L() ensures true"}),
    ],
)
def test_what_a_data_set_carries_along_is_left_alone(read, reference):
    read({**reference, "id": 7, "source": "book", "difficulty": 3, "question": "?"} | reference)


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
        CountdownCodeVerifier().verify("x", {"number": [1], "target": 1})


def test_a_graph_reference_too():
    needs("rdflib")
    with make_verifier("kb") as verifier, pytest.raises(InvalidReferenceError, match="sparql"):
        verifier.verify("x", {"graph": "", "sparq": "ASK {}"})


def test_a_hostile_key_is_cut():
    with pytest.raises(InvalidReferenceError) as caught:
        check_keys("a reference", {"x" * 10_000: 1}, ("a",), strict=True)
    assert len(str(caught.value)) < 200
