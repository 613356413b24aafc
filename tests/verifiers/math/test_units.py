"""Units against pint: every unit that both know has one size and one dimension."""

import math
from fractions import Fraction

import pint
import pytest

from rewardkit.verifiers.math._units import is_unit_word, parse_unit

REGISTRY = pint.UnitRegistry()

BASE = {
    "L": "meter",
    "M": "kilogram",
    "T": "second",
    "K": "kelvin",
    "I": "ampere",
    "N": "mole",
    "A": "radian",
    "B": "bit",
}
"""Our base units in pint's words; of money, months and counted things pint knows nothing."""

OTHER_MEANING = {
    "acre": "the international acre, not that of the United States survey",
    "dpi": "a counted thing",
    "B": "a byte, not a bel",
    "dB": "a tenth of a byte, not a decibel",
    "Gal": "a gallon",
    "C": "a coulomb, not a degree",
    "h": "an hour",
    "pt": "a pint, not a typographic point",
    "rev": "a turn",
    "Pt": "a pint",
    "rads": "radians, not doses",
    "rpm": "turns counted as such, not as radians",
    "cups": "measuring cups",
    "kmph": "kilometres per hour, not a thousand miles per hour",
    "centuries": "months, since a year is not a number of seconds in answers",
}

PREFIXES = [
    "",
    *"T G M k h d c m u n p".split(),
    *"tera giga mega kilo hecto deci centi milli micro nano pico".split(),
]
NAMES = sorted(
    """m meter metre in inch inches ft foot feet yd yard mi mile nmi angstrom g gram t tonne ton
    lb oz ounce s sec second min minute h hr hour d day week fortnight L l liter litre gal
    gallon qt quart pt pint cup acre ha hectare K kelvin A amp ampere mol mole N newton J
    joule cal calorie eV electronvolt W watt Pa pascal bar atm atmosphere Hz hertz C coulomb V
    volt ohm F farad H henry T tesla Wb weber byte bit mph kph knot rad radian degree arcmin
    arcsec kWh""".split()
)


def in_pint(name: str) -> pint.Quantity | None:
    try:
        return REGISTRY.Quantity(1, name).to_base_units()
    except (pint.UndefinedUnitError, pint.OffsetUnitCalculusError, AttributeError):
        return None


def expected(unit) -> pint.Quantity | None:
    """Returns our reading in pint's base units, or None for dimensions that pint has not."""
    if any(name not in BASE for name, _ in unit.dimension):
        return None
    size = REGISTRY.Quantity(float(unit.factor) * math.pi**unit.pi_power)
    for name, power in unit.dimension:
        size = size * REGISTRY(BASE[name]) ** power
    return size.to_base_units()


def check(name: str) -> bool:
    theirs, ours = in_pint(name), parse_unit(name)
    folded = name != name.lower() and ours == parse_unit(name.lower())
    if (
        theirs is None or not ours.dimension or ours.offset or folded
    ):  # Min is min at the head of a sentence
        return False
    mine = expected(ours)
    if mine is None:
        return False
    assert mine.dimensionality == theirs.dimensionality, name
    assert math.isclose(mine.magnitude, theirs.magnitude, rel_tol=1e-9), name
    return True


def test_units_have_the_size_that_pint_gives_them():
    known = [name for name in NAMES if name not in OTHER_MEANING and check(name)]
    assert len(known) > 70


def test_prefixed_units_have_the_size_that_pint_gives_them():
    checked = 0
    for name in NAMES:
        for prefix in PREFIXES[1:]:
            word = prefix + name
            if name not in OTHER_MEANING and word not in OTHER_MEANING and word not in NAMES:
                checked += check(word)
    assert checked > 150


def test_every_unit_of_pint_that_we_read_has_its_size():
    names = [n for n in dir(REGISTRY) if n.isascii() and n.isalpha() and len(n) > 1]
    checked = sum(check(name) for name in names if name not in OTHER_MEANING)
    assert checked > 100


@pytest.mark.parametrize(
    ("phrase", "same"),
    [
        ("km/h", "km per hour"),
        ("km/h", "kph"),
        ("m/s", "m s^{-1}"),
        ("m^2", "square meters"),
        ("m^2", "sq m"),
        ("m^3", "cubic meters"),
        ("m^3", "meters cubed"),
        ("cm^2", "centimeters squared"),
        ("miles per hour", "mph"),
        ("meters", "metre"),
        ("Meters", "meter"),
        ("inches", "in"),
        ("feet", "ft"),
        ("hours", "hr"),
        ("mL", "cc"),
        ("kg m/s^2", "N"),
        ("N*m", "J"),
        ("dollars", "USD"),
        ("$", "dollar"),
        ("euros", "€"),
        ("kilometers an hour", "km/h"),
    ],
)
def test_phrases_of_one_unit(phrase, same):
    left, right = parse_unit(phrase), parse_unit(same)
    assert (left.factor, left.dimension, left.noun) == (right.factor, right.dimension, right.noun)


@pytest.mark.parametrize(
    ("phrase", "other"),
    [
        ("m", "m^2"),
        ("kg", "g"),
        ("dollars", "cents"),
        ("dollars", "euros"),
        ("N", "J"),
        ("months", "days"),
        ("apples", "pears"),
    ],
)
def test_phrases_of_other_units(phrase, other):
    left, right = parse_unit(phrase), parse_unit(other)
    assert (left.factor, left.dimension, left.noun) != (right.factor, right.dimension, right.noun)


def test_a_counted_thing_is_a_noun_in_the_singular():
    assert parse_unit("red apples").noun == "red apple"
    assert parse_unit("boxes").noun == parse_unit("box").noun
    assert parse_unit("cities").noun == "city"
    assert parse_unit("units").noun == ""


def test_temperatures_have_an_offset():
    celsius, fahrenheit = parse_unit("degC"), parse_unit("degF")
    for degrees in (Fraction(-40), Fraction(0), Fraction(100)):
        kelvin = degrees * celsius.factor + celsius.offset
        assert kelvin == (degrees * 9 / 5 + 32) * fahrenheit.factor + fahrenheit.offset


def test_words_that_are_no_units_are_not_taken_for_one():
    for word in ("x", "xy", "and", "odd", "sin", "pi"):
        assert not is_unit_word(word)
