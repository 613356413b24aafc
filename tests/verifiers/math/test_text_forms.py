"""Answers in words: options, times, dates, number words, labelled parts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from rewardkit.testing._spelled_quantities import MONTHS
from rewardkit.testing.soup import any_texts
from rewardkit.verifiers.math._text_forms import (
    Date,
    means_empty,
    normal_text,
    plain_text,
    read_clock,
    read_date,
    read_number_words,
    read_options,
    split_labels,
    strip_lead_in,
)


@given(st.integers(-(10**12) + 1, 10**12 - 1) | st.integers(-2000, 2000))
def test_number_words_are_read_as_another_library_writes_them(n):
    words = num2words(n)
    for text in (
        words,
        words.upper(),
        words.replace(",", ""),
        words.replace(" and ", " ").replace("-", " "),
    ):
        assert read_number_words(text) == n


@given(st.integers(0, 999), st.text("0123456789", min_size=1, max_size=6))
def test_digits_after_the_point_are_read_one_by_one(whole, digits):
    text = f"{num2words(whole)} point {' '.join(num2words(int(d)) for d in digits)}"
    assert read_number_words(text) == Fraction(f"{whole}.{digits}")


PARTS = {
    2: "half",
    3: "third",
    4: "quarter",
    5: "fifth",
    6: "sixth",
    7: "seventh",
    8: "eighth",
    9: "ninth",
    10: "tenth",
}


@given(st.integers(0, 99), st.integers(1, 19), st.sampled_from(sorted(PARTS)))
def test_fractions_in_words(whole, top, bottom):
    noun = {2: "halves"}.get(bottom, PARTS[bottom] + "s") if top > 1 else PARTS[bottom]
    part = f"{num2words(top)} {noun}"
    assert read_number_words(part) == Fraction(top, bottom)
    assert read_number_words(f"minus {part}") == -Fraction(top, bottom)
    assert read_number_words(f"{num2words(whole)} and {part}") == whole + Fraction(top, bottom)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one of many",
        "apple",
        "hundred and",
        "five six",
        "twenty thirty",
        "point",
        "minus",
        "one two",
        "half apple",
    ],
)
def test_words_that_spell_no_number(text):
    assert read_number_words(text) is None


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("B", ("B",)),
        ("(B)", ("B",)),
        ("b", ("B",)),
        ("B.", ("B",)),
        ("(D) 36", ("D",)),
        ("E: the slope", ("E",)),
        ("Option C", ("C",)),
        ("choice (c)", ("C",)),
        ("The answer is B", ("B",)),
        ("A and C", ("A", "C")),
        ("A, B, D", ("A", "B", "D")),
        ("ABD", ("A", "B", "D")),
        ("A or B", ("A", "B")),
        ("(A) and (C)", ("A", "C")),
        ("42", None),
        ("An apple", None),
        ("(B) is wrong", None),
        ("(B) is not continuous", ("B",)),
        ("B (but A is possible)", ("B", "?")),
        ("Bob", None),
        ("none", None),
        ("Answer not determined", None),
    ],
)
def test_option_letters(text, letters):
    assert read_options(text) == letters


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_time_is_one_time_on_both_clocks(hour, minute):
    half, twelve = ("am", "pm")[hour >= 12], (hour - 1) % 12 + 1
    spoken = read_clock(f"{twelve}:{minute:02d} {half}")
    assert spoken is not None
    assert spoken.same_as(read_clock(f"{twelve}:{minute:02d} {half[0].upper()}.M."))
    other_half = {"am": "pm", "pm": "am"}[half]
    assert not spoken.same_as(read_clock(f"{twelve}:{minute:02d} {other_half}"))
    if hour > 12 or hour == 0:
        assert spoken.same_as(read_clock(f"{hour}:{minute:02d}"))


def test_noon_and_midnight_are_times():
    assert read_clock("noon").same_as(read_clock("12:00 PM"))
    assert read_clock("midnight").same_as(read_clock("12:00 am"))
    assert not read_clock("noon").same_as(read_clock("midnight"))


@pytest.mark.parametrize("text", ["7", "25:00", "3:75", "3.45", "3:4", "time", "3:45:99"])
def test_what_is_no_time(text):
    assert read_clock(text) is None


@given(st.dates())
def test_a_date_is_one_date_in_all_its_forms(day):
    name, expected = MONTHS[day.month - 1], Date(day.year, day.month, day.day)
    year = f"{day.year:04d}"
    for text in (
        f"{name} {day.day}, {year}",
        f"{day.day} {name} {year}",
        f"{name[:3]}. {day.day} {year}",
        f"{day.strftime('%A')}, {name} {day.day}, {year}",
        f"the {day.day}th of {name}, {year}",
        f"{year}-{day.month:02d}-{day.day:02d}",
        f"{day.month}/{day.day}/{year}",
        f"{day.day}.{day.month}.{year}",
    ):
        found = read_date(text)
        assert found is not None, text
        assert found.same_as(expected), text
    assert read_date(f"{name} {day.day}") == Date(None, day.month, day.day)
    assert read_date(f"{name} {year}") == Date(day.year, day.month, None)


def test_a_weekday_counts_where_both_dates_have_one():
    tuesday, bracketed, bare = map(read_date, ("Tuesday, March 5", "March 5 (Tuesday)", "March 5"))
    assert tuesday.same_as(bracketed)
    assert tuesday.same_as(bare)
    assert bare.same_as(tuesday)
    assert not tuesday.same_as(read_date("Monday, March 5"))


@pytest.mark.parametrize(
    "text", ["March", "May I", "2021", "13/45/2021", "2021-13-01", "March 32, 2021", "1/2"]
)
def test_what_is_no_date(text):
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("(a) 5, (b) 7", [("a", "5"), ("b", "7")]),
        ("(b) 7; (a) 5", [("a", "5"), ("b", "7")]),
        ("a) 5 and b) 7", [("a", "5"), ("b", "7")]),
        ("(i) 5 (ii) 7", [("i", "5"), ("ii", "7")]),
        ("Part 1: 4; Part 2: 9", [("1", "4"), ("2", "9")]),
        ("a) 5 \\\\ b) 7", [("a", "5"), ("b", "7")]),
        ("max = 5, min = 2", [("maximum", "5"), ("minimum", "2")]),
        ("\\text{(a) } 5, \\text{ (b) } 7", [("a", "5"), ("b", "7")]),
        ("(a) 5", None),
        ("(a) 5, (a) 7", None),
        ("5, 7", None),
        ("so (a) 5, (b) 7", None),
    ],
)
def test_labelled_parts(text, pairs):
    assert split_labels(text) == pairs


@pytest.mark.parametrize(
    "text",
    [
        "no solution",
        "The equation has no solution",
        "No real solutions",
        "none",
        "the empty set",
        "DNE",
        "There is no such number",
    ],
)
def test_words_for_nothing(text):
    assert means_empty(text)


@pytest.mark.parametrize("text", ["no", "one solution", "all real numbers", "5", "nonempty"])
def test_words_for_something(text):
    assert not means_empty(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The Red Apple.", "red apple"),
        ("on a Wednesday", "wednesday"),
        ("well-known", "well known"),
        ("a  b", "b"),
        ("The series is divergent", "diverges"),
        ("There are infinitely many solutions", "infinitely many"),
    ],
)
def test_text_answers_are_compared_without_case_articles_and_hyphens(text, same):
    assert normal_text(text) == normal_text(same)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("The answer is 5", "5"),
        ("Final answer: $5$", "$5$"),
        ("\\text{The answer is } 5", "5"),
        ("so x is 5", "so x is 5"),
    ],
)
def test_a_lead_in_is_taken_off(text, rest):
    assert strip_lead_in(text).strip() == rest


@given(any_texts())
def test_any_text_is_read_or_is_none(text):
    plain = plain_text(text)
    for read in (
        read_options,
        read_clock,
        read_date,
        read_number_words,
        means_empty,
        normal_text,
        split_labels,
    ):
        read(plain)
    assert normal_text(normal_text(plain)) == normal_text(plain) or " " in plain
