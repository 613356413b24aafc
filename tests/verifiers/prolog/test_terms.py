"""Terms of the engine come out as they are, and the same answers are the same."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.prolog import PrologVerifier
from rewardkit.verifiers.prolog.terms import (
    Atom,
    Compound,
    List,
    Opaque,
    Term,
    Text,
    Variable,
    as_number,
    decode,
    numbers_equal,
    read_number,
    same,
    same_answer,
    show,
)

TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cn", "Co"), exclude_characters="\0"), max_size=12
)
NAMES = st.sampled_from(["f", "g", "+", "point", "größe"])
LEAVES: st.SearchStrategy[Term] = st.one_of(
    st.integers(-(10**40), 10**40),
    st.fractions().filter(lambda number: number.denominator > 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT.filter(lambda name: name != "[]").map(Atom),
    TEXT.map(Text),
)
TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: List(tuple(items))),
        st.tuples(NAMES, st.lists(inner, min_size=1, max_size=3)).map(
            lambda pair: Compound(pair[0], tuple(pair[1]))
        ),
    ),
    max_leaves=8,
)


def spelled(term: Term) -> str:
    """Returns a term as Prolog reads it."""
    match term:
        case Fraction():
            return f"{term.numerator}r{term.denominator}"
        case float():
            text = repr(term)
            return text if "." in text else text.replace("e", ".0e")
        case Atom():
            return "'" + quoted(term.name) + "'"
        case Text():
            return '"' + quoted(term.value) + '"'
        case List():
            return "[" + ",".join(map(spelled, term.items)) + "]"
        case Compound():
            return f"'{term.name}'(" + ",".join(map(spelled, term.arguments)) + ")"
    return str(term)


def quoted(text: str) -> str:
    return "".join(c if c.isalnum() else f"\\x{ord(c):x}\\" for c in text)


@settings(max_examples=30, deadline=None)
@given(term=TERMS)
def test_a_term_comes_out_of_the_engine_as_it_is(verifier: PrologVerifier, term: Term) -> None:
    query = {
        "text": f"X = {spelled(term)}",
        "wanted": 1,
        "max_rows": 2,
        "max_distinct": 3,
    }
    with verifier.engine.talk() as talk:
        events = talk.request(program="", queries=[query])
    rows = [event["v"] for event in events if event["k"] == "row"]
    assert [decode(cell) for row in rows for cell in row] == [term]


@given(term=TERMS)
def test_a_term_is_the_same_as_itself_and_shown_in_one_line(term: Term) -> None:
    assert same(term, term)
    assert len(show(term)) <= 80
    assert "\n" not in show(term)


@pytest.mark.parametrize(
    ("found", "expected", "equal"),
    [
        (12.0, 12, True),
        (12.000000000000002, 12, True),
        (12.001, 12, False),
        (0.1 + 0.2, 0.3, True),
        (1e-17, 0, True),
        (Fraction(70, 3), 70 / 3, True),
        (Fraction(70, 3), Fraction(70, 3), True),
        (Fraction(1, 3), Fraction(333333333, 1000000000), False),
        (2**100, 2**100 + 1, False),
        (float(2**100), 2**100 + 1, False),
        (float(2**100), 2**100, True),
        (float("inf"), 12, False),
        (float("nan"), 12, False),
        (10**400, 1.0, False),
    ],
)
def test_numbers_are_equal_exactly_or_within_the_tolerance_of_floats(
    found: int | float | Fraction, expected: int | float | Fraction, equal: bool
) -> None:
    assert numbers_equal(found, expected) is equal
    assert numbers_equal(expected, found) is equal


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("49", 49),
        (" -7 ", -7),
        ("70r3", Fraction(70, 3)),
        ("70/3", Fraction(70, 3)),
        ("2.5", 2.5),
        ("1e6", 1e6),
        ("1/0", None),
        ("1e999", None),
        ("49 rolls", None),
        ("", None),
    ],
)
def test_a_text_is_read_as_a_number_where_it_spells_one(
    text: str, number: int | float | Fraction | None
) -> None:
    assert read_number(text) == number


def test_a_number_of_thousands_of_digits_is_read_exactly() -> None:
    assert read_number("1" + "0" * 9000) == 10**9000
    assert read_number("1" * 200_000) is None


def test_an_answer_may_spell_its_number_but_a_solution_may_not() -> None:
    assert same_answer(Atom("49"), 49)
    assert same_answer(Text("49"), 49)
    assert not same(Atom("49"), 49)
    assert not same_answer(Compound("+", (40, 9)), 49)
    assert as_number(Variable(0)) is None


def test_what_the_engine_never_writes_is_opaque_and_equal_to_nothing() -> None:
    odd = decode({"z": 1})
    assert isinstance(odd, Opaque)
    assert not same(odd, odd)
    assert isinstance(decode([1]), Opaque)


def test_variables_are_told_apart_by_where_they_recur() -> None:
    one, other = Variable(0), Variable(1)
    assert same(Compound("f", (one, other, one)), Compound("f", (one, other, one)))
    assert not same(Compound("f", (one, one, one)), Compound("f", (one, other, one)))
    assert not same(List((1,), one), List((1,)))
