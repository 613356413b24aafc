"""Units of measure: what a unit's words mean, as a factor to base units and a dimension."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

__all__ = ["Unit", "changes_value", "is_unit_letter", "is_unit_word", "parse_unit", "singular"]

Dimension = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: `value · factor + offset` in base units of `dimension`. `noun` is a counted thing."""

    factor: Fraction
    dimension: Dimension
    noun: str = ""
    offset: Fraction = Fraction(0)
    pi_power: int = 0
    """Degrees carry a factor pi: the factor is rational times pi to this power."""


_PLAIN = Unit(Fraction(1), ())

_BASE = """
m meter metre; L; 1
in inch inches; L; 0.0254
ft foot feet; L; 0.3048
yd yard; L; 0.9144
mi mile; L; 1609.344
nmi nauticalmile; L; 1852
angstrom; L; 1e-10
lightyear ly; L; 9460730472580800
g gram gramme gm; M; 0.001
t tonne; M; 1000
ton; M; 907.18474
lb pound-mass lbs; M; 0.45359237
oz ounce; M; 0.028349523125
s sec second; T; 1
min minute mins; T; 60
h hr hour hrs; T; 3600
day d; T; 86400
week wk; T; 604800
fortnight; T; 1209600
month mo; months; 1
year yr; months; 12
decade; months; 120
century centuries; months; 1200
L l liter litre; L3; 0.001
gal gallon; L3; 0.003785411784
qt quart; L3; 0.000946352946
pt pint; L3; 0.000473176473
cup; L3; 0.0002365882365
acre; L2; 4046.8564224
ha hectare; L2; 10000
K kelvin kelvins; K; 1
A amp ampere; I; 1
mol mole; N; 1
N newton; M L T-2; 1
J joule; M L2 T-2; 1
cal calorie; M L2 T-2; 4.184
eV electronvolt; M L2 T-2; 1.602176634e-19
W watt; M L2 T-3; 1
Pa pascal; M L-1 T-2; 1
bar; M L-1 T-2; 100000
atm atmosphere; M L-1 T-2; 101325
Hz hertz; T-1; 1
rpm; T-1; 0.0166666666666666666666667
C coulomb; I T; 1
V volt; M L2 T-3 I-1; 1
ohm ohms; M L2 T-3 I-2; 1
F farad; M-1 L-2 T4 I2; 1
H henry henries; M L2 T-2 I-2; 1
T tesla; M T-2 I-1; 1
Wb weber; M L2 T-2 I-1; 1
B byte; B; 8
bit; B; 1
dB decibel; dB; 1
mph; L T-1; 0.44704
kph kmh kmph; L T-1; 0.277777777777777777777778
knot kn; L T-1; 0.514444444444444444444444
rad radian; A; 1
dozen; #; 12
USD dollar buck; USD; 1
cent penny pennies; USD; 0.01
dime; USD; 0.1
quarter-dollar; USD; 0.25
EUR euro; EUR; 1
GBP quid; GBP; 1
pence; GBP; 0.01
JPY yen; JPY; 1
CNY yuan rmb; CNY; 1
INR rupee rs; INR; 1
KRW won; KRW; 1
RUB ruble rouble; RUB; 1
CAD; CAD; 1
AUD; AUD; 1
CHF franc; CHF; 1
peso MXN; MXN; 1
"""
_PREFIXED = ("m", "g", "s", "L", "l", "A", "mol", "N", "J", "cal", "eV", "W", "Pa", "Hz", "C", "V", "F", "T", "B", "bit",
             "meter", "metre", "gram", "liter", "litre", "second", "watt", "joule", "pascal", "hertz", "volt", "byte",
             "newton", "calorie", "ohm", "bar", "ampere", "amp", "mole", "gramme")  # fmt: skip
_SHORT = {
    "T": 12,
    "G": 9,
    "M": 6,
    "k": 3,
    "h": 2,
    "d": -1,
    "c": -2,
    "m": -3,
    "u": -6,
    "n": -9,
    "p": -12,
}
_LONG = {"tera": 12, "giga": 9, "mega": 6, "kilo": 3, "hecto": 2, "deca": 1, "deci": -1, "centi": -2, "milli": -3,
         "micro": -6, "nano": -9, "pico": -12}  # fmt: skip
_SPECIAL = {
    "kWh": Unit(Fraction(3_600_000), (("L", 2), ("M", 1), ("T", -2))),
    "deg": Unit(Fraction(1, 180), (("A", 1),), pi_power=1),
    "arcmin": Unit(Fraction(1, 10_800), (("A", 1),), pi_power=1),
    "arcsec": Unit(Fraction(1, 648_000), (("A", 1),), pi_power=1),
    "rev": Unit(Fraction(2), (("A", 1),), pi_power=1),
    "degC": Unit(Fraction(1), (("K", 1),), offset=Fraction(27315, 100)),
    "degF": Unit(Fraction(5, 9), (("K", 1),), offset=Fraction(45967, 180)),
    "rpm": Unit(Fraction(1, 30), (("A", 1), ("T", -1)), pi_power=1),
    "kph": Unit(Fraction(5, 18), (("L", 1), ("T", -1))),
    "kmh": Unit(Fraction(5, 18), (("L", 1), ("T", -1))),
    "kmph": Unit(Fraction(5, 18), (("L", 1), ("T", -1))),
    "knot": Unit(Fraction(463, 900), (("L", 1), ("T", -1))),
    "unit": Unit(Fraction(1), (("unit", 1),)),
    "degree": Unit(Fraction(1, 180), (("A", 1),), pi_power=1),
    "celsius": Unit(Fraction(1), (("K", 1),), offset=Fraction(27315, 100)),
    "fahrenheit": Unit(Fraction(5, 9), (("K", 1),), offset=Fraction(45967, 180)),
    "revolution": Unit(Fraction(2), (("A", 1),), pi_power=1),
    "penny": Unit(Fraction(1, 100), (("USD", 1),)),
    "pennies": Unit(Fraction(1, 100), (("USD", 1),)),
    "¢": Unit(Fraction(1, 100), (("USD", 1),)),
    "pound": Unit(Fraction(1), (("pound", 1),)),
    "£": Unit(Fraction(1), (("GBP", 1),)),
}


