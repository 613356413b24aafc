"""High-precision values of expressions, with a budget.

Every node costs a step, every size is looked at first.
"""

import hashlib
import math
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from rewardkit.verifiers.math._limits import (
    Meter,
    TooLargeError,
    UndefinedValueError,
    UnsupportedError,
)
from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BaseNum,
    BigOp,
    Call,
    Cases,
    Const,
    Div,
    Listing,
    Matrix,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    Sym,
)
from rewardkit.verifiers.math._rewrite import contains, free_symbols
from rewardkit.verifiers.math._units import parse_unit

__all__ = [
    "COUNTING",
    "COUNTING_NAMES",
    "DIGITS",
    "POSITIVE",
    "SIGNED",
    "WHOLE",
    "Evaluator",
    "Value",
    "compare",
    "context",
    "is_real",
    "sample_points",
]

POSITIVE, SIGNED, WHOLE, COUNTING = range(3), range(3, 12), range(12, 20), range(20, 26)
POINTS = 26
"""Sample points of a symbol, by kind."""
COUNTING_NAMES = frozenset("nkmNjpq")
"""Symbols that count something wherever a sum or a product ends at one."""

DIGITS = 50
"""Decimal digits that values are computed with."""

Value = Any
"""An mpf or mpc of the evaluator's context."""

_local = threading.local()


def context(digits: int = DIGITS) -> Any:
    """Returns this thread's mpmath context of that precision.

    Mpmath's global one is shared by all threads.
    """
    contexts = _local.__dict__.setdefault("contexts", {})
    if digits not in contexts:
        import mpmath  # A tenth of a second, spent only where a value is computed.

        made = mpmath.ctx_mp.MPContext()
        made.dps = digits
        contexts[digits] = made
    return contexts[digits]


def is_real(value: Value, digits: int = DIGITS) -> bool:
    """Returns True if the imaginary part is zero within rounding."""
    imag = getattr(value, "imag", 0)
    return imag == 0 or abs(imag) <= abs(value) * 10.0 ** (8 - digits)


@lru_cache(maxsize=8192)
def sample_points(name: str) -> list[Fraction]:
    """Returns the fixed pseudo-random values at which a symbol is evaluated.

    Those at `POSITIVE` are positive, those at `SIGNED` have either sign, those at `WHOLE` are
    small whole numbers. At `COUNTING`, the names that count are small whole numbers and others have
    either sign.
    """
    raw = name.encode("utf-8", "surrogatepass")
    points = list[Fraction]()
    for index in range(POINTS):
        # Not a checksum: those of two letters differ alike at all points, and so would the signs.
        seed = int.from_bytes(hashlib.blake2b(raw + bytes([index]), digest_size=4).digest())
        unit = Fraction(seed % 99_991 + 1, 99_991)
        if index in POSITIVE:
            points.append(Fraction(3, 10) + unit * Fraction(21, 10))
        elif index in SIGNED or (index in COUNTING and name not in COUNTING_NAMES):
            sign = 1 if seed >> 24 & 1 else -1
            points.append(sign * (Fraction(1, 4) + unit * 3))
        else:
            start = WHOLE.start if index in WHOLE else COUNTING.start
            points.append(Fraction(2 * (index - start) + 1 + seed % 3))
    return points


