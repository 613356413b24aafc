"""Families with an integer parameter: x = π/4 + kπ, k ∈ ℤ; x ≡ 3 (mod 7); x = 5k + 2."""

from dataclasses import dataclass
from dataclasses import replace as replace_fields
from fractions import Fraction
from math import gcd, lcm
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
    Congruence,
    Const,
    Listing,
    Neg,
    Node,
    Num,
    PlusMinus,
    Quantifier,
    Rel,
    Sym,
)
from rewardkit.verifiers.math._numeric import Evaluator, context, is_real
from rewardkit.verifiers.math._rewrite import contains, free_symbols, rebuild, replace

__all__ = ["Family", "expand_plus_minus", "family"]

_MAX_OFFSETS = 256
_INTEGERS = (Const("Z"), Const("N"), Sym("Z+"), Sym("Z^+"))


@dataclass(frozen=True, slots=True)
class Family:
    """The numbers `offset + k · period` for the integers k and every offset."""

    period: Any
    offsets: tuple[Any, ...]
    natural: bool = False
    """The parameter runs through ℕ, so the family has a first member."""

    def same_as(self, other: "Family") -> bool:
        """Returns True if both families have the same members."""
        if self.natural != other.natural:
            return False
        if self.natural:
            return _same_values((self.period, *self.offsets), (other.period, *other.offsets))
        ratio = _simple_ratio(self.period, other.period)
        if ratio is None:
            return False
        common = self.period * ratio.numerator
        mine, theirs = self._over(common), other._over(common)
        return len(mine) == len(theirs) and all(
            min(abs(a - b), abs(abs(a - b) - common)) < 1e-25 * (1 + common)
            for a, b in zip(mine, theirs, strict=True)
        )

    def _over(self, common: Any) -> list[Any]:
        """Returns the members in [0, common), in order, without repeats."""
        ctx = context()
        times = int(ctx.nint(common / self.period))
        if times * len(self.offsets) > _MAX_OFFSETS:
            raise UnsupportedError("a family with too many members in a period")
        values = list[Any]()
        for offset in self.offsets:
            for k in range(times):
                value = (offset + k * self.period) / common
                value = value - ctx.floor(value + ctx.mpf(10) ** -30)
                values.append(max(value, ctx.mpf(0)) * common)
        values.sort()
        kept = list[Any]()
        for value in values:
            if not kept or abs(value - kept[-1]) > 1e-25 * (1 + common):
                kept.append(value)
        return kept