def _dimension(text: str) -> Dimension:
    powers = re.findall(r"([A-Za-z#]+)(-?\d*)", text)
    return tuple(sorted((name, int(power or 1)) for name, power in powers))


def _build() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for line in _BASE.strip().splitlines():
        names, dimension, factor = (part.strip() for part in line.split(";"))
        for name in names.split():
            table[name] = Unit(Fraction(factor), _dimension(dimension))
    for name in _PREFIXED:
        unit = table[name]
        prefixes = _SHORT if len(name) <= 3 and name not in ("bar", "amp") else _LONG
        for prefix, power in prefixes.items():
            table.setdefault(
                prefix + name, Unit(unit.factor * Fraction(10) ** power, unit.dimension)
            )
    table["cc"] = table["ml"]
    table.update(_SPECIAL)
    return table


_TABLE = _build()
_LOWER = {name.lower(): unit for name, unit in reversed(_TABLE.items()) if len(name) > 2}
_SQUARE = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_AFTER = {"squared": 2, "cubed": 3}
_TERM = re.compile(r"([A-Za-z€£¥₹¢$?][A-Za-z-]*)(?:\^\{?(-?\d)\}?)?")


def singular(word: str) -> str:
    """Returns an English noun's singular by its ending.

    Which is enough to compare two counts of it.
    """
    word = word.lower()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


_NOT_NOUNS = frozenset(
    "plus minus divided multiplied squared cubed half halves third thirds quarter quarters fourth fifth lakh "
    "lakhs crore crores hundred thousand million billion trillion dozens not no wrong incorrect false never maybe perhaps "
    "possibly or is isn't isnt was but unless except than least most sure unsure about doubled "
    "tripled twice percent mod modulo factorial point one two three four five six seven eight nine ten eleven twelve zero "
    "inverse reciprocal negative root power gross score tenth tenths hundredth hundredths "
    "thousandth thousandths zillion mille pi".split()
)


def changes_value(phrase: str) -> bool:
    """Returns True if words after a number make it another number, or deny it: `squared`, `is wrong`."""
    words = phrase.lower().replace("-", " ").split()
    if words[-1:] in (["squared"], ["cubed"]) and len(words) > 1:
        words = words[:-1]
    return (
        len(words) > 5
        or "k" in phrase.split()
        or any(word.strip(".,;:!?") in _NOT_NOUNS for word in words)
    )


def _look_up(word: str) -> Unit | None:
    word = {"$": "USD", "€": "EUR", "¥": "JPY", "₹": "INR"}.get(word, word)
    if word in _TABLE:
        return _TABLE[word]
    lower = word.lower()
    if len(lower) > 2 and (lower in _LOWER or singular(lower) in _LOWER):
        return _LOWER.get(lower) or _LOWER[singular(lower)]
    return _TABLE.get(singular(word))


def is_unit_word(word: str) -> bool:
    """Returns True if a bare word after a number names a unit (two letters or more)."""
    return len(word) > 1 and (
        _look_up(word) is not None or word.lower() in _SQUARE or word in ("per", "percent")
    )


def _temperature(found: "re.Match[str]") -> str:
    return "deg" + found[1][0].upper()


def is_unit_letter(letter: str) -> bool:
    """Returns True if an upright letter behind a number names a unit."""
    return letter in "mgshLlNJWVAKFTHt"


@lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit:
    """Returns the unit that a phrase names; an unknown phrase is a counted noun.

    >>> parse_unit("km per hour") == parse_unit("km/h")
    True
    >>> parse_unit("apples").noun
    'apple'
    """
    phrase = re.sub(r"\s+(?:per|an?|each)\s+|\s*/\s*", " / ", f" {text.strip()} ")
    phrase = re.sub(
        r"\bdegrees?\s+(celsius|fahrenheit|C|F)\b", _temperature, phrase, flags=re.IGNORECASE
    )
    factor, powers, pi_power, nouns = Fraction(1), dict[str, int](), 0, list[str]()
    offset = Fraction(0)
    sign, pending = 1, 1
    words = phrase.replace("*", " ").replace("\\cdot", " ").split()
    for word in words:
        if word == "/":
            sign = -1
            continue
        if word.lower() in _SQUARE:
            pending = _SQUARE[word.lower()]
            continue
        if word.lower() in _AFTER and nouns:
            continue
        found = _TERM.fullmatch(word)
        unit = _look_up(found[1]) if found else None
        if found is None or unit is None:
            nouns.append(singular(word.strip("?.,")))
            pending = 1
            continue
        power = sign * int(found[2] or 1) * pending
        pending = 1
        index = words.index(word)
        if index + 1 < len(words) and words[index + 1].lower() in _AFTER:
            power *= _AFTER[words[index + 1].lower()]
        factor *= unit.factor**power
        pi_power += unit.pi_power * power
        offset = unit.offset
        for name, exponent in unit.dimension:
            powers[name] = powers.get(name, 0) + exponent * power
    dimension = tuple(sorted((n, p) for n, p in powers.items() if p))
    kept = [
        n
        for n in nouns
        if n not in ("of", "the", "in", "total", "unit", "long", "squared", "cubed")
    ]
    return Unit(
        factor, dimension, " ".join(kept), offset if len(words) <= 2 else Fraction(0), pi_power
    )
