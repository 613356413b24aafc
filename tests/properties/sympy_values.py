"""What a random expression is worth, by sympy."""

import sympy

from rewardkit.testing.expressions import POINT, Tree


def _nonzero(value: sympy.Expr) -> sympy.Expr:
    """Returns the value, or not-a-number for 0: sympy's 1/(1/0) is 0."""
    return sympy.nan if value == 0 else value


def sympy_value(tree: Tree) -> sympy.Expr:
    """Returns the value as an exact sympy expression, symbols at `POINT`."""
    parts = [sympy_value(part) for part in tree.parts]
    match tree.kind:
        case "number":
            return sympy.Rational(tree.text)
        case "constant":
            return sympy.pi if tree.text == "pi" else sympy.E
        case "symbol":
            return sympy.Rational(POINT[tree.text].numerator, POINT[tree.text].denominator)
        case "add":
            return parts[0] + parts[1]
        case "sub":
            return parts[0] - parts[1]
        case "mul":
            return parts[0] * parts[1]
        case "div":
            return parts[0] / _nonzero(parts[1])
        case "neg":
            return -parts[0]
        case "pow":
            exponent = int(tree.text)
            return (_nonzero(parts[0]) if exponent < 0 else parts[0]) ** exponent
        case "root":
            return sympy.root(parts[0], int(tree.text))
        case "factorial":
            return sympy.factorial(int(tree.text))
        case "arctan":
            return sympy.atan(parts[0])
        case "abs":
            return sympy.Abs(parts[0])
        case kind:
            return getattr(sympy, kind)(parts[0])