class Evaluator:
    """Computes values of trees at one assignment of their symbols."""

    def __init__(
        self,
        symbols: Mapping[str, Any] | None = None,
        *,
        point: int = 0,
        digits: int = DIGITS,
        meter: Meter | None = None,
    ) -> None:
        self.ctx = context(digits)
        self.symbols = dict(symbols or {})
        self.point = point
        self.meter = meter or Meter()
        self.limit = self.ctx.mpf(10) ** (digits - 8)

    def value(self, node: Node) -> Value:
        """Returns the value as mpf or mpc.

        Raises:
            UndefinedValueError: a pole, 0/0, an infinite value.
            UnsupportedError: the expression is no number.
            TooLargeError: it would take more steps or digits than the limits allow.
        """
        self.meter.spend()
        rule = _RULES.get(type(node))
        if rule is None:
            raise UnsupportedError(type(node).__name__)
        return rule(self, node)

    def rational(self, value: int | Fraction) -> Value:
        if isinstance(value, int):
            return self.ctx.mpf(value)
        return self.ctx.mpf(value.numerator) / value.denominator

    def number(self, node: Num) -> Value:
        return self.rational(node.value)

    def based(self, node: BaseNum) -> Value:
        return self.ctx.mpf(int(node.digits, node.base))

    def symbol(self, node: Sym) -> Value:
        if node.name in self.symbols:
            found = self.symbols[node.name]
            return self.rational(found) if isinstance(found, int | Fraction) else found
        return self.opaque(node.name)

    def opaque(self, name: str) -> Value:
        self.symbols[name] = self.rational(sample_points(name)[self.point])
        return self.symbols[name]

    def constant(self, node: Const) -> Value:
        if node.name == "pi":
            return +self.ctx.pi
        if node.name == "e":
            return +self.ctx.e
        if node.name == "i":
            return self.ctx.mpc(0, 1)
        if node.name == "inf":
            raise UndefinedValueError("an infinite value")
        raise UnsupportedError(node.name)

    def add(self, node: Add) -> Value:
        total = self.value(node.terms[0])
        for term in node.terms[1:]:
            total = total + self.value(term)
        return total

    def multiply(self, node: Mul) -> Value:
        total = self.value(node.factors[0])
        for factor in node.factors[1:]:
            total = total * self.value(factor)
        return total

    def divide(self, node: Div) -> Value:
        top, bottom = self.value(node.top), self.value(node.bottom)
        if abs(bottom) <= 1 / self.limit:
            raise UndefinedValueError("a division by zero")
        return top / bottom

    def negate(self, node: Neg) -> Value:
        return -self.value(node.body)

    def percent(self, node: Percent) -> Value:
        return self.value(node.body) / 100

    def ratio(self, node: Ratio) -> Value:
        if len(node.parts) != 2:
            raise UnsupportedError("a ratio of three or more")
        return self.divide(Div(*node.parts))

    def power(self, node: Pow) -> Value:
        exponent_node = node.exponent
        base, exponent = self.value(node.base), self.value(exponent_node)
        if base == 0:
            if exponent.real > 0:
                return self.ctx.mpf(0)
            raise UndefinedValueError("0 to a power that is not positive")
        scale = exponent.real * self.ctx.log(abs(base))
        if scale < -1e9 and is_real(exponent):
            return self.ctx.mpf(0)
        if abs(exponent) > 1e15 or abs(scale) > 1e15:
            raise TooLargeError("a power beyond e^(10^15)")
        odd = _odd_root(exponent_node)
        if odd and is_real(base) and base.real < 0:
            root = -((-base.real) ** (exponent / odd[0]))
            return root if odd[0] == 1 else root ** odd[0]
        return base**exponent

    def group(self, node: Seq) -> Value:
        if len(node.items) == 1 and node.opening in ("(", "["):
            return self.value(node.items[0])
        raise UnsupportedError("a sequence")

    def quantity(self, node: Quantity) -> Value:
        unit = parse_unit(node.unit)
        if unit.dimension != (("A", 1),):
            raise UnsupportedError("a value with a unit")
        return self.value(node.body) * self.rational(unit.factor) * self.ctx.pi**unit.pi_power

    def apply(self, node: Apply) -> Value:
        if node.name in ("C", "P", "A") and len(node.args) == 2:
            return self.call(Call("binom" if node.name == "C" else "permutations", node.args))
        args = [self.value(arg) for arg in node.args]
        key = node.name + "(" + ",".join(self.ctx.nstr(a, 20) for a in args) + ")"
        return self.opaque(key)

    def call(self, node: Call) -> Value:
        function = _FUNCTIONS.get(node.name)
        if function is None:
            raise UnsupportedError(node.name)
        if node.name == "det" and isinstance(node.args[0], Matrix):
            return self.determinant(node.args[0])
        args = [self.value(arg) for arg in node.args]
        self.meter.spend(_COSTS.get(node.name, 2))
        try:
            result = function(self.ctx, *args)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise UndefinedValueError(f"{node.name} is not defined here") from None
        except TypeError:
            raise UnsupportedError(f"{node.name} of {len(args)} arguments") from None
        if not self.ctx.isfinite(result) or (abs(result) > self.limit and node.name in _POLES):
            raise UndefinedValueError(f"a pole of {node.name}")
        return result

    def determinant(self, matrix: Matrix) -> Value:
        size = len(matrix.rows)
        if size != len(matrix.rows[0]) or size > 8:
            raise UnsupportedError("a determinant that is not square or above 8 × 8")
        return self.ctx.det(
            self.ctx.matrix([[self.value(cell) for cell in row] for row in matrix.rows])
        )

    def at(self, name: str, value: Any, body: Node) -> Value:
        before = self.symbols.get(name)
        self.symbols[name] = value
        try:
            return self.value(body)
        finally:
            if before is None:
                del self.symbols[name]
            else:
                self.symbols[name] = before

    def big(self, node: BigOp) -> Value:
        if node.name == "int":
            return self.integral(node)
        if node.name == "lim":
            return self.limit_value(node)
        return self.series(node)

    def series(self, node: BigOp) -> Value:
        ctx = self.ctx
        if node.low is None or node.high is None:
            raise UnsupportedError("a sum without a range")
        low = self.value(node.low)
        if isinstance(node.high, Const) and node.high.name == "inf":
            if node.name != "sum":
                raise UnsupportedError("an infinite product")
            return self.infinite_sum(node, low)
        high = self.value(node.high)
        if not ctx.isint(low) or not ctx.isint(high):
            raise UndefinedValueError("a range that is not whole")
        if high - low > 2_000:
            raise TooLargeError("a sum of more than 2,000 terms")
        total = ctx.mpf(0 if node.name == "sum" else 1)
        for k in range(int(low), int(high) + 1):
            term = self.at(node.variable, ctx.mpf(k), node.body)
            total = total + term if node.name == "sum" else total * term
        return total

    def infinite_sum(self, node: BigOp, low: Value) -> Value:
        ctx = self.ctx
        if not ctx.isint(low) or free_symbols(node.body) - {node.variable}:
            raise UnsupportedError("an infinite sum with parameters")
        small = Evaluator(digits=15, meter=self.meter)

        def term(k: Any) -> Any:
            return small.at(node.variable, k, node.body)

        try:
            first, later = abs(term(small.ctx.mpf(50))), abs(term(small.ctx.mpf(400)))
            if later > first * 0.5 and later > 1e-12:
                raise UndefinedValueError("a sum that does not converge fast enough")
            total = small.ctx.nsum(term, [int(low), small.ctx.inf])
        except (ValueError, ZeroDivisionError, small.ctx.NoConvergence):
            raise UndefinedValueError("a sum that does not converge") from None
        return ctx.mpf(total)

    def integral(self, node: BigOp) -> Value:
        if contains(node.body, (Apply,)):
            raise UnsupportedError("the integral of an unknown function")
        if node.low is None or node.high is None:
            raise UnsupportedError("an integral without limits")
        small = Evaluator(self.symbols, point=self.point, digits=15, meter=self.meter)
        ends = []
        for end in (node.low, node.high):
            sign = -1 if isinstance(end, Neg) else 1
            bare = end.body if isinstance(end, Neg) else end
            infinite = isinstance(bare, Const) and bare.name == "inf"
            ends.append(sign * small.ctx.inf if infinite else small.value(end))
        try:
            total, error = small.ctx.quad(
                lambda x: small.at(node.variable, x, node.body), ends, error=True
            )
        except (ValueError, ZeroDivisionError, TypeError):
            raise UndefinedValueError("an integral that does not exist") from None
        if error > 1e-10 * (1 + abs(total)):
            raise UnsupportedError("an integral that does not converge")
        return self.ctx.mpmathify(total)

    def limit_value(self, node: BigOp) -> Value:
        ctx = self.ctx
        infinite = isinstance(node.low, Const) and node.low.name == "inf"
        point = ctx.mpf(0) if infinite or node.low is None else self.value(node.low)
        side = -1 if node.high == Num(-1) else 1
        values = []
        for power in (8, 10, 12):
            step = ctx.mpf(10) ** -power
            values.append(
                self.at(node.variable, 1 / step if infinite else point + side * step, node.body)
            )
        if abs(values[2] - values[1]) > abs(values[1] - values[0]) * 0.1 + ctx.mpf(10) ** -14:
            raise UndefinedValueError("a limit that does not settle")
        drift = (values[2] - values[1]) / 99
        return _rounded(ctx, values[2] + drift)

    def cases(self, node: Cases) -> Value:
        for body, condition in node.rows:
            if condition is None or self.holds(condition):
                return self.value(body)
        raise UndefinedValueError("no case applies")

    def holds(self, node: Node) -> bool:
        """Returns the truth of a condition at this point."""
        if isinstance(node, Listing):
            truths = [self.holds(item) for item in node.items]
            return any(truths) if "or" in node.joins else all(truths)
        if not isinstance(node, Rel):
            raise UnsupportedError("a condition that is no relation")
        sides = [self.value(side).real for side in node.sides]
        return all(
            compare(op, a, b, 1 / self.limit)
            for op, a, b in zip(node.ops, sides, sides[1:], strict=False)
        )


