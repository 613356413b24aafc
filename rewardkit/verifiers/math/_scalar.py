"""Are two expressions the same value?

Exact numbers first, then fingerprints, then high-precision points.
"""

import hashlib
import math
from fractions import Fraction
from functools import cached_property
from typing import Any

from rewardkit.verifiers.math._decision import (
    Decision,
    Tolerance,
    different,
    equal,
    oversized,
    undecided,
)
from rewardkit.verifiers.math._exact import Rational, exact_value, fingerprint, next_prime
from rewardkit.verifiers.math._limits import (
    Meter,
    TooLargeError,
    UndefinedValueError,
    UnsupportedError,
)
from rewardkit.verifiers.math._nodes import (
    Add,
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
    children,
)
from rewardkit.verifiers.math._numeric import (
    COUNTING,
    COUNTING_NAMES,
    DIGITS,
    POSITIVE,
    SIGNED,
    WHOLE,
    Evaluator,
    Value,
    is_real,
)
from rewardkit.verifiers.math._rewrite import contains, free_symbols, walk
from rewardkit.verifiers.math._spellings import with_standard_indices

__all__ = [
    "Scalar",
    "compare_scalars",
    "confirmed_mark",
    "infinity_sign",
    "is_literal",
    "own_points",
]

_NOISE = 10.0 ** (8 - DIGITS)
"""A value below this may be a zero that rounding blurred; more digits tell."""
_CLOSE = 10.0 ** (18 - DIGITS)
_LOOSE = 1e-10
_SPARE = range(6, 12)
"""Sample points of either sign, for roots and logarithms that are real at few others."""
_CONFIRM_DIGITS = (150, 400, 1_000, 3_000)
"""Digits of the second look at equal values: the first that shows the digits after the point."""
_INTEGER_NAMES = COUNTING_NAMES | frozenset("rlab")


class Scalar:
    """An expression with what has been computed of it.

    A reference's is kept and shared by its rollouts.

    `meter` is the budget of the answer that the expression belongs to; each value of a reference
    has its own.
    """

    def __init__(self, node: Node, meter: Meter | None = None) -> None:
        self.node = node
        self.meter = meter
        self._values: dict[int, Value | Exception] = {}

    @cached_property
    def exact(self) -> Rational | None:
        try:
            return exact_value(self.node, self.meter)
        except (UnsupportedError, TooLargeError, UndefinedValueError):
            return None

    @cached_property
    def mark(self) -> tuple[int, ...] | None:
        """The fingerprint, or None where the expression is no rational function."""
        try:
            return fingerprint(self.node, self.meter)
        except (UnsupportedError, TooLargeError, UndefinedValueError):
            return None

    @cached_property
    def symbols(self) -> frozenset[str]:
        return free_symbols(self.node)

    @cached_property
    def decimals(self) -> list[Num]:
        return list(_decimal_literals(self.node))

    @cached_property
    def unit_in_last_place(self) -> Fraction | None:
        return _last_place(self.node)

    @cached_property
    def complex_unit(self) -> bool:
        return _mentions_i(self.node)

    @cached_property
    def stepwise(self) -> bool:
        """True if the value jumps at whole numbers: floors, remainders."""
        return _calls(self.node, ("floor", "ceil", "mod"))

    @cached_property
    def folded(self) -> bool:
        """True if the value depends on signs or order: |x|, max."""
        return _calls(self.node, ("abs", "sign", "min", "max", "sqrt"))

    @cached_property
    def sums(self) -> bool:
        """True if a sum, a product, an integral or a limit is in it."""
        return any(isinstance(part, BigOp) for part in walk(self.node))

    @cached_property
    def loose(self) -> bool:
        """True if an integral, a limit or an infinite sum limits the digits."""
        return any(isinstance(part, BigOp) and not _is_finite(part) for part in walk(self.node))

    @cached_property
    def counts(self) -> frozenset[str]:
        """The symbols that say how many terms a sum or a product has: whole numbers."""
        ends = (
            end
            for part in walk(self.node)
            if isinstance(part, BigOp) and _is_finite(part)
            for end in (part.low, part.high)
        )
        return frozenset().union(*(free_symbols(end) for end in ends if end is not None))

    def at(self, point: int) -> Value:
        """Returns the value at a sample point; raises what the evaluator raised there."""
        if point not in self._values:
            try:
                self._values[point] = Evaluator(point=point, meter=self.meter).value(self.node)
            except (UnsupportedError, TooLargeError, UndefinedValueError) as error:
                self._values[point] = error
        value = self._values[point]
        if isinstance(value, Exception):
            # A copy: a kept exception would gather a traceback, and with it every answer's frames.
            raise type(value)(*value.args)
        return value


