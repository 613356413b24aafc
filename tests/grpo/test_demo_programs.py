"""The demo's tasks: the program that each row asks for passes, and nothing shorter does."""

import pytest

from rewardkit import CodeVerifier, PrologVerifier
from tests._needs import needs, needs_program

needs("torch")
needs("transformers")

from rewardkit_grpo.demos import programs


def scores(verifier, texts, rows):
    columns = {name: [row[name] for row in rows] for name in ("begun", "reference")}
    return programs.Program(verifier)(texts, **columns)


def test_every_function_has_a_body_that_passes_and_no_shot_gives_it_away():
    rows = programs.code_rows(0)
    bodies = {head.partition("(")[0]: body for head, body in programs._FUNCTIONS.items()}
    entries = [row["reference"]["entry"] for row in rows]
    assert sorted(entries) == sorted(bodies)
    assert not any(f"def {name}(" in programs._CODE_SHOTS for name in entries)
    with CodeVerifier() as verifier:
        assert scores(verifier, [f" {bodies[name]}" for name in entries], rows) == [1.0] * len(rows)
        assert scores(verifier, [" None"] * len(rows), rows) == [0.0] * len(rows)


def test_a_clause_passes_if_it_works_the_answer_out_and_not_if_it_states_it():
    needs_program("swipl", get="apt-get install swi-prolog-nox")
    rows = programs.prolog_rows(0)
    assert len({row["prompt"] for row in rows}) == len(rows) == 120
    terms = {"has": "+", "had": "-", "fills": "*"}
    chosen = rows[:9]
    worked, stated = [], []
    for row in chosen:
        text = row["reference"]["problem"]
        a, b = (word for word in text.split() if word.rstrip(".").isdigit())
        operator = next(sign for verb, sign in terms.items() if f" {verb} " in text)
        worked.append(f" {a} {operator} {b.rstrip('.')}.")
        stated.append(f" {row['reference']['expect']['value']}.")
    with PrologVerifier(auditable=True) as verifier:
        assert scores(verifier, worked, chosen) == pytest.approx([1.0] * 9)
        assert all(score < 0.5 for score in scores(verifier, stated, chosen))
