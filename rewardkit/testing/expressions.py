"""Random expressions: how they are written in LaTeX and in plain text, and their values."""

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from hypothesis import strategies as st

__all__ = ["POINT", "Tree", "fraction_value", "latex", "plain", "rational_trees", "trees"]

POINT = {"x": Fraction(13, 7), "y": Fraction(-5, 3), "t": Fraction(11, 4)}
"""Where expressions with symbols are evaluated."""


@dataclass(frozen=True, slots=True)
class Tree:
    """An operator over parts."""

    kind: str
    """`number`, `constant`, `symbol`, `add`, `pow`, `sqrt`, …"""
    parts: tuple["Tree", ...] = ()
    text: str = ""
    """The text of a leaf, the exponent of a power, the degree of a root."""


_INTEGER = st.integers(0, 99).map(lambda n: Tree("number", text=str(n)))
_DECIMAL = st.tuples(st.integers(0, 99), st.integers(1, 99)).map(
    lambda p: Tree("number", text=f"{p[0]}.{p[1]:02d}")
)
_CONSTANT = st.sampled_from(["pi", "e"]).map(lambda name: Tree("constant", text=name))
_SYMBOL = st.sampled_from(sorted(POINT)).map(lambda name: Tree("symbol", text=name))


def _power(base: Tree, exponent: int) -> Tree:
    return Tree("pow", (base,), str(exponent))


def _positive(body: Tree) -> Tree:
    return Tree("add", (_power(body, 2), Tree("number", text="1")))


def rational_trees(max_leaves: int = 8) -> st.SearchStrategy[Tree]:
    """Returns closed expressions of numbers, + - * / and whole powers."""
    return st.recursive(_INTEGER | _DECIMAL, _arithmetic, max_leaves=max_leaves)


def trees(max_leaves: int = 8, *, symbols: bool = True) -> st.SearchStrategy[Tree]:
    """Returns expressions with roots, functions and constants, defined wherever no 0 divides.

    Args:
        max_leaves: most numbers, constants and symbols in one.
        symbols: True for the symbols of `POINT` among them.
    """
    leaves = _INTEGER | _DECIMAL | _CONSTANT
    return st.recursive(leaves | _SYMBOL if symbols else leaves, _extended, max_leaves=max_leaves)


