"""Families with an integer parameter against a list of their members."""

from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.math._families import Family, family
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import UnsupportedError
from rewardkit.verifiers.math._parser import parse


def read(text: str) -> Family:
    return family(parse(clean(text), Reading()))[1]


Members = tuple[int, tuple[int, ...]]
"""A period and offsets, in twelfths of the unit."""

MEMBERS = st.tuples(
    st.sampled_from([2, 3, 4, 6, 12, 24]),
    st.lists(st.integers(-24, 24), min_size=1, max_size=3).map(tuple),
)


def listed(members: Members, period: int) -> set[int]:
    step, offsets = members
    return {(offset + k * step) % period for offset in offsets for k in range(period // step)}


def written(members: Members, unit: str) -> str:
    """Returns the family in LaTeX, its numbers in twelfths of `unit`."""
    step, offsets = members
    share = Fraction(step, 12)
    period = f"\\frac{{{share.numerator}{unit}}}{{{share.denominator}}} k"
    parts = [f"x = \\frac{{{offset}{unit}}}{{12}} + {period}" for offset in offsets]
    return " \\text{ or } ".join(parts) + ", k \\in \\mathbb{Z}"


@settings(max_examples=60)
@given(MEMBERS, MEMBERS, st.sampled_from(["\\pi", "", "\\sqrt{2}"]))
def test_families_are_the_same_exactly_when_their_members_are(left, right, unit):
    period = lcm(left[0], right[0])
    expected = listed(left, period) == listed(right, period)
    assert read(written(left, unit)).same_as(read(written(right, unit))) == expected


@settings(max_examples=40)
@given(MEMBERS, st.integers(2, 4), st.sampled_from(["\\pi", ""]))
def test_a_family_split_into_several_is_the_same(members, times, unit):
    step, offsets = members
    split = (step * times, tuple(o + k * step for o in offsets for k in range(times)))
    assert read(written(members, unit)).same_as(read(written(split, unit)))


@settings(max_examples=40)
@given(st.integers(2, 60), st.integers(-200, 200), st.integers(2, 60), st.integers(-200, 200))
def test_congruences_are_the_same_exactly_when_their_residues_are(m, a, n, b):
    left, right = (
        read(f"x \\equiv {a} \\pmod{{{m}}}"),
        read(f"x = {n}k + ({b}), k\\in\\mathbb{{Z}}"),
    )
    assert left.same_as(right) == (m == n and (a - b) % m == 0)


@pytest.mark.parametrize(
    ("text", "name"),
    [("x \\equiv 3 \\pmod 7", "x"), ("\\theta = k\\pi", "theta"), ("7k + 3", "")],
)
def test_the_unknown_is_named(text, name):
    assert family(parse(clean(text), Reading()))[0] == name


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (
            "x = \\pm\\frac{\\pi}{3} + 2k\\pi",
            "x = \\frac{\\pi}{3}+2k\\pi \\text{ or } x=\\frac{5\\pi}{3}+2k\\pi",
        ),
        pytest.param("x \\equiv 1, 4 \\pmod 6", "x \\equiv 1 \\pmod 3"),
        pytest.param("x \\equiv 1 \\text{ or } 4 \\pmod 6", "x \\equiv 1 \\pmod 3"),
        ("x = 60^\\circ + 180^\\circ k", "x = \\frac{\\pi}{3} + n\\pi"),
        ("x = (2k+1)\\pi", "x = \\pi + 2n\\pi"),
        ("x \\equiv -1 \\pmod 5", "x \\equiv 4 \\pmod{5}"),
    ],
)
def test_notations_of_one_family(text, same):
    assert read(text).same_as(read(same))


@pytest.mark.parametrize(
    "text",
    [
        "x = 5",
        "x = k^2, k\\in\\mathbb{Z}",
        "x = a + b",
        "x \\equiv 1 \\pmod 0",
        "x = k\\pi + n, k\\in\\mathbb{Z}",
    ],
)
def test_what_is_no_family_is_refused(text):
    with pytest.raises(UnsupportedError):
        read(text)
