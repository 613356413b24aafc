import json

import pytest

from rewardkit.verifiers.lean.messages import classify, read_messages


def line(severity, kind, data):
    """A line as Lean 4.35 writes it."""
    return json.dumps(
        {
            "severity": severity,
            "pos": {"line": 2, "column": 4},
            "kind": kind,
            "keepFullRange": False,
            "isSilent": False,
            "fileName": "Main.lean",
            "endPos": {"line": 2, "column": 9},
            "data": data,
            "caption": "",
        }
    )


@pytest.mark.parametrize(
    ("kind", "text", "outcome"),
    [
        (
            "[anonymous]",
            "Tactic `rfl` failed: The left-hand side\n  n + n\nis not …",
            "wrong_proof",
        ),
        ("Tactic.unsolvedGoals", "unsolved goals\n⊢ 1 + 1 = 3", "unsolved_goals"),
        ("lean.unknownIdentifier._namedError", "Unknown constant `lie`", "unknown_identifier"),
        ("[anonymous]", "unknown tactic", "unknown_identifier"),
        ("[anonymous]", "unknown module prefix 'Mathlib'\n\nNo directory", "unknown_identifier"),
        ("", "unknown identifier 'foo'", "unknown_identifier"),
        ("[anonymous]", "unexpected end of input; expected ']'", "syntax"),
        ("[anonymous]", "(kernel) deep recursion detected", "memory"),
        ("[anonymous]", "(kernel) deterministic timeout", "timeout"),
        ("", "excessive memory consumption detected at 'x'", "memory"),
    ],
)
def test_an_error_has_its_outcome(kind, text, outcome):
    found = classify(read_messages("noise\n" + line("error", kind, text)))
    assert found is not None
    assert found[0] == outcome
    assert (found[1].line, found[1].column, found[1].end_column) == (2, 4, 9)


@pytest.mark.parametrize("quote", ["declaration uses `sorry`", "declaration uses 'sorry'"])
def test_both_spellings_of_the_warning_are_a_hole(quote):
    (message,) = read_messages(line("warning", "", quote))
    assert message.says_sorry
    assert classify([message]) is None


def test_what_is_no_message_is_left_out():
    assert read_messages('{"a": 1}\n{broken\n[]\n{"severity": "error", "pos": 3}') == []
