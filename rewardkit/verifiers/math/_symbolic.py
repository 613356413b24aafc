"""The last tier: sympy and math-verify, run in a worker that can be killed.

Nothing here sees raw model text but through our grammar or math-verify's ANTLR grammar; neither
evaluates Python.
"""

from collections.abc import Callable
from typing import Any

from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import NotMathError, TooLargeError
from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BigOp,
    Call,
    Const,
    Div,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    Pow,
    Rel,
    Sym,
)
from rewardkit.verifiers.math._reference import read_math

__all__ = ["decide"]


class _NoTranslationError(Exception):
    """sympy has no counterpart for a node."""


def decide(reference: str, answer: str) -> tuple[bool | None, str]:
    """Returns whether two answer texts are equal, or None, and which engine said so.

    Meant to run in a worker: simplification can take any time and any memory.
    """
    left, right = _tree(reference), _tree(answer)
    if left is not None and right is not None:
        return _by_sympy(left, right)
    if left is None and right is None:
        return _by_math_verify(reference, answer)
    return None, "sympy: one side is not understood"


def _tree(text: str) -> Node | None:
    try:
        node = read_math(clean(text), Reading())
    except (NotMathError, TooLargeError):
        return None
    return node.sides[-1] if isinstance(node, Rel) and node.ops[-1] == "=" else node


def _by_sympy(left: Node, right: Node) -> tuple[bool | None, str]:
    import sympy

    try:
        difference = to_sympy(left) - to_sympy(right)
    except (_NoTranslationError, TypeError):
        return None, "sympy: no counterpart"
    if sympy.simplify(difference) == 0:
        return True, "sympy: the difference simplifies to 0"
    same = difference.equals(0)
    return (None if same is None else bool(same)), "sympy: equals"


def _by_math_verify(reference: str, answer: str) -> tuple[bool | None, str]:
    """Asks math-verify where our grammar reads neither side.

    It looks at whole formulas only: its fallback to a number inside a formula that it cannot read
    accepts wrong answers (huggingface/Math-Verify#82).
    """
    import logging

    from math_verify import LatexExtractionConfig, parse, verify

    # It warns at every call that it has no timeout; the worker's deadline is the timeout.
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    config = [LatexExtractionConfig()]
    left, right = (
        parse(f"${clean(text)}$", config, fallback_mode="no_fallback", parsing_timeout=None)
        for text in (reference, answer)
    )
    if not left or not right:
        return None, "math-verify: not understood"
    return bool(verify(left, right, timeout_seconds=None)) or None, "math-verify"


def to_sympy(node: Node) -> Any:
    """Returns the sympy expression of a tree.

    Raises:
        _NoTranslationError: a structure, a unit, an unknown function.
    """
    import sympy

    match node:
        case Num(value):
            return sympy.Rational(value)
        case Sym(name):
            return sympy.Symbol(name)
        case Const(name):
            constants = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}
            if name not in constants:
                raise _NoTranslationError(name)
            return constants[name]
        case Add(terms):
            return sympy.Add(*map(to_sympy, terms))
        case Mul(factors):
            return sympy.Mul(*map(to_sympy, factors))
        case Div(top, bottom):
            return to_sympy(top) / to_sympy(bottom)
        case Neg(body):
            return -to_sympy(body)
        case Percent(body):
            return to_sympy(body) / 100
        case Pow(base, exponent):
            return to_sympy(base) ** to_sympy(exponent)
        case Apply(name, args):
            return sympy.Function(name)(*map(to_sympy, args))
        case BigOp():
            return _big(node)
        case Call(name, args):
            return _call(name, [to_sympy(arg) for arg in args])
        case _:
            raise _NoTranslationError(type(node).__name__)


def _big(node: BigOp) -> Any:
    import sympy

    body, variable = to_sympy(node.body), sympy.Symbol(node.variable)
    if node.name == "lim":
        side = "-" if node.high == Neg(Num(1)) or node.high == Num(-1) else "+"
        point = to_sympy(node.low) if node.low is not None else sympy.S.Zero
        return sympy.limit(
            body, variable, point, "+-" if node.high is None and point.is_finite else side
        )
    if node.low is None or node.high is None:
        if node.name != "int":
            raise _NoTranslationError("a range is missing")
        return sympy.integrate(body, variable)
    limits = (variable, to_sympy(node.low), to_sympy(node.high))
    kinds = {"sum": sympy.Sum, "prod": sympy.Product, "int": sympy.Integral}
    return kinds[node.name](body, limits).doit()


def _call(name: str, args: list[Any]) -> Any:
    import sympy

    functions: dict[str, Callable[..., Any]] = {
        **{
            n: getattr(sympy, n)
            for n in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth")
        },
        **{
            "arc" + n: getattr(sympy, "a" + n)
            for n in ("sin", "cos", "tan", "cot", "sinh", "cosh", "tanh")
        },
        "ln": sympy.log,
        "log": sympy.log,
        "logb": lambda value, base: sympy.log(value) / sympy.log(base),
        "sqrt": sympy.sqrt,
        "root": lambda value, degree: value ** (1 / degree),
        "abs": sympy.Abs,
        "floor": sympy.floor,
        "ceil": sympy.ceiling,
        "sign": sympy.sign,
        "factorial": sympy.factorial,
        "binom": sympy.binomial,
        "mod": sympy.Mod,
        "re": sympy.re,
        "im": sympy.im,
        "conj": sympy.conjugate,
        "min": sympy.Min,
        "max": sympy.Max,
        "gcd": sympy.gcd,
        "lcm": sympy.lcm,
        "erf": sympy.erf,
        "approx": lambda value: value,
    }
    if name not in functions:
        raise _NoTranslationError(name)
    return functions[name](*args)