def compare(op: str, left: Any, right: Any, tolerance: Any) -> bool:
    """Returns the truth of `left op right`, equal within an absolute tolerance."""
    same = abs(left - right) <= tolerance * (1 + abs(left))
    match op:
        case "=":
            return bool(same)
        case "!=":
            return not same
        case "<":
            return bool(left < right and not same)
        case ">":
            return bool(left > right and not same)
        case "<=":
            return bool(left < right or same)
        case ">=":
            return bool(left > right or same)
        case _:
            raise UnsupportedError(f"the relation {op}")


def _rounded(ctx: Any, value: Value) -> Value:
    """Returns the value with the digits that a numeric limit does not have cut off."""
    return ctx.mpf(ctx.nstr(value.real, 13)) if is_real(value) else value


def _odd_root(exponent: Node) -> tuple[int, int] | None:
    """Returns p, q of an exponent p/q with odd q above 1.

    A real root of a negative number exists.
    """
    if isinstance(exponent, Neg):
        inner = _odd_root(exponent.body)
        return None if inner is None else (-inner[0], inner[1])
    if (
        isinstance(exponent, Div)
        and isinstance(exponent.top, Num)
        and isinstance(exponent.bottom, Num)
    ):
        top, bottom = exponent.top.value, exponent.bottom.value
        if (
            isinstance(top, int)
            and isinstance(bottom, int)
            and bottom % 2
            and bottom > 1
            and abs(top) < 1000
            and top
        ):
            return top, bottom
    return None