def _decimal_literals(node: Node) -> list[Num]:
    if isinstance(node, Num):
        return [node] if node.places is not None else []
    if isinstance(node, Pow):
        return _decimal_literals(node.base)
    return [literal for inner in children(node) for literal in _decimal_literals(inner)]


def _calls(node: Node, names: tuple[str, ...]) -> bool:
    return any(isinstance(part, Call) and part.name in names for part in walk(node))


def _is_finite(node: BigOp) -> bool:
    """Returns True for a sum or product that ends."""
    return node.name in ("sum", "prod") and Const("inf") not in (node.low, node.high)


def _mentions_i(node: Node) -> bool:
    return Const("i") in walk(node) or _calls(node, ("cis",))


def _last_place(node: Node) -> Fraction | None:
    """Returns the value of one unit in the last written decimal of 3.14, 1.6·10^-19 or 2.5 %."""
    match node:
        case Num(_, places):
            return None if places is None else Fraction(10) ** -places
        case Neg(body) | Call("approx", (body,)):
            return _last_place(body)
        case Percent(body):
            inner = _last_place(body)
            return None if inner is None else inner / 100
        case Mul((Num() as mantissa, Pow(Num(10), exponent))):
            inner = _last_place(mantissa)
            try:
                power = exact_value(exponent)
            except (UnsupportedError, TooLargeError, UndefinedValueError):
                return None
            return (
                inner * Fraction(10) ** power
                if inner is not None and isinstance(power, int) and abs(power) < 5000
                else None
            )
        case _:
            return None


def is_literal(node: Node) -> bool:
    """Returns True for a plain number: 42, -3.5, 3/4, 25 %, 6·10^3."""
    match node:
        case Num():
            return True
        case Neg(body) | Percent(body) | Call("approx", (body,)):
            return is_literal(body)
        case Div(Num(_, None), Num(_, None)) | Mul((Num(), Pow(Num(10), Num() | Neg(Num())))):
            return True
        case _:
            return False


def infinity_sign(node: Node) -> int:
    """Returns 1 or -1 for a signed infinity, else 0."""
    match node:
        case Const("inf"):
            return 1
        case Neg(body):
            return -infinity_sign(body)
        case _:
            return 0


def _terminates(value: Rational) -> bool:
    bottom = Fraction(value).denominator
    for prime in (2, 5):
        while bottom % prime == 0:
            bottom //= prime
    return bottom == 1


def _significant(scalar: Scalar) -> int:
    """Returns the fewest significant digits among the decimals of an expression, or 10^6."""
    return min((literal.significant for literal in scalar.decimals), default=10**6)


def _is_approximate(scalar: Scalar) -> bool:
    return isinstance(scalar.node, Call) and scalar.node.name == "approx"


def compare_scalars(reference: Scalar, answer: Scalar, tolerance: Tolerance) -> Decision:
    """Returns whether two expressions have the same value for all values of their symbols."""
    if reference.node == answer.node or (
        reference.sums
        and answer.sums
        and with_standard_indices(reference.node) == with_standard_indices(answer.node)
    ):
        return equal("canonical", "the same expression")
    if infinity_sign(reference.node) or infinity_sign(answer.node):
        same = infinity_sign(reference.node) == infinity_sign(answer.node)
        return (equal if same else different)("exact", "an infinite value")
    left, right = reference.exact, answer.exact
    if left is not None and right is not None:
        if left == right:
            return equal("exact", "equal rational numbers")
        if _near_rationals(reference, answer, left, right, tolerance):
            return equal("exact", "equal to the digits that are written")
        return different("exact", "different rational numbers")
    return _compare_expressions(reference, answer, tolerance)


