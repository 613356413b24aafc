"""Subsets of the real line: intervals.

Unions and the solution sets of inequalities in one variable.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rewardkit.verifiers.math._limits import (
    Meter,
    TooLargeError,
    UndefinedValueError,
    UnsupportedError,
)
from rewardkit.verifiers.math._nodes import (
    Add,
    Builder,
    Call,
    Const,
    Div,
    Listing,
    Mul,
    Neg,
    Node,
    Num,
    PlusMinus,
    Pow,
    Quantifier,
    Rel,
    Seq,
    SetOp,
    Sym,
    children,
)
from rewardkit.verifiers.math._numeric import DIGITS, Evaluator, compare, context, is_real
from rewardkit.verifiers.math._rewrite import free_symbols, replace, walk
from rewardkit.verifiers.math._scalar import infinity_sign

__all__ = ["RealSet", "is_set_like", "real_set"]

_TOLERANCE = 10.0 ** (14 - DIGITS)
_GRID = [k / 4 + 0.0137 for k in range(-240, 240)]
_FAR = 10**6
_INTEGERS = (Const("Z"), Const("N"))
_MOST_INTEGERS = 1_000


@dataclass(frozen=True, slots=True)
class RealSet:
    """A finite union of points and intervals.

    Membership at each breakpoint and in each gap between them.
    """

    points: tuple[Any, ...]
    """Breakpoints in increasing order."""
    at: tuple[bool, ...]
    """Membership of each breakpoint."""
    between: tuple[bool, ...]
    """Membership of each open gap: one more than there are points."""

    def same_as(self, other: "RealSet") -> bool:
        """Returns True if both sets have the same members, breakpoints compared to 36 digits."""
        mine, theirs = self.reduced(), other.reduced()
        return (
            mine.at == theirs.at
            and mine.between == theirs.between
            and all(_close(a, b) for a, b in zip(mine.points, theirs.points, strict=True))
        )

    def reduced(self) -> "RealSet":
        """Returns the set without breakpoints at which nothing changes."""
        points, at, between = list[Any](), list[bool](), [self.between[0]]
        for index, point in enumerate(self.points):
            if self.at[index] == between[-1] == self.between[index + 1]:
                continue
            points.append(point)
            at.append(self.at[index])
            between.append(self.between[index + 1])
        return RealSet(tuple(points), tuple(at), tuple(between))

    def __contains__(self, value: Any) -> bool:
        index = bisect_left(self.points, value)
        for near in (index - 1, index):
            if 0 <= near < len(self.points) and _close(self.points[near], value):
                return self.at[near]
        return self.between[index]

    @property
    def empty(self) -> bool:
        return not any(self.at) and not any(self.between)


def _close(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= _TOLERANCE * (1 + abs(a)))


def _build(points: Iterable[Any], member: Callable[[Any], bool]) -> RealSet:
    """Returns the set of the line whose membership can change only at `points`."""
    ordered = list[Any]()
    for point in sorted(points):
        if not ordered or not _close(ordered[-1], point):
            ordered.append(point)
    gaps = list[Any]()
    for index in range(len(ordered) + 1):
        if not ordered:
            gaps.append(context().mpf("0.3737"))
        elif index == 0:
            gaps.append(ordered[0] - 1 - abs(ordered[0]) / 7)
        elif index == len(ordered):
            gaps.append(ordered[-1] + 1 + abs(ordered[-1]) / 7)
        else:
            gaps.append(ordered[index - 1] + (ordered[index] - ordered[index - 1]) * 5 / 11)
    return RealSet(
        tuple(ordered), tuple(member(p) for p in ordered), tuple(member(g) for g in gaps)
    )


def _line() -> RealSet:
    return RealSet((), (), (True,))


def _points(values: list[Any]) -> RealSet:
    kept = list[Any]()
    for value in sorted(values):
        if not kept or not _close(kept[-1], value):
            kept.append(value)
    return RealSet(tuple(kept), (True,) * len(kept), (False,) * (len(kept) + 1))


def _integers_of(whole: RealSet, *, natural: bool) -> RealSet:
    """Returns the integers in a bounded set."""
    if natural:
        if 0 in whole:
            raise UnsupportedError("whether 0 is a natural number is open")
        whole = _build([0, *whole.points], lambda x: x > 0 and x in whole)
    if whole.between[0] or whole.between[-1]:
        raise UnsupportedError("infinitely many integers")
    if not whole.points:
        return whole
    low, high = int(whole.points[0]) - 1, int(whole.points[-1]) + 1
    if high - low > _MOST_INTEGERS:
        raise UnsupportedError("too many integers to list")
    ctx = context()
    return _points([ctx.mpf(n) for n in range(low, high + 1) if ctx.mpf(n) in whole])


def is_set_like(node: Node) -> bool:
    """Returns True if the node can only be a set of numbers.

    An inequality, a union, a half-open interval.
    """
    match node:
        case SetOp() | Const("R") | Builder():
            return True
        case Seq(items, opening, closing) if len(items) == 2:
            mixed = (opening, closing) in (("(", "]"), ("[", ")"))
            return mixed or (opening in "([" and any(infinity_sign(i) for i in items))
        case Rel(_, ops):
            return any(op in ("<", ">", "<=", ">=", "!=", "in", "notin") for op in ops)
        case Listing(items, _):
            return any(is_set_like(i) and not isinstance(i, Seq) for i in items)
        case Quantifier(body, _):
            return is_set_like(body)
        case _:
            return False


def real_set(node: Node, meter: Meter | None = None) -> RealSet:
    """Returns the subset of the reals that an interval, a union or an inequality describes.

    Raises:
        UnsupportedError: it is no such set, or its ends have symbols.
    """
    return _Builder(meter or Meter()).build(node)


class _Builder:
    """Builds sets within one budget."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def build(self, node: Node) -> RealSet:
        self.meter.spend(8)
        match node:
            case Const("R"):
                return _line()
            case Const("empty"):
                return RealSet((), (), (False,))
            case Seq(items, "{", _):
                return _points([self.number(i) for i in items])
            case Seq((low, high), opening, closing) if opening in "([" and closing in ")]":
                return self.interval(low, high, opening == "[", closing == "]")
            case SetOp("cup", parts):
                return self.combine([self.build(p) for p in parts], any)
            case SetOp("cap", parts):
                return self.combine([self.build(p) for p in parts], all)
            case SetOp(_, (whole, *rest)):
                return self.combine(
                    [self.build(p) for p in (whole, *rest)], lambda m: m[0] and not any(m[1:])
                )
            case Add((whole, Neg(removed))):
                return self.combine(
                    [self.build(whole), self.build(removed)], lambda m: m[0] and not m[1]
                )
            case Rel((Sym(), target), ("in",)):
                return self.build(target)
            case Rel((Sym(), target), ("notin",)):
                return self.combine([self.build(target)], lambda m: not m[0])
            case Rel((Sym(), PlusMinus(None, second, _)), ("!=",)):
                value = self.number(second)
                return self.combine([_points([value, -value])], lambda m: not m[0])
            case Rel():
                return self.solutions(node)
            case Listing(items, joins):
                return self.listing(items, joins)
            case Quantifier(body, conditions) | Builder(body, conditions):
                return self.conditioned(body, conditions)
            case _:
                raise UnsupportedError("no subset of the line")

    def number(self, node: Node) -> Any:
        if free_symbols(node):
            raise UnsupportedError("an end with symbols")
        try:
            value = Evaluator(meter=self.meter).value(node)
        except (UndefinedValueError, TooLargeError) as error:
            raise UnsupportedError(str(error)) from None
        if not is_real(value):
            raise UnsupportedError("an end that is not real")
        return value.real

    def interval(self, low: Node, high: Node, closed_low: bool, closed_high: bool) -> RealSet:
        left = None if infinity_sign(low) < 0 else self.number(low)
        right = None if infinity_sign(high) > 0 else self.number(high)
        points = [p for p in (left, right) if p is not None]

        def member(x: Any) -> bool:
            above = (
                left is None
                or (x > left and not _close(x, left))
                or (closed_low and _close(x, left))
            )
            below = (
                right is None
                or (x < right and not _close(x, right))
                or (closed_high and _close(x, right))
            )
            return bool(above and below)

        return _build(points, member)

    def listing(self, items: tuple[Node, ...], joins: tuple[str, ...]) -> RealSet:
        shared = list[Node]()
        subject: Node | None = None
        for item in items:
            # x ≠ 1, 2 leaves the second relation's left side out.
            if isinstance(item, Rel):
                subject = item
                shared.append(item)
            elif (
                isinstance(subject, Rel)
                and len(subject.ops) == 1
                and not isinstance(item, Seq | SetOp)
            ):
                shared.append(Rel((subject.sides[0], item), subject.ops))
            else:
                shared.append(item)
        sets = [self.build(i) for i in shared]
        if "or" in joins:
            return self.combine(sets, any)
        both = self.combine(sets, all)
        return (
            self.combine(sets, any)
            if both.empty and ("," in joins or ";" in joins or "and" in joins)
            else both
        )

    def conditioned(self, body: Node, conditions: tuple[Node, ...]) -> RealSet:
        named = isinstance(body, Rel) and body.sides[-1] in _INTEGERS
        sets = [] if named or isinstance(body, Sym) else [self.build(body)]
        for condition in conditions:
            if isinstance(condition, Sym) or (
                isinstance(condition, Rel) and condition.sides[-1] == Const("R")
            ):
                continue
            if isinstance(condition, Rel) and condition.sides[-1] in _INTEGERS:
                continue
            sets.append(self.build(condition))
        whole = self.combine(sets, all) if sets else _line()
        kinds = [
            c.sides[-1] for c in (body, *conditions) if isinstance(c, Rel) and c.ops == ("in",)
        ]
        for kind in kinds:
            if kind in _INTEGERS:
                whole = _integers_of(whole, natural=kind != Const("Z"))
        return whole

    def solutions(self, node: Rel) -> RealSet:
        """Returns the solutions of a chain of relations in one variable."""
        node = _without_infinite_ends(node)
        if len(node.sides) == 2 and any(infinity_sign(s) for s in node.sides):
            return _infinitely_bounded(node)
        names = sorted(free_symbols(node))
        if len(names) != 1 or any(op not in ("<", ">", "<=", ">=", "=", "!=") for op in node.ops):
            raise UnsupportedError("not an inequality in one variable")
        name, evaluator = names[0], Evaluator(meter=self.meter)

        def side(part: Node, x: Any) -> Any:
            value = evaluator.at(name, x, part)
            if not is_real(value):
                raise UndefinedValueError("not real here")
            return value.real

        def member(x: Any) -> bool:
            try:
                values = [side(part, x) for part in node.sides]
            except (UndefinedValueError, UnsupportedError):
                return False
            return all(
                compare(op, a, b, _TOLERANCE)
                for op, a, b in zip(node.ops, values, values[1:], strict=False)
            )

        points = list[Any]()
        try:
            for left, right in zip(node.sides, node.sides[1:], strict=False):
                for variant in _without_bars(Add((left, Neg(right)))):
                    top, bottom = _as_fraction(variant)
                    for part in (*_factors(top), *_factors(bottom)):
                        if free_symbols(part):
                            points += self.roots(partial(side, part))
            for part in {inner for whole in node.sides for inner in _turning_parts(whole)}:
                points += self.roots(partial(side, part))
        except TooLargeError as error:
            raise UnsupportedError(str(error)) from None
        return _build(points, member)

    def roots(self, function: Callable[[Any], Any]) -> list[Any]:
        """Returns where a function of one variable vanishes, jumps or has a pole."""
        polynomial = _polynomial(function)
        if polynomial is not None:
            if len(polynomial) == 1:
                return []
            self.meter.spend(400)
            return _polynomial_roots(polynomial)
        return _scan(function)

    def combine(self, sets: list[RealSet], rule: Callable[[list[bool]], bool]) -> RealSet:
        self.meter.spend(sum(len(s.points) for s in sets) * len(sets) // 4)
        return _build((p for s in sets for p in s.points), lambda x: rule([x in s for s in sets]))


def _without_infinite_ends(node: Rel) -> Rel:
    """Returns `0 < x` for `0 < x < ∞`."""
    sides, ops = node.sides, node.ops
    if len(sides) > 2 and ops[-1] in ("<", "<=") and infinity_sign(sides[-1]) > 0:
        sides, ops = sides[:-1], ops[:-1]
    if len(sides) > 2 and ops[0] in ("<", "<=") and infinity_sign(sides[0]) < 0:
        sides, ops = sides[1:], ops[1:]
    return Rel(sides, ops)


def _infinitely_bounded(node: Rel) -> RealSet:
    """Returns all numbers for x < ∞ and none for x > ∞."""
    left, right = node.sides
    sign, op = infinity_sign(right) or infinity_sign(left), node.ops[0]
    if infinity_sign(left):
        op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
    if not (isinstance(left, Sym) or isinstance(right, Sym)) or op not in ("<", ">", "<=", ">="):
        raise UnsupportedError("an infinite bound")
    return RealSet((), (), ((sign > 0) == (op in ("<", "<=")),))


def _without_bars(node: Node) -> list[Node]:
    """Returns the expression with each |u| replaced by u and by -u.

    Its zeros are among those of the variants.
    """
    bars = [n for n in walk(node) if isinstance(n, Call) and n.name == "abs"]
    if not 0 < len(bars) <= 3:
        return [node]
    first = bars[-1]
    inner = first.args[0]
    return [
        deep
        for choice in (inner, Neg(inner))
        for deep in _without_bars(replace(node, {first: choice}))
    ]


def _factors(node: Node) -> list[Node]:
    """Returns parts whose zeros together are those of a product, a power, a product minus 0."""
    match node:
        case Mul(factors):
            return [deep for factor in factors for deep in _factors(factor)]
        case Pow(base, Num()):
            return _factors(base)
        case Neg(body) | Add((body, Neg(Num(0)))):
            return _factors(body)
        case Add((Num(0), body)):
            return _factors(body)
        case _:
            return [node]


def _as_fraction(node: Node) -> tuple[Node, Node]:
    """Returns numerator and denominator of a sum or product of fractions."""
    one: Node = Num(1)
    match node:
        case Div(top, bottom):
            (a, b), (c, d) = _as_fraction(top), _as_fraction(bottom)
            return _times(a, d), _times(b, c)
        case Neg(body):
            a, b = _as_fraction(body)
            return Neg(a), b
        case Add(terms) if any(isinstance(n, Div) for t in terms for n in walk(t)):
            top, bottom = _as_fraction(terms[0])
            for term in terms[1:]:
                a, b = _as_fraction(term)
                top, bottom = Add((_times(top, b), _times(a, bottom))), _times(bottom, b)
            return top, bottom
        case Mul(factors):
            parts = [_as_fraction(f) for f in factors]
            top = Mul(tuple(p[0] for p in parts))
            return top, Mul(tuple(p[1] for p in parts)) if any(p[1] != one for p in parts) else one
        case _:
            return node, one


def _times(left: Node, right: Node) -> Node:
    one = Num(1)
    return right if left == one else left if right == one else Mul((left, right))


def _turning_parts(node: Node) -> list[Node]:
    """Returns the parts at whose zeros an expression may touch zero or have a pole.

    |part|, 1/part, √part.
    """
    found = [part for inner in children(node) for part in _turning_parts(inner)]
    match node:
        case Call("abs" | "sqrt" | "ln" | "log", (part, *_)) | Div(_, part):
            found.append(part)
    return [part for part in found if free_symbols(part)]


def _polynomial(function: Callable[[Any], Any]) -> list[Any] | None:
    """Returns the coefficients, highest first.

    If the function is a polynomial of degree at most 4.
    """
    ctx = context()
    try:
        values = [function(ctx.mpf(x)) for x in range(-3, 5)]
    except (UndefinedValueError, UnsupportedError):
        return None
    table, size = [values], max(abs(v) for v in values) + 1
    while len(table) < 6:
        table.append([b - a for a, b in zip(table[-1], table[-1][1:], strict=False)])
    if any(abs(v) > size * _TOLERANCE for v in table[5]):
        return None
    # Newton's forward differences at -3, expanded to powers of x.
    coefficients = [ctx.mpf(0)] * 5
    basis = [ctx.mpf(1)]
    scale = 1
    for order in range(5):
        scale *= max(order, 1)
        for power, value in enumerate(basis):
            coefficients[power] += table[order][0] / scale * value
        shifted = [ctx.mpf(0), *basis]
        basis = [s + (3 - order) * b for s, b in zip(shifted, [*basis, 0], strict=True)]
    while len(coefficients) > 1 and abs(coefficients[-1]) <= size * _TOLERANCE:
        coefficients.pop()
    return list(reversed(coefficients))


def _polynomial_roots(coefficients: list[Any]) -> list[Any]:
    """Returns the real roots of a polynomial; a double root is one of its derivative, too."""
    ctx, degree = context(), len(coefficients) - 1
    tiny = ctx.mpf(10) ** -30 * (1 + max(abs(c) for c in coefficients))
    if degree < 1:
        return []
    if degree == 1:
        return [-coefficients[1] / coefficients[0]]
    if degree == 2:
        a, b, c = coefficients
        square = b * b - 4 * a * c
        root = ctx.sqrt(square) if square > tiny else ctx.mpf(0)
        return [] if square < -tiny else [(-b - root) / (2 * a), (-b + root) / (2 * a)]
    slopes = [c * (degree - i) for i, c in enumerate(coefficients[:-1])]
    doubled = [r for r in _polynomial_roots(slopes) if abs(ctx.polyval(coefficients, r)) <= tiny]
    if doubled:
        rest = coefficients
        for _ in range(2):
            rest = _divided(rest, doubled[0])
        return [doubled[0], *_polynomial_roots(rest)]
    try:
        roots = ctx.polyroots(coefficients, maxsteps=100, extraprec=200, error=False)
    except ctx.NoConvergence:
        raise UnsupportedError("roots that are not found") from None
    return [r.real for r in roots if abs(ctx.im(r)) <= ctx.mpf(10) ** -18 * (1 + abs(r))]


def _divided(coefficients: list[Any], root: Any) -> list[Any]:
    """Returns the polynomial divided by (x - root), the remainder dropped."""
    quotient = [coefficients[0]]
    for coefficient in coefficients[1:-1]:
        quotient.append(coefficient + quotient[-1] * root)
    return quotient


def _scan(function: Callable[[Any], Any]) -> list[Any]:
    ctx = context()
    found = list[Any]()
    previous: tuple[Any, Any] | None = None
    for x in (-_FAR, *_GRID, _FAR):
        here = ctx.mpf(x)
        try:
            value = function(here)
        except (UndefinedValueError, UnsupportedError):
            value = None
        if previous is not None:
            before = previous[1]
            changes = (before is None) != (value is None)
            if changes or (before is not None and value is not None and before * value < 0):
                found.append(_bisect(function, previous[0], here, before))
        if value is not None and value == 0:
            found.append(here)
        previous = (here, value)
    return found


def _bisect(function: Callable[[Any], Any], low: Any, high: Any, at_low: Any) -> Any:
    for _ in range(170):
        middle = (low + high) / 2
        try:
            value = function(middle)
        except (UndefinedValueError, UnsupportedError):
            value = None
        if value is not None and value == 0:
            return middle
        same = (value is None) == (at_low is None) and (value is None or value * at_low > 0)
        low, high = (middle, high) if same else (low, middle)
    return _snap(low)


def _snap(value: Any) -> Any:
    """Returns the nearest simple fraction if the value is one to rounding.

    So that 1/3 is met exactly.
    """
    ctx = context()
    for bottom in range(1, 61):
        top = ctx.nint(value * bottom)
        if abs(value * bottom - top) < 1e-40:
            return top / bottom
    return value