def _root(ctx: Any, value: Value, degree: Value) -> Value:
    if degree == 0:
        raise ValueError("a zeroth root")
    if ctx.isint(degree) and int(degree) % 2 and is_real(value) and value.real < 0:
        return -((-value.real) ** (1 / degree))
    return value ** (1 / degree)


def _factorial(ctx: Any, value: Value) -> Value:
    if abs(value) > 1e12:
        raise TooLargeError("a factorial above 10^12")
    return ctx.gamma(value + 1)


def _binomial(ctx: Any, n: Value, k: Value) -> Value:
    if abs(n) > 1e12 or abs(k) > 1e12:
        raise TooLargeError("a binomial above 10^12")
    return ctx.binomial(n, k)


def _floor(ctx: Any, value: Value) -> Value:
    nearest = ctx.nint(value.real)
    return nearest if abs(value - nearest) < ctx.mpf(10) ** (8 - ctx.dps) else ctx.floor(value.real)


def _trigonometric(name: str) -> Callable[..., Value]:
    def function(ctx: Any, value: Value) -> Value:
        if abs(value) > 1e12:
            raise TooLargeError(f"{name} of more than 10^12")
        return getattr(ctx, name)(value)

    return function


def _whole(name: str) -> Callable[..., Value]:
    def function(ctx: Any, *values: Value) -> Value:
        if not all(ctx.isint(v) for v in values) or any(abs(v) > 1e40 for v in values):
            raise ValueError("whole numbers are needed")
        return ctx.mpf(getattr(math, name)(*(int(v) for v in values)))

    return function


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{
        name: _trigonometric(name)
        for name in (
            "sin",
            "cos",
            "tan",
            "cot",
            "sec",
            "csc",
            "sinh",
            "cosh",
            "tanh",
            "coth",
            "sech",
            "csch",
        )
    },
    **{
        "arc" + name: (lambda ctx, v, n=short: getattr(ctx, n)(v))
        for name, short in (
            ("sin", "asin"),
            ("cos", "acos"),
            ("tan", "atan"),
            ("cot", "acot"),
            ("sec", "asec"),
            ("csc", "acsc"),
            ("sinh", "asinh"),
            ("cosh", "acosh"),
            ("tanh", "atanh"),
        )
    },
    "ln": lambda ctx, v: ctx.log(v),
    "log": lambda ctx, v: ctx.log(v),
    "logb": lambda ctx, v, b: ctx.log(v) / ctx.log(b),
    "sqrt": lambda ctx, v: ctx.sqrt(v),
    "root": _root,
    "abs": lambda ctx, v: abs(v),
    "norm": lambda ctx, v: abs(v),
    "floor": _floor,
    "ceil": lambda ctx, v: -_floor(ctx, -v),
    "sign": lambda ctx, v: ctx.sign(v),
    "factorial": _factorial,
    "factorial2": lambda ctx, v: ctx.fac2(v),
    "binom": _binomial,
    "permutations": lambda ctx, n, k: _factorial(ctx, n) / _factorial(ctx, n - k),
    "mod": lambda ctx, a, b: a - b * _floor(ctx, a / b),
    "re": lambda ctx, v: ctx.re(v),
    "im": lambda ctx, v: ctx.im(v),
    "arg": lambda ctx, v: ctx.arg(v),
    "conj": lambda ctx, v: ctx.conj(v),
    "cis": lambda ctx, v: ctx.cos(v) + ctx.mpc(0, 1) * ctx.sin(v),
    "min": lambda ctx, *vs: min(vs, key=lambda v: v.real),
    "max": lambda ctx, *vs: max(vs, key=lambda v: v.real),
    "gcd": _whole("gcd"),
    "lcm": _whole("lcm"),
    "erf": lambda ctx, v: ctx.erf(v),
    "gamma": lambda ctx, v: _factorial(ctx, v - 1),
    "zeta": lambda ctx, v: ctx.zeta(v),
    "approx": lambda ctx, v: v,
    "det": lambda ctx, v: abs(v),
}
_COSTS = {
    "zeta": 400,
    "gamma": 20,
    "factorial": 20,
    "factorial2": 40,
    "binom": 60,
    "permutations": 40,
    "erf": 40,
}
"""Steps that a call costs, where it is more than 2."""
_POLES = frozenset(["tan", "cot", "sec", "csc", "coth", "csch", "ln", "log", "logb"])

_RULES: dict[type, Callable[[Evaluator, Any], Value]] = {
    Num: Evaluator.number,
    BaseNum: Evaluator.based,
    Sym: Evaluator.symbol,
    Const: Evaluator.constant,
    Add: Evaluator.add,
    Mul: Evaluator.multiply,
    Div: Evaluator.divide,
    Neg: Evaluator.negate,
    Pow: Evaluator.power,
    Percent: Evaluator.percent,
    Ratio: Evaluator.ratio,
    Seq: Evaluator.group,
    Quantity: Evaluator.quantity,
    Apply: Evaluator.apply,
    Call: Evaluator.call,
    BigOp: Evaluator.big,
    Cases: Evaluator.cases,
}
