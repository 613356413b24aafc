"""How answers are cleaned and how their numbers are read."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.math._exact import exact_value
from rewardkit.verifiers.math._lexer import Reading, clean, tokenize
from rewardkit.verifiers.math._limits import MAX_TOKENS, NotMathError, TooLargeError
from rewardkit.verifiers.math._parser import parse


def number(text: str, **reading: bool) -> Fraction | int:
    return exact_value(parse(clean(text), Reading(**reading)))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("$42$", "42"),
        ("$$42$$", "42"),
        ("\\(42\\)", "42"),
        ("\\[ 42 \\]", "42"),
        ("**42**", "42"),
        ("`42`", "42"),
        ("\\boxed{42}", "42"),
        ("$\\boxed{\\boxed{42}}$", "42"),
        ("**$\\fbox{42}$**", "42"),
        ("12{,}500", "12,500"),
        ("3{,}5", "3.5"),
        ("\\\\frac{1}{2}", "\\frac{1}{2}"),
        ("\\color{red}42", "42"),
        ("１２", "12"),
        ("−5", "-5"),
        ("\u200b5\u2060", "5"),
        ("x²", "x^{2}"),
        ("x₁", "x_{1}"),
        ("𝑥", "x"),
        ("\\$5", "\\$5"),
    ],
)
def test_what_surrounds_an_answer_is_taken_off(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("007", 7),
        ("1,234", 1234),
        ("1,234,567.5", Fraction(12345675, 10)),
        ("12,34,567", 1234567),
        ("1 234 567", 1234567),
        ("1\\,234", 1234),
        ("1'234'567", 1234567),
        ("1.234.567", 1234567),
        ("1.234,5", Fraction(12345, 10)),
        (".5", Fraction(1, 2)),
        ("128.", 128),
        ("1e3", 1000),
        ("2.5E-3", Fraction(1, 400)),
        ("1e+5", 100_000),
        ("0.(27)", Fraction(3, 11)),
        ("0.\\overline{142857}", Fraction(1, 7)),
        ("0.1\\left(6\\right)", Fraction(1, 6)),
        ("0.1\\bigl(6\\bigr)", Fraction(1, 6)),
        ("0.8\\dot{3}", Fraction(5, 6)),
        ("0.\\dot{1}4285\\dot{7}", Fraction(1, 7)),
        ("0.8333\\ldots", Fraction(5, 6)),
        ("0.999...", 1),
        ("0.1000100010001000\\ldots", Fraction(1000, 9999)),
        ("101_2", 5),
        ("(101)_{2}", 5),
        ("FF_{16}", 255),
        ("0xff", 255),
        ("0b101", 5),
        ("1011_{\\text{two}}", 11),
        ("345 base 6", 137),
        ("½", Fraction(1, 2)),
        ("2½", Fraction(5, 2)),
        ("3\\frac{1}{2}", Fraction(7, 2)),
        ("3 1/2", Fraction(7, 2)),
        ("-3\\frac{1}{2}", Fraction(-7, 2)),
        ("\\frac12", Fraction(1, 2)),
        ("\\frac1{2}", Fraction(1, 2)),
        ("1\\over 2", None),
        ("{1\\over 2}", Fraction(1, 2)),
        ("12\\%", Fraction(3, 25)),
        ("5!", 120),
        ("7!!", 105),
        ("2^{10}", 1024),
        ("2^10", 1024),
        ("2**10", 1024),
        ("2^-1", Fraction(1, 2)),
        ("-2^2", -4),
        ("2^{3^2}", 512),
        ("10 \\bmod 3", 1),
        ("\\binom{5}{2}", 10),
        ("{5 \\choose 2}", 10),
        ("C(5,2)", 10),
        ("{}_5C_2", 10),
        ("\\lfloor -2.5 \\rfloor", -3),
        ("\\lceil -2.5 \\rceil", -2),
        ("|{-5}|", 5),
        ("\\gcd(12, 18)", 6),
        ("\\sqrt{16}", 4),
        ("6 \\div 4", Fraction(3, 2)),
        ("2(3)(4)", 24),
        ("1.5 \\times 10^{3}", 1500),
        ("3 million", 3_000_000),
    ],
)
def test_number_text_is_read_as_people_write_it(text, value):
    if value is None:
        with pytest.raises(NotMathError):
            number(text)
    else:
        assert number(text) == value


def test_a_comma_is_what_the_reading_says():
    assert number("1,234", grouped=True) == 1234
    assert number("3,5", decimal_comma=True) == Fraction(7, 2)
    assert number("1.234", decimal_comma=True) == 1234
    assert number("1.234,5", decimal_comma=True) == Fraction(12345, 10)
    assert parse("1,234", Reading(grouped=False)) == parse("1, 234", Reading())


@given(st.integers(0, 10**30))
def test_grouped_digits_are_the_number(n):
    for text in (f"{n}", f"{n:,}", f"{n:,}".replace(",", "{,}"), f"{n:,}".replace(",", " ")):
        assert number(text) == n


@given(st.integers(2, 36), st.integers(0, 10**12))
def test_a_numeral_is_read_in_its_base(base, n):
    digits, rest = "", n
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    if base > 16:
        return  # letters beyond F are no digits in answers
    # A numeral that begins with a letter needs two digits, or it is a name with an index.
    if digits.isdigit() or len(digits) > 1:
        assert number(f"{digits}_{{{base}}}") == n
        assert number(f"({digits.lower()})_{{{base}}}") == n


@pytest.mark.parametrize("text", ["\\", "5 § 6", "\\begin 5", "\\text{5"])
def test_what_is_outside_the_alphabet_is_refused(text):
    with pytest.raises(NotMathError):
        tokenize(text, Reading())


@pytest.mark.parametrize(
    "text", ["+" * (MAX_TOKENS + 1), "9" * 20_001, "1e123456", "0." + "(" + "3" * 2001 + ")"]
)
def test_what_is_over_the_limits_is_refused_before_it_is_computed(text):
    with pytest.raises(TooLargeError):
        tokenize(text, Reading())


@given(
    st.integers(0, 99),
    st.text("0123456789", max_size=3),
    st.text("0123456789", min_size=1, max_size=6),
)
def test_a_block_written_four_times_repeats_for_ever(whole, before, block):
    tail = Fraction(int(block), 10 ** len(block) - 1) / 10 ** len(before)
    value = whole + Fraction(int(before or "0"), 10 ** len(before)) + tail
    assert number(f"{whole}.{before}{block * 4}\\ldots") == value