def _near_rationals(
    reference: Scalar, answer: Scalar, left: Rational, right: Rational, tolerance: Tolerance
) -> bool:
    gap = abs(Fraction(left) - right)
    if tolerance.significant_figures is not None:
        return bool(gap <= Fraction(_half_figure(float(left), tolerance.significant_figures)))
    given, written = reference.unit_in_last_place, answer.unit_in_last_place
    if written is not None and given is None:
        enough = _significant(answer) >= tolerance.approximation_digits
        return enough and not _terminates(left) and _rounds_to(left, right, written)
    if given is None or 2 * gap > given:
        return False
    if _is_approximate(reference) or (_is_approximate(answer) and _significant(reference) >= 3):
        return written is None or written <= given
    if written is None:
        return not _terminates(right) and _significant(reference) >= 3
    return written < given and _significant(reference) >= 4


def _half_figure(value: float, figures: int) -> float:
    """Returns half a unit of a value's last significant figure: 0.005 for 3.14159 and three."""
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - figures) if value else 0.0


def _rounds_to(exact: Any, written: Any, place: Any) -> bool:
    """Returns True if a decimal is the exact value rounded, or cut off, at its last place."""
    gap = abs(exact) - abs(written)
    return bool(abs(exact - written) * 2 <= place or (0 <= gap < place and exact * written > 0))


def _compare_expressions(reference: Scalar, answer: Scalar, tolerance: Tolerance) -> Decision:
    decimals = bool(reference.decimals or answer.decimals or tolerance.significant_figures)
    left, right = reference.mark, answer.mark
    rational = left is not None and right is not None
    if rational and left != right and not decimals:
        return different("algebra", "different rational functions")
    if rational and left == right:
        if confirmed_mark(reference.node, answer.node):
            return equal("algebra", "the same rational function")
        return different("algebra", "different rational functions")
    decision = _compare_points(reference, answer, tolerance)
    if decision and not decimals and not _confirmed(reference, answer):
        return different("numeric", "the values differ in later digits or at other points")
    return decision


def confirmed_mark(left: Node, right: Node) -> bool:
    """Returns True if fingerprints agree also modulo a prime that the expressions themselves fix.

    Whoever writes an answer knows our primes; this one changes with every letter of the answer.
    """
    digest = _digest(left, right)
    modulus = next_prime(int.from_bytes(digest[:8], "big") >> 3)
    try:
        return fingerprint(left, moduli=(modulus,), salt=digest) == fingerprint(
            right, moduli=(modulus,), salt=digest
        )
    except (UnsupportedError, TooLargeError, UndefinedValueError):
        return True


def _digest(left: Node, right: Node) -> bytes:
    return hashlib.sha256(f"{left!r}|{right!r}".encode("utf-8", "backslashreplace")).digest()


def _confirmed(reference: Scalar, answer: Scalar) -> bool:
    """Returns True if two expressions agree to many more digits, where the answer's text says."""
    if reference.loose or answer.loose:
        return True
    names = sorted(reference.symbols | answer.symbols)
    digest = _digest(reference.node, answer.node)
    stepwise, counts = reference.stepwise or answer.stepwise, reference.counts | answer.counts
    broken = _points_of(digest, len(names), whole=stepwise)
    whole = _points_of(digest, len(names), whole=True)
    symbols = {name: whole[at] if name in counts else broken[at] for at, name in enumerate(names)}
    wanted = _CONFIRM_DIGITS[0] + _size(reference)
    digits = next((d for d in _CONFIRM_DIGITS if d >= wanted), 0)
    if not digits:
        return True
    try:
        left, right = (
            Evaluator(symbols, digits=digits, meter=answer.meter).value(n)
            for n in (reference.node, answer.node)
        )
    except (UnsupportedError, TooLargeError, UndefinedValueError):
        return True
    scale = max(abs(left), abs(right))
    tiny = left.context.mpf(10) ** (20 - digits)
    return bool(abs(left - right) <= scale * tiny or scale <= tiny)


def own_points(left: Node, right: Node, count: int, *, salt: bytes = b"") -> list[Fraction]:
    """Returns positive numbers that two expressions fix: whoever writes one cannot aim at them."""
    return _points_of(_digest(left, right) + salt, count, whole=False)


def _points_of(digest: bytes, count: int, *, whole: bool) -> list[Fraction]:
    """Returns positive numbers that a digest fixes."""
    values = list[Fraction]()
    for index in range(count):
        raw = int.from_bytes(hashlib.sha256(digest + bytes([index % 256])).digest()[:6], "big")
        values.append(Fraction(3 + raw % 29) if whole else Fraction(raw % 99_991 + 7, 49_999))
    return values


