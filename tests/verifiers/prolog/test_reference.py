"""A reference that cannot be read is the caller's mistake, and the text says which key."""

import pytest

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers.prolog import PrologVerifier
from rewardkit.verifiers.prolog.reference import read_reference

ANSWER: dict[str, Json] = {"type": "answer", "value": 5}


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        ("solve(X)", "query"),
        (None, "query"),
        ({"query": "solve(X)"}, "expect"),
        ({"query": "", "expect": ANSWER}, "query"),
        ({"query": [], "expect": [ANSWER]}, "query"),
        ({"query": 3, "expect": ANSWER}, "query"),
        ({"query": ["a(X)", "b(X)"], "expect": [ANSWER]}, "2 queries"),
        ({"query": "a(X)", "expect": [ANSWER, ANSWER]}, "1 queries"),
        ({"expect": {"type": "number", "value": 5}}, "expect.type"),
        ({"expect": {"type": "answer"}}, "expect.value"),
        ({"expect": {"type": "answer", "value": {"a": 1}}}, "expect.value"),
        ({"expect": {"type": "solutions", "value": "a"}}, "expect.value"),
        ({"expect": {"type": "solutions", "value": [[None]]}}, "solution"),
        ({"expect": {"type": "solutions", "value": [["a"], ["b", "c"]]}}, "lengths"),
        ({"expect": {"type": "solutions", "value": [["a"]], "mode": "sorted"}}, "expect.mode"),
        ({"expect": {"type": "program"}}, "expect.source"),
        ({"expect": {"type": "program", "source": "a(1).", "queries": [3]}}, "query"),
        ({"expect": ANSWER, "vars": "X"}, "vars"),
    ],
)
def test_a_reference_of_another_shape_is_refused(reference: Json, key: str) -> None:
    with pytest.raises(InvalidReferenceError, match=key.replace(".", r"\.")):
        read_reference(reference)


def test_the_query_may_be_written_as_at_the_toplevel() -> None:
    task = read_reference({"query": "?- solve(X).", "expect": ANSWER})
    assert task.queries[0].text == "solve(X)"
    assert read_reference({"expect": ANSWER}).queries[0].text == "solve(X)"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"query": "p(X)", "expect": {"type": "solutions", "value": [["f("]]}}, "terms"),
        ({"query": "p(X)", "expect": {"type": "program", "source": "q(1)."}}, "does not answer"),
        ({"query": "p(X)", "expect": {"type": "program", "source": "p(X) :- p(X)."}}, "limit"),
        (
            {
                "query": "p(X)",
                "expect": {"type": "program", "source": "p(1).", "queries": ["p(7)"]},
            },
            "no answer to",
        ),
        ({"query": "p(X)", "expect": {"type": "program", "source": "p(1"}}, "syntax error"),
        (
            {
                "query": "p(X)",
                "vars": ["X", "Y"],
                "expect": {"type": "solutions", "value": [["a"]]},
            },
            "vars",
        ),
    ],
)
def test_a_reference_that_is_not_right_is_found_before_training(
    verifier: PrologVerifier, reference: Json, said: str
) -> None:
    with pytest.raises(InvalidReferenceError, match=said):
        verifier.check_reference(reference)


def test_weak_references_are_warned_of(verifier: PrologVerifier) -> None:
    one: Json = {"query": "p(X)", "expect": {"type": "solutions", "value": [["a"]]}}
    none: Json = {"query": "p(X)", "expect": {"type": "solutions", "value": []}}
    right: Json = {"query": "p(X)", "expect": {"type": "answer", "value": 5}}
    assert "facts" in verifier.check_reference(one)[0]
    assert "always fails" in verifier.check_reference(none)[0]
    assert verifier.check_reference(right) == []
    open_: Json = {"query": "p(X", "expect": {"type": "answer", "value": 5}}
    assert "p(X cannot be read" in verifier.check_reference(open_)[0]