def _arithmetic(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    pairs = st.tuples(inner, inner)
    return (
        st.tuples(st.sampled_from(["add", "sub", "mul", "div"]), pairs).map(lambda p: Tree(*p))
        | inner.map(lambda a: Tree("neg", (a,)))
        | st.tuples(inner, st.sampled_from([-3, -2, -1, 1, 2, 3, 4])).map(lambda p: _power(*p))
    )


def _extended(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return (
        _arithmetic(inner)
        | st.tuples(st.sampled_from(["sqrt", "ln"]), inner).map(
            lambda p: Tree(p[0], (_positive(p[1]),))
        )
        | st.tuples(st.sampled_from(["sin", "cos", "arctan", "abs"]), inner).map(
            lambda p: Tree(p[0], (p[1],))
        )
        | st.tuples(st.integers(2, 5), inner).map(
            lambda p: Tree("root", (_positive(p[1]),), str(p[0]))
        )
        | st.integers(0, 9).map(lambda n: Tree("factorial", text=str(n)))
    )


def fraction_value(tree: Tree) -> Fraction:
    """Returns the value of a rational tree.

    Raises:
        ZeroDivisionError: it has none.
        ValueError: the tree is not rational.
    """
    parts = [fraction_value(part) for part in tree.parts]
    match tree.kind:
        case "number":
            return Fraction(tree.text)
        case "add":
            return parts[0] + parts[1]
        case "sub":
            return parts[0] - parts[1]
        case "mul":
            return parts[0] * parts[1]
        case "div":
            return parts[0] / parts[1]
        case "neg":
            return -parts[0]
        case "pow":
            exponent = int(tree.text)
            if not parts[0] and exponent <= 0:
                raise ZeroDivisionError
            return parts[0] ** exponent
        case _:
            raise ValueError(f"{tree.kind} is no operation of rational trees")


_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(5)
_LEVELS = {"add": _SUM, "sub": _SUM, "neg": _UNARY, "mul": _PRODUCT, "div": _PRODUCT, "pow": _POWER}


def latex(tree: Tree, random: Random) -> str:
    """Returns one of the ways to write the tree in LaTeX."""
    return _Latex(random).write(tree, _SUM)


def plain(tree: Tree, random: Random) -> str:
    """Returns one of the ways to write the tree in plain text."""
    return _Plain(random).write(tree, _SUM)


class _Writer:
    opening, closing = "(", ")"

    def __init__(self, random: Random) -> None:
        self.random = random

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def level(self, tree: Tree) -> int:
        return _LEVELS.get(tree.kind, _ATOM)

    def write(self, tree: Tree, level: int) -> str:
        """Returns the text; brackets stand where the place binds closer than the operator."""
        text = self.form(tree)
        return self.bracketed(text) if self.level(tree) < level else text

    def bracketed(self, text: str) -> str:
        return f"({text})"

    def form(self, tree: Tree) -> str:
        parts = tree.parts
        match tree.kind:
            case "number" | "symbol":
                return tree.text
            case "add" | "sub":
                sign = " + " if tree.kind == "add" else self.pick(" - ", "-", "−")
                return self.write(parts[0], _SUM) + sign + self.write(parts[1], _PRODUCT)
            case "neg":
                return "-" + self.write(parts[0], _POWER)
            case "mul":
                return self.product(*parts)
            case _:
                return self.other(tree)

    def product(self, left: Tree, right: Tree) -> str:
        # −2·3 is −6 whichever binds first, so a sign may lead but not follow.
        first, second = self.write(left, _PRODUCT), self.write(right, _POWER)
        touching = second[0].isalpha() or second[0] in "(\\"
        mixed = second.startswith(("\\frac", "\\dfrac"))
        if touching and not mixed and self.random.random() < 0.4:
            return f"{first} {second}"
        return first + self.times() + second

    def times(self) -> str:
        raise NotImplementedError

    def other(self, tree: Tree) -> str:
        raise NotImplementedError


class _Latex(_Writer):
    def level(self, tree: Tree) -> int:
        # A fraction is an atom to its neighbours, but not under an exponent.
        return _UNARY if tree.kind == "div" else super().level(tree)

    def write(self, tree: Tree, level: int) -> str:
        if tree.kind == "div" and level < _POWER:
            return self.form(tree)
        return super().write(tree, level)

    def bracketed(self, text: str) -> str:
        return self.pick(f"({text})", f"\\left({text}\\right)", f"\\bigl( {text} \\bigr)")

    def times(self) -> str:
        return self.pick(" \\cdot ", "\\times ", " * ")

    def other(self, tree: Tree) -> str:
        inside = [self.write(part, _SUM) for part in tree.parts]
        match tree.kind:
            case "constant":
                return "\\pi" if tree.text == "pi" else "e"
            case "div":
                return self.pick("\\frac", "\\dfrac") + f"{{{inside[0]}}}{{{inside[1]}}}"
            case "pow":
                return f"{self.write(tree.parts[0], _ATOM)}^{{{tree.text}}}"
            case "sqrt":
                return f"\\sqrt{{{inside[0]}}}"
            case "root":
                return f"\\sqrt[{tree.text}]{{{inside[0]}}}"
            case "factorial":
                return f"{tree.text}!"
            case "abs":
                return f"\\left|{inside[0]}\\right|" if "|" not in inside[0] else f"|({inside[0]})|"
            case kind:
                return f"\\{kind}{self.bracketed(inside[0])}"


class _Plain(_Writer):
    def level(self, tree: Tree) -> int:
        return _POWER if tree.kind == "root" else super().level(tree)

    def times(self) -> str:
        return self.pick("*", " * ", "·", "×")

    def other(self, tree: Tree) -> str:
        inside = [self.write(part, _SUM) for part in tree.parts]
        match tree.kind:
            case "constant":
                return self.pick("pi", "π") if tree.text == "pi" else "e"
            case "div":
                slash = self.pick("/", " / ", "÷")
                top, bottom = self.write(tree.parts[0], _PRODUCT), self.write(tree.parts[1], _POWER)
                return f"{top}{slash}{bottom}"
            case "pow":
                exponent = self.pick(f"({tree.text})", tree.text)
                return f"{self.write(tree.parts[0], _ATOM)}{self.pick('^', '**')}{exponent}"
            case "root":
                return f"({inside[0]})^(1/{tree.text})"
            case "factorial":
                return f"{tree.text}!"
            case kind:
                return f"{kind}({inside[0]})"