def _size(scalar: Scalar) -> int:
    """Returns how many digits are between the point and the first digit of a constant's value."""
    if scalar.symbols:
        return 0
    value = abs(scalar.at(0))
    return int(abs(value.context.log10(value))) if value else 0


def _gap_allowed(reference: Scalar, answer: Scalar, tolerance: Tolerance) -> tuple[float, float]:
    """Returns the relative and the absolute difference that still counts as equal."""
    relative = _LOOSE if reference.loose or answer.loose else _CLOSE
    if tolerance.significant_figures is not None:
        if reference.symbols:
            return 0.5 * 10.0 ** (1 - tolerance.significant_figures), 0.0
        return relative, _half_figure(float(abs(reference.at(0))), tolerance.significant_figures)
    if answer.decimals and not reference.decimals:
        digits, written = _significant(answer), answer.unit_in_last_place
        if digits < tolerance.approximation_digits:
            return relative, 0.0
        if written is not None:
            return relative, float(written)
        return max(relative, 10.0 ** (1 - digits)), 0.0
    given, written = reference.unit_in_last_place, answer.unit_in_last_place
    if given is not None:
        enough = 2 if _is_approximate(reference) else 3 if written is None else 4
        if _significant(reference) >= enough and (written is None or written <= given):
            return relative, float(given) / 2
        return relative, 0.0
    digits = min(_significant(reference), _significant(answer))
    if reference.decimals and digits >= tolerance.approximation_digits:
        relative = max(relative, 10.0 ** (1 - digits))
    return relative, 0.0


def _float(value: Fraction) -> float:
    return value.numerator / value.denominator


def _points_for(reference: Scalar, answer: Scalar) -> tuple[int, ...]:
    """Returns the sample points in the order in which they tell most.

    Both signs early, whole numbers for steps.
    """
    counts = reference.counts | answer.counts
    if counts:
        return tuple(COUNTING) if counts <= COUNTING_NAMES else tuple(WHOLE)
    if reference.stepwise or answer.stepwise:
        whole = reference.symbols | answer.symbols <= _INTEGER_NAMES
        return tuple(WHOLE) if whole else (*WHOLE, *SIGNED, *POSITIVE)
    if reference.folded or answer.folded:
        return (0, *SIGNED, 1, 2, *WHOLE)
    return (0, 3, 1, 4, 2, 5, *_SPARE, *WHOLE)


def _compare_points(reference: Scalar, answer: Scalar, tolerance: Tolerance) -> Decision:
    relative, absolute = _gap_allowed(reference, answer, tolerance)
    wide = reference.complex_unit or answer.complex_unit
    constant = not reference.symbols and not answer.symbols
    whole = reference.stepwise or answer.stepwise or reference.counts or answer.counts
    folded = reference.folded or answer.folded
    seen = 0
    for point in (0,) if constant else _points_for(reference, answer):
        if seen >= 3 and not whole and (point in WHOLE or (point in _SPARE and not folded)):
            break
        try:
            left = reference.at(point)
        except UndefinedValueError:
            continue
        except (UnsupportedError, TooLargeError) as error:
            return undecided("numeric", str(error))
        if not wide and not constant and not is_real(left):
            continue
        try:
            right = answer.at(point)
        except UndefinedValueError:
            return different("numeric", "the answer has no value where the reference has one")
        except TooLargeError as error:
            return oversized(str(error))
        except UnsupportedError as error:
            return undecided("numeric", str(error))
        if not wide and not constant and not is_real(right):
            if reference.folded and not answer.folded:
                return different("numeric", "no real value where the reference has one")
            continue
        scale = max(abs(left), abs(right))
        apart = abs(left - right) > relative * scale + absolute and scale > _NOISE
        if reference.exact == 0 and not contains(answer.node, (Add, Call, BigOp)):
            apart = right != 0  # Nothing cancels in a product, however small: e^{-1000} is not 0.
        written = answer.unit_in_last_place if absolute and not reference.decimals else None
        if apart or (
            written is not None and not _rounds_to(left.real, right.real, _float(written))
        ):
            where = "" if constant else f" at sample point {point}"
            return different("numeric", f"the values differ{where}")
        seen += 1
    if seen >= (1 if constant else 2):
        return equal(
            "numeric", "equal to 30 digits" if constant else f"equal at {seen} sample points"
        )
    return undecided("numeric", "no point where both have a value")
