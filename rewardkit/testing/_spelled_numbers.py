"""Numbers in two ways, and another number."""

import math
import re
from fractions import Fraction
from random import Random

from hypothesis import strategies as st

from rewardkit.testing._number_name import number_name
from rewardkit.testing._spelled import Spelled, spelled

__all__ = [
    "SOME_FRACTIONS",
    "binomials",
    "complex_numbers",
    "decimal",
    "decimals",
    "fraction",
    "fractions",
    "integer",
    "integers",
    "number_words",
    "repeating",
]


def integer(n: int, random: Random) -> list[str]:
    k = random.randint(2, 9)
    ways = [f"{n}", f"{n}.0", f"{n}.", f"\\frac{{{n * k}}}{{{k}}}", f"({n})"]
    ways += [f"{n * k}/{k}", f"{n:,}", f"{n:,}".replace(",", "{,}"), f"\\text{{{n}}}"]
    ways += [f"\\mathbf{{{n}}}", f"{n:,}".replace(",", "\\,")]
    if n >= 0:
        ways += [f"+{n}", f"\\sqrt{{{n * n}}}", f"{n * 100}\\%", f"\\text{{{number_name(n)}}}"]
        ways.append(f"|{-n}|")
    return ways


@st.composite
def integers(draw: st.DrawFn) -> Spelled:
    """Returns whole numbers: with commas, as fractions, roots, percentages, words."""
    random = draw(st.randoms(use_true_random=False))
    n = draw(st.integers(-(10**7), 10**7))
    other = draw(st.sampled_from([n + 1, n - 1, 10 * n + 1, -n or 3, n + 10]))
    return spelled(integer(n, random), integer(other, random), random)


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


SOME_FRACTIONS = st.fractions(-50, 50, max_denominator=60).filter(lambda f: f.denominator > 1)


@st.composite
def fractions(draw: st.DrawFn) -> Spelled:
    """Returns fractions: reduced or not, mixed, with a slash."""
    random = draw(st.randoms(use_true_random=False))
    value = draw(SOME_FRACTIONS)
    other = draw(st.sampled_from([-value, 1 / value if abs(value) != 1 else value + 1, value + 1]))
    return spelled(fraction(value, random), fraction(other, random), random)


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
def decimals(draw: st.DrawFn) -> Spelled:
    """Returns decimals: with zeros, in scientific notation, as fractions and percentages."""
    random = draw(st.randoms(use_true_random=False))
    value = Fraction(draw(st.integers(-9999, 9999).filter(bool)), 10 ** draw(st.integers(1, 4)))
    other = draw(st.sampled_from([value * 10, value / 10, -value, value * 2]))
    return spelled(decimal(value, random), decimal(other, random), random)


@st.composite
def repeating(draw: st.DrawFn) -> Spelled:
    """Returns repeating decimals: with a bar, in brackets, with dots."""
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

    return spelled(ways(block), ways(block[:-1] + str((int(block[-1]) + 1) % 9)), random)


@st.composite
def number_words(draw: st.DrawFn) -> Spelled:
    """Returns whole numbers in English words."""
    random = draw(st.randoms(use_true_random=False))
    n = draw(st.integers(0, 10**9) | st.integers(0, 200))

    def ways(n: int) -> list[str]:
        words = number_name(n)
        written = [words.replace(" and ", " "), words.replace("-", " "), words.title(), words]
        return [*(f"\\text{{{w}}}" for w in written), f"{n}"]

    return spelled(ways(n), ways(n + draw(st.sampled_from([1, 10, 100, 1000]))), random)


@st.composite
def complex_numbers(draw: st.DrawFn) -> Spelled:
    """Returns complex numbers."""
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
    return spelled(ways(a, b), ways(*other), random)


@st.composite
def binomials(draw: st.DrawFn) -> Spelled:
    """Returns binomial coefficients."""
    random = draw(st.randoms(use_true_random=False))
    n, k = sorted(draw(st.tuples(st.integers(1, 40), st.integers(0, 40))), reverse=True)

    def ways(n: int, k: int) -> list[str]:
        written = [f"\\binom{{{n}}}{{{k}}}", f"{{{n}\\choose {k}}}", str(math.comb(n, k))]
        written.append(f"\\frac{{{n}!}}{{{k}!\\,{n - k}!}}")
        return [*written, f"\\binom{{{n}}}{{{n - k}}}", f"C({n},{k})"]

    return spelled(ways(n, k), [str(math.comb(n, k) + 1), f"{n + 1}!+{k}"], random)
