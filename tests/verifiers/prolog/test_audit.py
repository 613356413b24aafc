"""How auditable a program is, worked out by hand; what the engine shows is in the cases."""

from fractions import Fraction

import pytest

from rewardkit.verifiers.prolog import PrologVerifier
from rewardkit.verifiers.prolog.audit import Literal, Report, problem_numbers, score
from rewardkit.verifiers.prolog.terms import Atom, Term, Text

PROBLEM = "6 trays of 24 rolls, 95 sold."
RIGHT = "solve(X) :- trays(T), rolls(R), X is T*R-95. trays(6). rolls(24)."


def report(*rows: tuple[Term, bool, bool]) -> Report:
    literals = tuple(Literal(i, i + 1, value) for i, (value, _, _) in enumerate(rows))
    return Report(literals, tuple(m for _, m, _ in rows), tuple(p for _, _, p in rows))


@pytest.mark.parametrize(
    ("rows", "problem", "value"),
    [
        # all matter, and all of the problem's numbers are among them
        ([(6, True, False), (24, True, False), (95, True, False)], PROBLEM, 1.0),
        # two of four literals matter, two of the problem's three numbers: 1/2 + (2/3)/2
        (
            [(6, True, False), (24, True, False), (95, False, False), (1, False, False)],
            PROBLEM,
            5 / 6,
        ),
        # the answer repeated, one of three numbers matters: 2/5 of 1/3
        ([(49, True, True), (6, True, False)], PROBLEM, 2 / 15),
        ([(49, True, True)], PROBLEM, 0.0),
        # none of the problem's numbers
        ([(2, True, False), (98, True, False)], PROBLEM, 0.0),
        # nothing moves the answer
        ([(6, False, False), (24, False, False)], PROBLEM, 0.0),
        # the problem is not known
        ([(49, True, True)], "", 0.0),
        ([(49, True, True), (0, True, False)], "", 0.0),
        ([(6, True, False), (24, True, False), (9, False, False)], "", 0.5 + 1 / 3),
        # the answer is one of the problem's own numbers, and it is chosen
        ([(6, True, False), (24, True, True), (95, True, False)], PROBLEM, 1.0),
    ],
)
def test_the_value_is_what_the_definition_says(
    rows: list[tuple[Term, bool, bool]], problem: str, value: float
) -> None:
    audit = score(report(*rows), "solve(X) :- X = 49.", problem)
    assert audit.value == pytest.approx(value)
    assert (audit.value < 0.5) == audit.evidence["hardcoded"]


def test_a_literal_that_is_searched_for_is_not_repeated() -> None:
    rows = report((3, True, True))
    assert score(rows, "solve(X) :- {X >= 3}, minimize(X).", "").value == 1.0
    assert score(rows, "solve(X) :- {X = 3}.", "").value == 0.0


@pytest.mark.parametrize(
    ("problem", "digits", "words"),
    [
        ("Six trays of 24 rolls, 1,095 sold.", [24, 1095], [6]),
        ("A coat of 49.90 euro is 25% cheaper.", [49.9, 25], []),
        ("Twice a dozen.", [], [2, 12]),
        ("Nobody knows.", [], []),
    ],
)
def test_the_numbers_of_a_problem_are_read(
    problem: str, digits: list[float], words: list[float]
) -> None:
    assert problem_numbers(problem) == (digits, words)


@pytest.mark.parametrize(
    ("value", "first", "second"),
    [
        (6, ("7", 7), ("15", 15)),
        (-3, (" -2", -2), (" -3", -3)),
        (0.5, ("1.5", 1.5), ("4.0", 4.0)),
        (1e22, ("1.0e+22", 1e22), ("2.0e+22", 2e22)),
        (Fraction(1, 3), ("4r3", Fraction(4, 3)), ("11r3", Fraction(11, 3))),
        (Text("49 rolls"), ('"50 rolls"', Text("50 rolls")), ('"101 rolls"', Text("101 rolls"))),
        (Atom("a'9"), ("'a\\'10'", Atom("a'10")), ("'a\\'21'", Atom("a'21"))),
    ],
)
def test_a_literal_is_changed_in_text_and_value(
    value: Term, first: tuple[str, Term], second: tuple[str, Term]
) -> None:
    literal = Literal(0, 1, value)
    assert literal.changed(0) == first
    assert literal.changed(1) == second


def test_auditability_multiplies_the_score(verifier: PrologVerifier) -> None:
    with PrologVerifier(auditable=True, timeout_s=2) as strict:
        reference = {"expect": {"type": "answer", "value": 49}, "problem": PROBLEM}
        right = strict.verify(RIGHT, reference)
        written = strict.verify("solve(49).", reference)
        wrong = strict.verify("solve(X) :- X is 6*24.", reference)
    assert (right.score, right.reason) == (1.0, "match")
    assert (written.score, written.reason) == (0.0, "cheated")
    assert (wrong.score, wrong.reason) == (0.0, "mismatch")
    assert verifier.verify("solve(49).", reference).score == 1.0


def test_a_program_without_numbers_is_not_audited(verifier: PrologVerifier) -> None:
    program = "p(a). p(b).\nsolve(N) :- findall(X, p(X), L), length(L, N)."
    verdict = verifier.verify(program, {"expect": {"type": "answer", "value": 2}})
    assert verdict.passed
    assert "auditability" not in verdict.parts


def test_the_problem_may_come_with_the_row(verifier: PrologVerifier) -> None:
    reference = {"expect": {"type": "answer", "value": 24}}
    program = "solve(24)."
    verdict = verifier.verify(program, reference, problem="24 rolls on each of 6 trays, 1 eaten.")
    audit = verdict.evidence["audit"]
    assert isinstance(audit, dict)
    assert audit["problem_numbers"] == 3
    batch = verifier.verify_batch([program] * 2, [reference] * 2, question=["24 rolls", "6 and 95"])
    shares = [v.evidence["audit"]["problem_share"] for v in batch]  # type: ignore[index, call-overload]
    assert shares == [1.0, 0.0]
