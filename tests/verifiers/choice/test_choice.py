"""Multiple choice and label sets: exactly one commitment counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import ChoiceVerifier
from rewardkit.errors import ConfigError, InvalidReferenceError

CITIES = {"answer": "B", "choices": {"A": "Oslo", "B": "Riga", "C": "New York", "D": "York"}}
NLI = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("text", "score", "reason"),
    [
        ("B", 1.0, "match"),
        ("(b)", 1.0, "match"),
        ("**B**", 1.0, "match"),
        (r"\boxed{B}", 1.0, "match"),
        (r"so \boxed{\text{B}}.", 1.0, "match"),
        ("The answer is B.", 1.0, "match"),
        ("Answer: (B) Riga", 1.0, "match"),
        ("<answer>riga</answer>", 1.0, "match"),
        ("B. Riga", 1.0, "match"),
        ("It is (B).", 1.0, "match"),
        ("Therefore, B", 1.0, "match"),
        ("I choose Riga.", 1.0, "match"),
        ("(B) is correct.", 1.0, "match"),
        ("(B) is wrong.", 0.0, "ambiguous"),
        ("I would not pick B", 0.0, "no_answer"),
        ("Riga is on the Daugava.\nAnswer: B", 1.0, "match"),
        ("Answer: B) Riga, because it is the capital of Latvia", 1.0, "match"),
        ("<think>A or D?</think>B", 1.0, "match"),
        ("The answer is A. No, wait: the answer is B.", 1.0, "match"),
        ("A", 0.0, "mismatch"),
        ("York", 0.0, "mismatch"),
        ("New York", 0.0, "mismatch"),
        # Letter and text disagree, or there are two letters, or none.
        ("B. Oslo", 0.0, "ambiguous"),
        ("A or B", 0.0, "ambiguous"),
        ("A\nB", 0.0, "ambiguous"),
        ("A, B, C, D", 0.0, "ambiguous"),
        ("The answer is A. The answer is B.", 0.0, "ambiguous"),
        ("The answer is Riga. The answer is Oslo.", 0.0, "ambiguous"),
        (r"\boxed{A} \boxed{B}", 0.0, "ambiguous"),
        ("The answer is not B.", 0.0, "no_answer"),
        ("a city", 0.0, "no_answer"),
        ("It is a big question.", 0.0, "no_answer"),
        ("E", 0.0, "no_answer"),
        ("", 0.0, "no_answer"),
        ("<think>B", 0.0, "truncated"),
    ],
)
def test_choices(text, score, reason):
    verdict = ChoiceVerifier().verify(text, CITIES)
    assert (verdict.score, verdict.reason.value) == (score, reason), verdict


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("entailment", 1.0),
        ("Label: Entailment.", 1.0),
        ("The label is: **entailment**", 1.0),
        ("neutral", 0.0),
        ("not entailment", 0.0),
        ("entailment or neutral", 0.0),
        ("entailment, or perhaps not", 0.0),
    ],
)
def test_labels(text, score):
    assert ChoiceVerifier(labels=NLI).verify(text, "entailment").score == score


def test_options_come_from_the_reference_the_columns_or_the_labels():
    verifier = ChoiceVerifier()
    assert verifier.verify("B", "Riga", choices=["Oslo", "Riga"]).passed
    assert verifier.verify("Oslo", {"answer": "A", "choices": ["Oslo", "Riga"]}).passed
    arc = {"label": ["1", "2"], "text": ["Oslo", "Riga"]}
    assert verifier.verify("2", "2", choices=arc).passed
    rows = verifier.verify_batch(["A", "A"], ["A", "B"], choices=[["x", "y"]] * 2)
    assert [row.score for row in rows] == [1.0, 0.0]


def test_several_right_options_are_a_set():
    reference = {**CITIES, "answer": ["A", "C"]}
    whole, part = ChoiceVerifier(), ChoiceVerifier(partial=True)
    for text in ("A, C", "C and A", "Answer: A; C", r"\boxed{A,C}"):
        assert whole.verify(text, reference).passed, text
    assert whole.verify("A", reference).score == 0.0
    assert part.verify("A", reference).score == pytest.approx(2 / 3)
    assert part.verify("A, B, C", reference).score == pytest.approx(0.8)
    assert part.verify("D", reference).score == 0.0


@pytest.mark.parametrize(
    "reference",
    ["B", None, {"answer": "E", "choices": ["a", "b"]}, {"answer": [], "choices": ["a", "b"]},
     {"answer": "A", "choices": ["only"]}, {"answer": "A", "choices": "text"}],
    ids=str,
)  # fmt: skip
def test_references_that_cannot_be_used_are_refused(reference):
    with pytest.raises(InvalidReferenceError):
        ChoiceVerifier().verify("B", reference)


def test_references_are_checked():
    assert ChoiceVerifier().check_reference(CITIES) == []
    assert "column" in ChoiceVerifier().check_reference("B")[0]
    same = {"answer": "A", "choices": ["Oslo", "oslo.", "Riga"]}
    assert "same" in ChoiceVerifier().check_reference(same)[0]
    for labels in (("one",), ("a", "A"), "text"):
        with pytest.raises(ConfigError):
            ChoiceVerifier(labels=labels)


@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(text):
    assert ChoiceVerifier().verify(text, CITIES).score in (0.0, 1.0)


@given(st.permutations(list("ABCD")))
def test_a_list_of_all_options_is_never_right(letters):
    assert ChoiceVerifier().verify(" ".join(letters), CITIES).score == 0.0


@pytest.mark.parametrize("letter", "ABCD")
def test_a_command_of_one_letter_is_no_letter(letter):
    verifier = ChoiceVerifier(labels=("A", "B", "C", "D"))
    for pattern in (
        rf"\boxed{{\{letter.lower()}+}}",
        rf"\{letter.lower()}",
        rf"\boxed{{\{letter}}}",
    ):
        assert verifier.verify(pattern, letter).score == 0
    assert verifier.verify(rf"\boxed{{\text{{{letter}}}}}", letter).score == 1
