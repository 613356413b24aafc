"""A class with `name` and `verify` gets batches, asyncio and cleanup from the protocol."""

import asyncio
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Reason, Verdict, Verifier, completion_text
from rewardkit.errors import ConfigError, RewardkitError


class EchoVerifier(Verifier):
    """Passes what equals the reference, and shows what it was called with."""

    name = "echo"

    def __init__(self):
        self.closed = 0

    def verify(self, completion, reference, /, **context):
        text = completion_text(completion)
        score = float(text == reference)
        evidence = {**context, "thread": threading.get_ident()}
        reason = Reason.MATCH if score else Reason.MISMATCH
        return Verdict(score, reason, answer=text, evidence=evidence)

    def close(self):
        self.closed += 1


rows = st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3), st.integers()), max_size=20)


@given(rows)
def test_a_batch_keeps_order_and_length_and_each_row_its_own_columns(rows):
    completions = [c for c, _, _ in rows]
    references = [r for _, r, _ in rows]
    ids = [i for _, _, i in rows]
    verdicts = EchoVerifier().verify_batch(completions, references, id=ids)
    assert [v.answer for v in verdicts] == completions
    assert [v.passed for v in verdicts] == [c == r for c, r in zip(completions, references)]
    assert [v.evidence["id"] for v in verdicts] == ids


@given(rows)
def test_a_batch_says_what_single_calls_say(rows):
    verifier = EchoVerifier()
    singles = [verifier.verify(c, r, id=i) for c, r, i in rows]
    columns = [list(column) for column in zip(*rows)] or [[], [], []]
    assert verifier.verify_batch(columns[0], columns[1], id=columns[2]) == singles


@pytest.mark.parametrize(
    ("references", "columns", "message"),
    [
        (["a"], {}, "references has 1 entries for 2 completions"),
        (["a", "b"], {"prompt": ["p"]}, "prompt has 1 entries for 2 completions"),
        (["a", "b"], {"prompt": ["p", "q"], "id": [1, 2, 3]}, "id has 3 entries for 2"),
    ],
)
def test_a_column_of_another_length_is_named(references, columns, message):
    with pytest.raises(ConfigError, match=message):
        EchoVerifier().verify_batch(["a", "b"], references, **columns)


@pytest.mark.parametrize("column", ["ab", b"ab", {"a": 1, "b": 2}, 2, None, iter("ab")])
def test_a_column_that_is_no_list_is_named(column):
    completions = ["a", "b"]
    for name, call in {
        "completions": lambda: EchoVerifier().verify_batch(column, completions),
        "references": lambda: EchoVerifier().verify_batch(completions, column),
        "prompt": lambda: EchoVerifier().verify_batch(completions, completions, prompt=column),
    }.items():
        with pytest.raises(ConfigError, match=f"{name} is a .*: give a list with one entry per"):
            call()


def test_a_column_named_references_does_not_hide_the_references():
    with pytest.raises(ConfigError, match="references has 1 entries for 2"):
        EchoVerifier().verify_batch(["a", "b"], ["a"], references=["a", "b"])


def test_asyncio_gets_the_same_verdict_from_another_thread():
    verdict = asyncio.run(EchoVerifier().averify("4", "4", id=7))
    assert verdict.passed
    assert verdict.evidence["id"] == 7
    assert verdict.evidence["thread"] != threading.get_ident()


def test_a_hundred_awaited_verdicts_come_back_in_order():
    async def grade():
        verifier = EchoVerifier()
        return await asyncio.gather(*(verifier.averify(str(i), str(i % 2)) for i in range(100)))

    assert [v.answer for v in asyncio.run(grade())] == [str(i) for i in range(100)]


def test_a_with_block_gives_the_verifier_and_closes_it():
    verifier = EchoVerifier()
    with verifier as same:
        assert same is verifier
        assert verifier.closed == 0
    assert verifier.closed == 1


def test_a_with_block_closes_after_an_error_too():
    verifier = EchoVerifier()
    with pytest.raises(RuntimeError, match="the caller's own"), verifier:
        raise RuntimeError("the caller's own")
    assert verifier.closed == 1


def test_references_have_no_warnings_unless_a_verifier_gives_some():
    assert EchoVerifier().check_reference("4") == []


def test_a_verifier_pickles_with_its_configuration():
    verifier = pickle.loads(pickle.dumps(EchoVerifier()))
    assert verifier.verify("4", "4").passed


def test_a_class_of_the_same_shape_is_a_verifier_without_subclassing():
    class Duck:
        name = "duck"
        verify = verify_batch = check_reference = averify = close = lambda self: None
        __enter__ = __exit__ = lambda self: None

    assert isinstance(Duck(), Verifier)
    assert not isinstance(object(), Verifier)


def test_every_error_of_ours_is_caught_by_one_name():
    with pytest.raises(RewardkitError):
        EchoVerifier().verify_batch(["a"], [])
