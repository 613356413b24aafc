"""Exact rational values, and modular fingerprints.

Where the exact value would be too large or has symbols.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from rewardkit.verifiers.math._limits import (
    MAX_BITS,
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
    Div,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    Pow,
    Ratio,
    Seq,
    Sym,
)
from rewardkit.verifiers.math._rewrite import replace

__all__ = ["Rational", "exact_value", "fingerprint", "next_prime"]

Rational: TypeAlias = int | Fraction

_PRIMES = ((1 << 61) - 1, (1 << 89) - 1)
"""Mersenne primes: an equality of two rational functions that holds modulo both at a fixed point
holds, but for an adversary who adds multiples of them; the numeric check that follows closes
that.
"""


def _bits(value: Rational) -> int:
    if isinstance(value, int):
        return value.bit_length()
    return value.numerator.bit_length() + value.denominator.bit_length()


def _bounded(value: Rational) -> Rational:
    if _bits(value) > 2 * MAX_BITS:
        raise TooLargeError("an exact value of more than 65,536 bits")
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _power(base: Rational, exponent: Rational) -> Rational:
    if not isinstance(exponent, int):
        raise UnsupportedError("a fractional power")
    if base == 0 and exponent <= 0:
        raise UndefinedValueError("0 to a power that is not positive")
    if base in (0, 1):
        return base
    if base == -1:
        return -1 if exponent % 2 else 1
    if _bits(base) * abs(exponent) > 2 * MAX_BITS:
        raise TooLargeError("a power of more than 65,536 bits")
    return _bounded(Fraction(base) ** exponent)


def _factorial(value: Rational) -> int:
    if not isinstance(value, int) or value < 0:
        raise UndefinedValueError("a factorial of something other than a natural number")
    if value > 5_000:
        raise TooLargeError("a factorial above 5000!")
    return math.factorial(value)


def _natural(value: Rational) -> int:
    if not isinstance(value, int) or value < 0:
        raise UndefinedValueError("a natural number is needed")
    return value


def _choose(n: Rational, k: Rational) -> int:
    upper, lower = _natural(n), _natural(k)
    if min(lower, max(upper - lower, 0)) * upper.bit_length() > MAX_BITS:
        raise TooLargeError("a binomial of more than 65,536 bits")
    return math.comb(upper, lower)


def _permutations(n: Rational, k: Rational) -> int:
    upper, lower = _natural(n), _natural(k)
    if min(lower, upper) * upper.bit_length() > MAX_BITS:
        raise TooLargeError("a falling factorial of more than 65,536 bits")
    return math.perm(upper, lower)


def _modulo(a: Rational, b: Rational) -> Rational:
    if b == 0:
        raise UndefinedValueError("a remainder by zero")
    return a % b


def _integers(values: list[Rational]) -> list[int]:
    if not all(isinstance(v, int) for v in values):
        raise UnsupportedError("a common divisor of fractions")
    return [int(v) for v in values]


def _double_factorial(value: Rational) -> int:
    n = _natural(value)
    if n > 5_000:
        raise TooLargeError("a double factorial above 5000!!")
    return math.prod(range(n, 0, -2))


def _square_root(value: Rational) -> Rational:
    fraction = Fraction(value)
    if fraction < 0:
        raise UnsupportedError("the root of a negative number")
    top, bottom = math.isqrt(fraction.numerator), math.isqrt(fraction.denominator)
    if top * top != fraction.numerator or bottom * bottom != fraction.denominator:
        raise UnsupportedError("an irrational root")
    return _bounded(Fraction(top, bottom))


_FUNCTIONS: dict[str, Callable[..., Rational]] = {
    "factorial": _factorial,
    "factorial2": _double_factorial,
    "binom": _choose,
    "permutations": _permutations,
    "mod": _modulo,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "sign": lambda v: (v > 0) - (v < 0),
    "sqrt": _square_root,
    "gcd": lambda *vs: math.gcd(*_integers(list(vs))),
    "lcm": lambda *vs: math.lcm(*_integers(list(vs))),
    "min": lambda *vs: min(vs),
    "max": lambda *vs: max(vs),
}


class _Exact:
    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def checked(self, value: Rational) -> Rational:
        """Returns a value within the bound on its size, and spends steps for that size."""
        bits = _bits(value)
        if bits > 512:
            self.meter.spend(bits // 64)
        return _bounded(value)

    def value(self, node: Node) -> Rational:
        self.meter.spend()
        rule = _EXACT_RULES.get(type(node))
        if rule is None:
            raise UnsupportedError(type(node).__name__)
        return rule(self, node)

    def number(self, node: Num) -> Rational:
        return node.value

    def based(self, node: BaseNum) -> Rational:
        return int(node.digits, node.base)

    def add(self, node: Add) -> Rational:
        total: Rational = 0
        for term in node.terms:
            total += self.value(term)
        return _bounded(total)

    def multiply(self, node: Mul) -> Rational:
        total: Rational = 1
        for factor in node.factors:
            total = _bounded(total * self.value(factor))
        return total

    def divide(self, node: Div) -> Rational:
        top, bottom = self.value(node.top), self.value(node.bottom)
        if bottom == 0:
            raise UndefinedValueError("a division by zero")
        return _bounded(Fraction(top) / bottom)

    def negate(self, node: Neg) -> Rational:
        return -self.value(node.body)

    def power(self, node: Pow) -> Rational:
        return _power(self.value(node.base), self.value(node.exponent))

    def percent(self, node: Percent) -> Rational:
        return _bounded(Fraction(self.value(node.body)) / 100)

    def ratio(self, node: Ratio) -> Rational:
        if len(node.parts) != 2:
            raise UnsupportedError("a ratio of three or more")
        return self.divide(Div(*node.parts))

    def call(self, node: Call) -> Rational:
        function = _FUNCTIONS.get(node.name)
        if function is None:
            raise UnsupportedError(node.name)
        if node.name == "mod" and isinstance(node.args[0], Pow):
            base, exponent, modulus = (
                self.value(n) for n in (node.args[0].base, node.args[0].exponent, node.args[1])
            )
            if (
                isinstance(base, int)
                and isinstance(exponent, int)
                and isinstance(modulus, int)
                and exponent >= 0 < modulus
            ):
                return pow(base, exponent, modulus)
        args = [self.value(arg) for arg in node.args]
        try:
            return _bounded(function(*args))
        except TypeError:
            raise UnsupportedError(f"{node.name} of {len(args)} arguments") from None

    def group(self, node: Seq) -> Rational:
        if len(node.items) == 1 and node.opening in "([":
            return self.value(node.items[0])
        raise UnsupportedError("a sequence")

    def apply(self, node: Apply) -> Rational:
        if node.name in ("C", "P", "A") and len(node.args) == 2:
            n, k = (self.value(arg) for arg in node.args)
            return _choose(n, k) if node.name == "C" else _permutations(n, k)
        raise UnsupportedError("an unknown function")

    def big(self, node: BigOp) -> Rational:
        if node.name not in ("sum", "prod") or node.low is None or node.high is None:
            raise UnsupportedError(node.name)
        low, high = self.value(node.low), self.value(node.high)
        if not isinstance(low, int) or not isinstance(high, int):
            raise UnsupportedError("a range that is not whole")
        if high - low > 2_000:
            raise TooLargeError("a sum of more than 2,000 terms")
        total: Rational = 0 if node.name == "sum" else 1
        for k in range(low, high + 1):
            term = self.value(replace(node.body, {Sym(node.variable): Num(k)}))
            total = _bounded(total + term if node.name == "sum" else total * term)
        return total


_EXACT_RULES: dict[type, Callable[[_Exact, Any], Rational]] = {
    Num: _Exact.number,
    BaseNum: _Exact.based,
    Add: _Exact.add,
    Mul: _Exact.multiply,
    Div: _Exact.divide,
    Neg: _Exact.negate,
    Pow: _Exact.power,
    Percent: _Exact.percent,
    Ratio: _Exact.ratio,
    Call: _Exact.call,
    Seq: _Exact.group,
    Apply: _Exact.apply,
    BigOp: _Exact.big,
}


def exact_value(node: Node, meter: Meter | None = None) -> Rational:
    """Returns the rational value of a closed rational expression.

    Raises:
        UnsupportedError: it has symbols, irrational functions, or is no number.
        UndefinedValueError: it divides by zero or takes the factorial of a fraction.
        TooLargeError: the value has more bits than `MAX_BITS`; nothing that large is computed.
    """
    return _Exact(meter or Meter()).value(node)


class _Modular:
    """Values of rational functions modulo a prime.

    Symbols replaced by fixed pseudo-random residues.
    """

    def __init__(self, prime: int, meter: Meter, salt: bytes = b"") -> None:
        self.prime = prime
        self.meter = meter
        self.salt = salt

    def symbol(self, name: str) -> int:
        raw = self.salt + name.encode("utf-8", "surrogatepass")
        return (zlib.crc32(raw) << 32 | zlib.crc32(raw + b"*")) % self.prime

    def inverse(self, value: int) -> int:
        if value == 0:
            raise UndefinedValueError("a division by zero")
        return pow(value, -1, self.prime)

    def value(self, node: Node) -> int:
        self.meter.spend()
        prime = self.prime
        match node:
            case Num(value):
                if isinstance(value, int):
                    return value % prime
                return value.numerator * self.inverse(value.denominator % prime) % prime
            case Sym(name):
                return self.symbol(name)
            case Add(terms):
                return sum(self.value(t) for t in terms) % prime
            case Mul(factors):
                total = 1
                for factor in factors:
                    total = total * self.value(factor) % prime
                return total
            case Div(top, bottom):
                return self.value(top) * self.inverse(self.value(bottom)) % prime
            case Neg(body):
                return -self.value(body) % prime
            case Percent(body):
                return self.value(body) * self.inverse(100) % prime
            case Pow(base, exponent):
                power = exact_value(exponent, self.meter)
                if not isinstance(power, int):
                    raise UnsupportedError("a fractional power")
                if power == 0 and self.value(base) == 0:
                    raise UndefinedValueError("0 to the power 0")
                if power < 0:
                    return pow(self.inverse(self.value(base)), -power, prime)
                return pow(self.value(base), power, prime)
            case Seq((item,), opening, _) if opening in ("(", "["):
                return self.value(item)
            case Call("factorial", (arg,)):
                n = exact_value(arg, self.meter)
                if not isinstance(n, int) or n < 0:
                    raise UndefinedValueError(
                        "a factorial of something other than a natural number"
                    )
                if n > 20_000:
                    raise TooLargeError("a factorial above 20000!")
                self.meter.spend(n // 8)
                total = 1
                for k in range(2, n + 1):
                    total = total * k % prime
                return total
            case Call("binom", (upper, lower)):
                return self.value(_as_factorials(upper, lower))
            case _:
                value = exact_value(node, self.meter)
                return (
                    Fraction(value).numerator
                    * self.inverse(Fraction(value).denominator % prime)
                    % prime
                )


def _as_factorials(upper: Node, lower: Node) -> Node:
    rest = Add((upper, Neg(lower)))
    return Div(
        Call("factorial", (upper,)), Mul((Call("factorial", (lower,)), Call("factorial", (rest,))))
    )


def fingerprint(
    node: Node,
    meter: Meter | None = None,
    *,
    moduli: Sequence[int] = _PRIMES,
    salt: bytes = b"",
) -> tuple[int, ...]:
    """Returns the value of a rational function modulo two primes at a fixed point.

    This is the test of Schwartz (1980) and Zippel (1979) at one point that the symbols' names fix.

    Different fingerprints prove that two rational functions differ; equal ones that they are the
    same, but with probability below degree / 2^61 (and against an adversary only together with a
    numeric check).

    Raises:
        UnsupportedError, UndefinedValueError, TooLargeError: as `exact_value`.
    """
    meter = meter or Meter()
    return tuple(_Modular(prime, meter, salt).value(node) for prime in moduli)


def next_prime(value: int) -> int:
    """Returns the first number from `value` on that passes Fermat's test to base 2."""
    candidate = value | 1
    while pow(2, candidate - 1, candidate) != 1:
        candidate += 2
    return candidate
