"""Answers with their equals: by kind, a value written in two ways, and another value."""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from hypothesis import strategies as st
from num2words import num2words

Draw = Callable[[st.SearchStrategy], object]

MONTHS = (
    "January February March April May June July August September October November December".split()
)


@dataclass(frozen=True, slots=True)
class Spelled:
    """`reference` and `right` are one value, `wrong` is another; each may be the reference."""

    reference: str
    right: str
    wrong: str


def _spelled(ways: list[str], others: list[str], random: Random) -> Spelled:
    """Returns two ways to write a value, and one way to write another."""
    reference, right = random.choice(ways), random.choice(ways)
    return Spelled(reference, right, random.choice(others))


def integer(n: int, random: Random) -> list[str]:
    k = random.randint(2, 9)
    ways = [f"{n}", f"{n}.0", f"{n}.", f"\\frac{{{n * k}}}{{{k}}}", f"({n})"]
    ways += [f"{n * k}/{k}", f"{n:,}", f"{n:,}".replace(",", "{,}"), f"\\text{{{n}}}"]
    ways += [f"\\mathbf{{{n}}}", f"{n:,}".replace(",", "\\,")]
    if n >= 0:
        ways += [f"+{n}", f"\\sqrt{{{n * n}}}", f"{n * 100}\\%", f"\\text{{{num2words(n)}}}"]
        ways.append(f"|{-n}|")
    return ways


