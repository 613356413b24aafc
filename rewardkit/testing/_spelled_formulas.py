"""Roots, polynomials, sets, tuples, intervals and matrices in two ways, and others."""

import itertools
from fractions import Fraction
from random import Random

from hypothesis import strategies as st

from rewardkit.testing._spelled import Spelled, spelled
from rewardkit.testing._spelled_numbers import SOME_FRACTIONS, fraction

__all__ = ["expanded", "intervals", "matrices", "polynomials", "radicals", "sets", "tuples"]


@st.composite
def radicals(draw: st.DrawFn) -> Spelled:
    """Returns numbers of the form (c + a√b) / d."""
    random = draw(st.randoms(use_true_random=False))
    b = draw(st.sampled_from([2, 3, 5, 6, 7, 10, 11, 13, 14, 15]))
    c, a, d = (draw(st.integers(low, 12)) for low in (-12, 1, 1))

    def ways(c: int, a: int, d: int) -> list[str]:
        """Returns (c + a√b) / d, written in several ways."""
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
    return spelled(ways(c, a, d), ways(*draw(st.sampled_from(others))), random)


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
def polynomials(draw: st.DrawFn) -> Spelled:
    """Returns polynomials: as factors, expanded, in Horner's form."""
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
    return spelled(ways(factors), ways(other), random)


@st.composite
def sets(draw: st.DrawFn) -> Spelled:
    """Returns finite sets, in any order and with repeats."""
    random = draw(st.randoms(use_true_random=False))
    members = draw(st.lists(SOME_FRACTIONS, min_size=2, max_size=5, unique=True))

    def ways(members: list[Fraction]) -> list[str]:
        texts = [random.choice(fraction(m, random)) for m in members]
        random.shuffle(texts)
        repeated = [*texts, texts[0]]
        return [f"\\{{{', '.join(texts)}\\}}", f"\\left\\{{ {','.join(repeated)} \\right\\}}"]

    others = [members[1:], [*members, Fraction(60)], [members[0] + 70, *members[1:]]]
    return spelled(ways(members), ways(draw(st.sampled_from(others))), random)


@st.composite
def tuples(draw: st.DrawFn) -> Spelled:
    """Returns tuples, whose order counts."""
    random = draw(st.randoms(use_true_random=False))
    members = draw(st.lists(SOME_FRACTIONS, min_size=2, max_size=4, unique=True))

    def ways(members: list[Fraction]) -> list[str]:
        inside = ", ".join(random.choice(fraction(m, random)) for m in members)
        return [
            f"({inside})",
            f"\\left({inside}\\right)",
            f"\\left( {inside.replace(', ', ' ,')} \\right)",
        ]

    others = [members[::-1], [*members[:-1], members[-1] + 1], [*members, members[0]]]
    return spelled(ways(members), ways(draw(st.sampled_from(others))), random)


@st.composite
def intervals(draw: st.DrawFn) -> Spelled:
    """Returns intervals and inequalities."""
    random = draw(st.randoms(use_true_random=False))
    low, high = sorted(draw(st.lists(SOME_FRACTIONS, min_size=2, max_size=2, unique=True)))
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
    return spelled(ways(low, high, closed), ways(*other), random)


@st.composite
def matrices(draw: st.DrawFn) -> Spelled:
    """Returns matrices."""
    random = draw(st.randoms(use_true_random=False))
    rows, columns = draw(st.tuples(st.integers(2, 3), st.integers(2, 3)))
    cells = draw(st.lists(SOME_FRACTIONS, min_size=rows * columns, max_size=rows * columns))

    def ways(cells: list[Fraction]) -> list[str]:
        texts = [random.choice(fraction(c, random)[:4]) for c in cells]
        lines = [" & ".join(texts[i * columns : (i + 1) * columns]) for i in range(rows)]
        body = " \\\\ ".join(lines)
        written = [f"\\begin{{{name}}} {body} \\end{{{name}}}" for name in ("pmatrix", "bmatrix")]
        inner = f"\\begin{{array}}{{{'c' * columns}}}{body}\\end{{array}}"
        return [*written, f"\\left[{inner}\\right]", f"\\left({inner}\\right)"]

    at = draw(st.integers(0, len(cells) - 1))
    other = [c + 1 if i == at else c for i, c in enumerate(cells)]
    return spelled(ways(cells), ways(other), random)