def _same_values(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    pairs = zip(sorted(left), sorted(right), strict=False)
    return len(left) == len(right) and all(abs(a - b) < 1e-25 * (1 + abs(a)) for a, b in pairs)


def _simple_ratio(a: Any, b: Any) -> Fraction | None:
    """Returns b/a as a fraction of small numbers, or None."""
    ratio = b / a
    for bottom in range(1, 61):
        top = context().nint(ratio * bottom)
        if top > 0 and abs(ratio * bottom - top) < 1e-30:
            return Fraction(int(top), bottom)
    return None


def expand_plus_minus(node: Node) -> list[Node]:
    """Returns the branches of an expression: all its ± take one sign together, its ∓ the other."""
    if not contains(node, (PlusMinus,)):
        return [node]
    return [_branch(node, sign) for sign in (1, -1)]


def _branch(node: Node, sign: int) -> Node:
    if isinstance(node, PlusMinus):
        second = _branch(node.second, sign)
        signed = second if (sign > 0) != node.flipped else Neg(second)
        return signed if node.first is None else Add((_branch(node.first, sign), signed))
    return rebuild(node, lambda inner: _branch(inner, sign))


def family(node: Node, meter: Meter | None = None) -> tuple[str, Family]:
    """Returns the unknown's name ('' where none is written) and the family that it ranges over.

    Raises:
        UnsupportedError: the node is no family with one integer parameter.
    """
    meter = meter or Meter()
    match node:
        case Congruence(Sym(name), right, modulus):
            return name.strip("?"), _congruence(right, modulus, meter)
        case Rel((Call("mod", (Sym(name), modulus)), rest), ("=",)):
            return name, _congruence(rest, modulus, meter)
        case Listing(items) if all(isinstance(item, Congruence) for item in items):
            several = [family(item, meter) for item in items]
            names = {name for name, _ in several}
            if len(names) != 1:
                raise UnsupportedError("congruences of different unknowns")
            return names.pop(), _union([members for _, members in several])
        case Rel((Sym(name), Builder() as target), ("in" | "=",)):
            return name, family(target, meter)[1]
        case Builder(Rel((Sym(name), Const("Z")), ("in",)), (condition,)):
            subject, found = family(condition, meter)
            if subject not in ("", name):
                raise UnsupportedError("a condition on another name")
            return "", found
        case Quantifier(Sym(name), (Congruence(Sym(other)) as condition,)) if name == other:
            return family(condition, meter)
        case Quantifier(body, conditions) | Builder(body, conditions):
            if not all(_is_integer_range(c) for c in conditions):
                raise UnsupportedError("a condition that is no range of integers")
            names = {c.sides[0].name for c in conditions}  # type: ignore[union-attr]
            subject, found = _parametrised(body, frozenset(names), meter)
            natural = any(c.sides[1] != Const("Z") for c in conditions)  # type: ignore[union-attr]
            return subject, replace_fields(found, natural=natural)
        case _:
            return _parametrised(node, frozenset(), meter)


def _is_integer_range(node: Node) -> bool:
    return (
        isinstance(node, Rel)
        and node.ops == ("in",)
        and isinstance(node.sides[0], Sym)
        and node.sides[1] in _INTEGERS
    )


def _congruence(right: Node, modulus: Node, meter: Meter) -> Family:
    bodies = right.items if isinstance(right, Listing) else expand_plus_minus(right)
    period = _real(modulus, meter)
    if period == 0:
        raise UnsupportedError("a congruence modulo 0")
    return Family(abs(period), tuple(_real(b, meter) for b in bodies))


def _real(node: Node, meter: Meter) -> Any:
    if free_symbols(node):
        raise UnsupportedError("a symbol where a number belongs")
    try:
        value = Evaluator(meter=meter).value(node)
    except (UndefinedValueError, TooLargeError) as error:
        raise UnsupportedError(str(error)) from None
    if not is_real(value):
        raise UnsupportedError("a number that is not real")
    return value.real


def _parametrised(body: Node, parameters: frozenset[str], meter: Meter) -> tuple[str, Family]:
    parts = body.items if isinstance(body, Listing) else (body,)
    subject, members = "", list[Node]()
    for part in parts:
        value = part
        if isinstance(part, Rel) and part.ops == ("=",) and isinstance(part.sides[0], Sym):
            subject, value = part.sides[0].name, part.sides[1]
        members += expand_plus_minus(value)
    families = [_linear(member, parameters, meter) for member in members]
    return subject, families[0] if len(families) == 1 else _union(families)


def _linear(node: Node, parameters: frozenset[str], meter: Meter) -> Family:
    names = free_symbols(node)
    if len(names) != 1 or (parameters and not names <= parameters):
        raise UnsupportedError("not one integer parameter")
    name = Sym(next(iter(names)))
    values = [_real(replace(node, {name: Num(k)}), meter) for k in (0, 1, 2, 5)]
    period = values[1] - values[0]
    if abs(period) < 1e-30 or any(
        abs(v - (values[0] + k * period)) > 1e-30 * (1 + abs(v))
        for v, k in zip(values[2:], (2, 5), strict=True)
    ):
        raise UnsupportedError("not linear in its parameter")
    return Family(abs(period), (values[0],))


def _union(families: list[Family]) -> Family:
    first = families[0]
    ratios = list[Fraction]()
    for other in families:
        ratio = _simple_ratio(first.period, other.period)
        if ratio is None:
            raise UnsupportedError("periods without a common multiple")
        ratios.append(ratio)
    top = lcm(*(r.numerator for r in ratios))
    bottom = gcd(*(r.denominator for r in ratios))
    common = first.period * top / bottom
    offsets = [value for f in families for value in f._over(common)]
    return Family(common, tuple(offsets))