@st.composite
def integers(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    n = draw(st.integers(-(10**7), 10**7))
    other = draw(st.sampled_from([n + 1, n - 1, 10 * n + 1, -n or 3, n + 10]))
    return _spelled(integer(n, random), integer(other, random), random)


def fraction(value: Fraction, random: Random) -> list[str]:
    top, bottom, k = value.numerator, value.denominator, random.randint(2, 12)
    sign = "-" if top < 0 else ""
    ways = [f"\\frac{{{top}}}{{{bottom}}}", f"{sign}\\frac{{{abs(top)}}}{{{bottom}}}"]
    ways += [f"\\dfrac{{{top * k}}}{{{bottom * k}}}", f"{top}/{bottom}", f"{top}\\div {bottom}"]
    ways += [
        f"{{{top}\\over {bottom}}}",
        f"\\tfrac{{{top}}}{{{bottom}}}",
    ]
    whole, rest = divmod(abs(top), bottom)
    if whole and rest:
        ways += [f"{sign}{whole}\\frac{{{rest}}}{{{bottom}}}", f"{sign}{whole} {rest}/{bottom}"]
    if abs(top) < 10 and bottom < 10:
        ways.append(f"{sign}\\frac{abs(top)}{bottom}")
    return ways


_FRACTIONS = st.fractions(-50, 50, max_denominator=60).filter(lambda f: f.denominator > 1)


@st.composite
def fractions(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    value = draw(_FRACTIONS)
    other = draw(st.sampled_from([-value, 1 / value if abs(value) != 1 else value + 1, value + 1]))
    return _spelled(fraction(value, random), fraction(other, random), random)


def _decimal_text(value: Fraction) -> str:
    """Returns the digits of a terminating decimal."""
    places = next(p for p in range(20) if (value * 10**p).denominator == 1)
    digits = str(abs(value.numerator * 10**places // value.denominator)).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def decimal(value: Fraction, random: Random) -> list[str]:
    text, zeros = _decimal_text(value), "0" * random.randint(1, 3)
    shift = random.randint(-6, 6)
    moved = _decimal_text(value / Fraction(10) ** shift)
    ways = [text, f"\\frac{{{value.numerator}}}{{{value.denominator}}}"]
    ways += [
        f"{text}{zeros}" if "." in text else f"{text}.{zeros}",
        re.sub(r"^(-?)0\.", r"\1.", text),
    ]
    ways += [f"{moved}\\times 10^{{{shift}}}", f"{moved}e{shift}", f"{moved}E{shift}"]
    ways += [
        f"{moved}\\cdot 10^{{{shift}}}",
        f"{moved}*10^({shift})",
        f"{_decimal_text(100 * value)}\\%",
    ]
    return ways


@st.composite
def decimals(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    value = Fraction(draw(st.integers(-9999, 9999).filter(bool)), 10 ** draw(st.integers(1, 4)))
    other = draw(st.sampled_from([value * 10, value / 10, -value, value * 2]))
    return _spelled(decimal(value, random), decimal(other, random), random)


@st.composite
def repeating(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    whole = draw(st.integers(0, 9))
    start = draw(st.text("0123456789", max_size=3))
    block = draw(st.text("0123456789", min_size=1, max_size=4).filter(lambda b: set(b) != {"9"}))

    def ways(block: str) -> list[str]:
        tail = Fraction(int(block), (10 ** len(block) - 1) * 10 ** len(start))
        value = Fraction(f"{whole}.{start or 0}") + tail
        written = [f"{whole}.{start}\\overline{{{block}}}", f"{whole}.{start}({block})"]
        written.append(f"\\frac{{{value.numerator}}}{{{value.denominator}}}")
        if len(set(block)) == len(block):  # else the block may be read as a shorter one
            written.append(f"{whole}.{start}{block * 4}\\ldots")
        if len(block) == 1:
            written.append(f"{whole}.{start}\\dot{{{block}}}")
        return written

    return _spelled(ways(block), ways(block[:-1] + str((int(block[-1]) + 1) % 9)), random)


@st.composite
def radicals(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    b = draw(st.sampled_from([2, 3, 5, 6, 7, 10, 11, 13, 14, 15]))
    c, a, d = (draw(st.integers(low, 12)) for low in (-12, 1, 1))

    def ways(c: int, a: int, d: int) -> list[str]:
        """(c + a√b) / d"""
        root = f"\\sqrt{{{a * a * b}}}"
        written = [
            f"\\frac{{{c}+{a}\\sqrt{{{b}}}}}{{{d}}}",
            f"\\frac{{{c}}}{{{d}}}+\\frac{{{root}}}{{{d}}}",
        ]
        written += [f"({c}+{a}*sqrt({b}))/{d}", f"\\frac{{{root}{c:+}}}{{{d}}}"]
        written += [
            f"\\frac{{{c}+{a * b}/\\sqrt{{{b}}}}}{{{d}}}",
            f"\\frac1{{{d}}}({c}+{a}\\cdot {b}^{{1/2}})",
        ]
        if c * c != a * a * b:
            written.append(
                f"\\frac{{{c * c - a * a * b}}}{{{d}({c}-{a}\\sqrt{b if b < 10 else f'{{{b}}}'})}}"
            )
        return written

    others = [(c, a + 1, d), (-c or 1, a, d), (c, a, d + 1), (c + 1, a, d)]
    return _spelled(ways(c, a, d), ways(*draw(st.sampled_from(others))), random)


def _term(coefficient: int, power: int, name: str) -> str:
    body = "" if power == 0 else name if power == 1 else f"{name}^{{{power}}}"
    number = str(abs(coefficient)) if abs(coefficient) != 1 or not body else ""
    return f"{'-' if coefficient < 0 else '+'}{number}{body}"


def expanded(coefficients: dict[int, int], random: Random, name: str = "x") -> str:
    terms = [_term(c, p, name) for p, c in coefficients.items() if c]
    random.shuffle(terms)
    return "".join(terms).removeprefix("+") or "0"


def _multiplied(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    product: dict[int, int] = {}
    for (p, a), (q, b) in itertools.product(left.items(), right.items()):
        product[p + q] = product.get(p + q, 0) + a * b
    return product


@st.composite
def polynomials(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    factors = draw(
        st.lists(st.tuples(st.integers(1, 5), st.integers(-9, 9)), min_size=2, max_size=4)
    )

    def ways(factors: list[tuple[int, int]]) -> list[str]:
        product = {0: 1}
        for a, b in factors:
            product = _multiplied(product, {1: a, 0: b})
        shuffled = random.sample(factors, len(factors))
        brackets = "".join(f"({expanded({1: a, 0: b}, random)})" for a, b in shuffled)
        horner = str(product[max(product)])
        for power in range(max(product) - 1, -1, -1):
            horner = f"({horner})x{product[power]:+}"
        return [brackets, expanded(product, random), horner, brackets.replace(")(", ")\\cdot(")]

    a, b = factors[0]
    other = [(a, b + draw(st.sampled_from([-1, 1]))), *factors[1:]]
    return _spelled(ways(factors), ways(other), random)


@st.composite
def sets(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    members = draw(st.lists(_FRACTIONS, min_size=2, max_size=5, unique=True))

    def ways(members: list[Fraction]) -> list[str]:
        texts = [random.choice(fraction(m, random)) for m in members]
        random.shuffle(texts)
        repeated = [*texts, texts[0]]
        return [f"\\{{{', '.join(texts)}\\}}", f"\\left\\{{ {','.join(repeated)} \\right\\}}"]

    others = [members[1:], [*members, Fraction(60)], [members[0] + 70, *members[1:]]]
    return _spelled(ways(members), ways(draw(st.sampled_from(others))), random)


@st.composite
def tuples(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    members = draw(st.lists(_FRACTIONS, min_size=2, max_size=4, unique=True))

    def ways(members: list[Fraction]) -> list[str]:
        inside = ", ".join(random.choice(fraction(m, random)) for m in members)
        return [
            f"({inside})",
            f"\\left({inside}\\right)",
            f"\\left( {inside.replace(', ', ' ,')} \\right)",
        ]

    others = [members[::-1], [*members[:-1], members[-1] + 1], [*members, members[0]]]
    return _spelled(ways(members), ways(draw(st.sampled_from(others))), random)


@st.composite
def intervals(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    low, high = sorted(draw(st.lists(_FRACTIONS, min_size=2, max_size=2, unique=True)))
    closed = draw(st.tuples(st.booleans(), st.booleans()))

    def ways(low: Fraction, high: Fraction, closed: tuple[bool, bool]) -> list[str]:
        a, b = (random.choice(fraction(v, random)[:4]) for v in (low, high))
        left, right = "(["[closed[0]], ")]"[closed[1]]
        below, above = ("<", "\\le ")[closed[0]], ("<", "\\le ")[closed[1]]
        flipped = {"<": ">", "\\le ": "\\ge "}
        written = [f"{a}{below}x{above}{b}", f"x\\in {left}{a}, {b}{right}"]
        written.append(f"{b}{flipped[above]}x{flipped[below]}{a}")
        written.append(f"\\{{x\\in\\mathbb{{R}} : {a}{below}x{above}{b}\\}}")
        # A bare (a, b) is a point to a grader that is given nothing else.
        return written if closed == (False, False) else [*written, f"{left}{a}, {b}{right}"]

    other = draw(
        st.sampled_from(
            [
                (low, high, (not closed[0], closed[1])),
                (low - 1, high, closed),
                (low, high + 1, closed),
            ]
        )
    )
    return _spelled(ways(low, high, closed), ways(*other), random)


@st.composite
def matrices(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    rows, columns = draw(st.tuples(st.integers(2, 3), st.integers(2, 3)))
    cells = draw(st.lists(_FRACTIONS, min_size=rows * columns, max_size=rows * columns))

    def ways(cells: list[Fraction]) -> list[str]:
        texts = [random.choice(fraction(c, random)[:4]) for c in cells]
        lines = [" & ".join(texts[i * columns : (i + 1) * columns]) for i in range(rows)]
        body = " \\\\ ".join(lines)
        written = [f"\\begin{{{name}}} {body} \\end{{{name}}}" for name in ("pmatrix", "bmatrix")]
        inner = f"\\begin{{array}}{{{'c' * columns}}}{body}\\end{{array}}"
        return [*written, f"\\left[{inner}\\right]", f"\\left({inner}\\right)"]

    at = draw(st.integers(0, len(cells) - 1))
    other = [c + 1 if i == at else c for i, c in enumerate(cells)]
    return _spelled(ways(cells), ways(other), random)


_UNITS = {
    "length": {"mm": 1, "cm": 10, "m": 1000, "km": 10**6},
    "mass": {"g": 1, "kg": 1000},
    "time": {"seconds": 1, "minutes": 60, "hours": 3600, "min": 60, "h": 3600, "days": 86400},
    "volume": {"mL": 1, "cL": 10, "L": 1000, "liters": 1000, "cm^3": 1, "m^3": 10**6},
    "area": {"cm^2": 1, "m^2": 10**4, "square meters": 10**4, "km^2": 10**10},
    "money": {"cents": 1, "dollars": 100, "USD": 100},
    "feet": {"inches": 1, "ft": 12, "feet": 12, "yards": 36},
}


@st.composite
def quantities(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    table = _UNITS[draw(st.sampled_from(sorted(_UNITS)))]
    base = Fraction(draw(st.integers(1, 5000)), draw(st.sampled_from([1, 2, 4, 5])))

    def ways(base: Fraction) -> list[str]:
        written = []
        for unit, size in table.items():
            amount = base / size
            text = f"\\frac{{{amount.numerator}}}{{{amount.denominator}}}"
            text = str(amount) if amount.denominator == 1 else text
            written += (
                [f"{text}\\text{{ {unit}}}", f"{text} \\mathrm{{{unit}}}"]
                if unit[:2].isalpha() and len(unit) > 1
                else [f"{text}\\text{{ {unit}}}"]
            )
        return written

    factor = draw(st.sampled_from([Fraction(2), Fraction(10), Fraction(1, 10), Fraction(101, 100)]))
    return _spelled(ways(base), ways(base * factor), random)


@st.composite
def dates(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    day = draw(st.dates())

    def ways(year: int, month: int, day: int) -> list[str]:
        name, year_text = MONTHS[month - 1], f"{year:04d}"
        ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
        written = [
            f"{name} {day}, {year_text}",
            f"{day} {name} {year_text}",
            f"{year_text}-{month:02d}-{day:02d}",
        ]
        written += [f"{name[:3]} {day}, {year_text}", f"{name} {day}{ending}, {year_text}"]
        written += [
            f"the {day}{ending} of {name} {year_text}",
            f"\\text{{{name} {day}, {year_text}}}",
        ]
        return written

    others = [(day.year, day.month % 12 + 1, day.day), (day.year % 9999 + 1, day.month, day.day)]
    others.append((day.year, day.month, day.day % 28 + 1))
    other = draw(st.sampled_from([o for o in others if o != (day.year, day.month, day.day)]))
    return _spelled(ways(day.year, day.month, day.day), ways(*other), random)


@st.composite
def times(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    hour, minute = draw(st.tuples(st.integers(0, 23), st.integers(0, 59)))

    def ways(hour: int, minute: int) -> list[str]:
        half, twelve = ("AM", "PM")[hour >= 12], (hour - 1) % 12 + 1
        written = [f"{twelve}:{minute:02d} {half}", f"{twelve}:{minute:02d} {half.lower()}"]
        written.append(f"{twelve}:{minute:02d}\\text{{ {half[0].lower()}.m.}}")
        return [*written, f"{hour}:{minute:02d}"] if hour > 12 else written

    other = draw(st.sampled_from([((hour + 12) % 24, minute), (hour, (minute + 7) % 60)]))
    return _spelled(ways(hour, minute), ways(*other), random)


@st.composite
def number_words(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    n = draw(st.integers(0, 10**9) | st.integers(0, 200))

    def ways(n: int) -> list[str]:
        words = num2words(n)
        written = [words.replace(" and ", " "), words.replace("-", " "), words.title(), words]
        return [*(f"\\text{{{w}}}" for w in written), f"{n}"]

    return _spelled(ways(n), ways(n + draw(st.sampled_from([1, 10, 100, 1000]))), random)


@st.composite
def complex_numbers(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    a, b = draw(st.tuples(st.integers(-20, 20), st.integers(-20, 20).filter(lambda v: abs(v) > 1)))

    def ways(a: int, b: int) -> list[str]:
        c = random.randint(1, 9)
        scaled = f"\\frac{{{a * c}{b * c:+}i}}{{{c}}}"
        product = f"({b}{-a:+}i)i" if a else f"{b}i"
        return [
            f"{a}{b:+}i",
            f"{b}i{a:+}",
            f"{a}{b:+}\\mathrm{{i}}",
            f"{a}{b:+}\\cdot i",
            scaled,
            product,
        ]

    other = draw(st.sampled_from([(a, -b), (a + 1, b), (b, a + 50)]))
    return _spelled(ways(a, b), ways(*other), random)


@st.composite
def angles(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    degrees = draw(st.integers(1, 719))

    def ways(degrees: int) -> list[str]:
        share = Fraction(degrees, 180)
        return [
            f"{degrees}^\\circ",
            f"{degrees}^{{\\circ}}",
            f"{degrees}\\text{{ degrees}}",
            f"{degrees}°",
            f"\\frac{{{share.numerator}\\pi}}{{{share.denominator}}}\\text{{ radians}}",
        ]

    return _spelled(ways(degrees), ways(degrees + draw(st.sampled_from([1, 90, 360]))), random)


@st.composite
def binomials(draw) -> Spelled:
    random = draw(st.randoms(use_true_random=False))
    n, k = sorted(draw(st.tuples(st.integers(1, 40), st.integers(0, 40))), reverse=True)

    def ways(n: int, k: int) -> list[str]:
        written = [f"\\binom{{{n}}}{{{k}}}", f"{{{n}\\choose {k}}}", str(math.comb(n, k))]
        written.append(f"\\frac{{{n}!}}{{{k}!\\,{n - k}!}}")
        return [*written, f"\\binom{{{n}}}{{{n - k}}}", f"C({n},{k})"]

    return _spelled(ways(n, k), [str(math.comb(n, k) + 1), f"{n + 1}!+{k}"], random)


SPELLINGS: dict[str, st.SearchStrategy[Spelled]] = {
    "integers": integers(),
    "fractions": fractions(),
    "decimals": decimals(),
    "repeating decimals": repeating(),
    "radicals": radicals(),
    "polynomials": polynomials(),
    "sets": sets(),
    "tuples": tuples(),
    "intervals": intervals(),
    "matrices": matrices(),
    "quantities": quantities(),
    "dates": dates(),
    "times": times(),
    "number words": number_words(),
    "complex numbers": complex_numbers(),
    "angles": angles(),
    "binomials": binomials(),
}
