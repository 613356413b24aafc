"""What was found and what was expected, compared without an engine."""

import random

import pytest

from rewardkit.verifiers.prolog.outcome import Answers, Expected, failure, judge
from rewardkit.verifiers.prolog.terms import Atom, Compound, Term, Variable


def found(*terms: Term, how: str = "exhausted") -> Answers:
    return Answers(tuple((term,) for term in terms), how)


def wanted(*terms: Term, kind: str = "solutions", mode: str = "set") -> Expected:
    return Expected(kind, mode, tuple((term,) for term in terms), 1)


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        (found(49), "ok"),
        (found(49, 49), "ok"),
        (found(49, 50), "wrong"),
        (found(50), "wrong"),
        (found(), "no"),
        (found(Variable(0)), "unbound"),
        (found(49, how="capped"), "unbounded"),
        (found(49, 50, how="distinct"), "wrong"),
        (found(49, how="cpu"), "timeout"),
        (found(49, how="wall"), "timeout"),
        (found(49, how="memory"), "resource"),
        (found(49, how="signaled"), "crash"),
    ],
)
def test_all_answers_have_to_be_the_one(answers: Answers, outcome: str) -> None:
    judged = judge(answers, wanted(49, kind="answer"))
    assert judged.outcome == outcome
    assert judged.passed == (outcome == "ok")


@pytest.mark.parametrize("error", ["limit", "resource", "size", "undefined", "type_error"])
def test_an_error_after_the_right_answer_is_an_error(error: str) -> None:
    answers = Answers(((49,),), "error", error, "text")
    judged = judge(answers, wanted(49, kind="answer"))
    assert not judged.passed
    assert judged.outcome == failure(answers).outcome


@pytest.mark.parametrize(
    ("mode", "rows", "outcome"),
    [
        ("set", (1, 2, 2), "ok"),
        ("bag", (1, 2, 2), "wrong"),
        ("bag", (2, 1), "ok"),
        ("list", (2, 1), "wrong"),
        ("list", (1, 2), "ok"),
        ("first", (1,), "ok"),
        ("first", (2,), "wrong"),
        ("set", (1,), "wrong"),
        ("set", (1, 2, 3), "wrong"),
        ("set", (), "no"),
    ],
)
def test_modes_compare_as_their_names_say(mode: str, rows: tuple[Term, ...], outcome: str) -> None:
    assert judge(found(*rows), wanted(1, 2, mode=mode)).outcome == outcome


def test_the_share_is_the_f1_of_the_solutions() -> None:
    # 2 found of 3 expected, and 1 too many: precision 2/3, recall 2/3.
    judged = judge(found(1, 2, 9), wanted(1, 2, 3))
    assert judged.share == pytest.approx(2 / 3)
    assert judge(found(), wanted()).share == 1.0


def test_the_share_agrees_with_sets_counted_by_hand() -> None:
    rng = random.Random(7)
    for _ in range(200):
        ours = {rng.randrange(12) for _ in range(rng.randrange(1, 9))}
        theirs = {rng.randrange(12) for _ in range(rng.randrange(1, 9))}
        judged = judge(found(*ours), wanted(*theirs))
        assert judged.share == pytest.approx(2 * len(ours & theirs) / (len(ours) + len(theirs)))
        assert judged.passed == (ours == theirs)


def test_a_float_finds_the_integer_that_it_equals() -> None:
    rows = found(Compound("p", (Atom("a"), 3.0)), Compound("p", (Atom("b"), 4)))
    assert judge(
        rows, wanted(*(Compound("p", (Atom(n), v)) for n, v in [("b", 4), ("a", 3)]))
    ).passed


def test_an_endless_relation_is_unbounded_even_where_it_begins_right() -> None:
    assert judge(found(1, 2, how="capped"), wanted(1, 2)).outcome == "unbounded"
    assert judge(found(1, how="capped"), wanted(1, 2, mode="first")).outcome == "ok"
