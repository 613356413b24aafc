"""Rules for single values: numbers, expressions, quantities, ratios, numbers in a base."""

import itertools
from fractions import Fraction
from itertools import pairwise
from typing import Any

from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, different, equal, undecided
from rewardkit.verifiers.math._limits import TooLargeError, UndefinedValueError, UnsupportedError
from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BaseNum,
    BigO,
    BigOp,
    Builder,
    Call,
    Cases,
    Congruence,
    Const,
    Div,
    Ellipsis,
    Labelled,
    Listing,
    Matrix,
    Mul,
    Neg,
    Node,
    Num,
    PlusMinus,
    Pow,
    Quantifier,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
)
from rewardkit.verifiers.math._numeric import Evaluator
from rewardkit.verifiers.math._pairing import elementwise
from rewardkit.verifiers.math._rewrite import contains, free_symbols, replace, walk
from rewardkit.verifiers.math._rules_relations import piecewise, real_sets, subject_of
from rewardkit.verifiers.math._scalar import Scalar, is_literal
from rewardkit.verifiers.math._shapes import VALUES, all_of, is_angle, is_name, kind_name, last_side
from rewardkit.verifiers.math._units import Unit, changes_value, is_unit_word, parse_unit

__all__ = [
    "antiderivatives",
    "base_number",
    "is_unevaluated",
    "named_set",
    "quantity",
    "ratios",
    "value_of",
    "values",
]

_CONSTANTS_OF_INTEGRATION = ("C", "c", "K", "C_1", "c_1", "const")


def values(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares with a single value: a number or an expression."""
    value = value_of(answer, reference, comparer)
    if isinstance(value, Decision):
        return value
    if isinstance(value, Quantity) and not is_angle(value):
        unit = parse_unit(value.unit)
        if changes_value(value.unit):
            return different("units", "words that change the number")
        if isinstance(reference, Mul) and isinstance(
            quantified := _read_symbol_as_unit(reference), Quantity
        ):
            return quantity(comparer, quantified, value)
        value = Mul((value.body, Num(unit.factor))) if unit.dimension == (("#", 1),) else value.body
    if isinstance(value, BaseNum) and isinstance(reference, BaseNum):
        return based(comparer, reference, value)
    if isinstance(value, Seq) and len(value.items) == 1:
        value = value.items[0]
    if isinstance(value, Cases):
        if not free_symbols(reference):
            return different("structure", "cases where one value was asked for")
        return piecewise(comparer, reference, value)
    if isinstance(value, Listing):
        value = _mixed(value) or value
        if isinstance(value, Listing) and set(value.joins) == {"or"}:
            decision = all_of(comparer.compare(reference, item) for item in value.items)
            return decision if decision else different("structure", "several values")
    if contains(value, (Ellipsis,)) and not contains(reference, (Ellipsis,)):
        return different("structure", "dots where a value was asked for")
    if _depends_on_size(value) and not free_symbols(reference):
        return different("structure", "the larger of a number and an unknown")
    if isinstance(value, Listing | PlusMinus) or contains(value, (PlusMinus,)):
        return different("structure", "several values where one was asked for")
    if isinstance(value, Ratio) and len(value.parts) == 2:
        value = Div(*value.parts)
    if isinstance(
        value, Seq | SetOp | Builder | Matrix | Labelled | Congruence | BigO | Ellipsis | Rel
    ) or (isinstance(value, Const) and value.name in ("R", "Q", "Z", "N", "C", "empty")):
        return different("structure", f"a {kind_name(value)} where a value was asked for")
    if (
        contains(value, (Matrix,))
        and not contains(reference, (Matrix,))
        and not _determinants(value)
    ):
        return different("structure", "a matrix where a value was asked for")
    if _constant_name(reference) and _constant_name(value):
        return antiderivatives(comparer, reference, value)
    if is_angle(value) and not is_angle(reference) and isinstance(value, Quantity):
        plain = comparer.scalars(reference, value.body)
        return plain if plain else comparer.scalars(reference, value)
    return comparer.scalars(reference, value)


def _mixed(node: Listing) -> Node | None:
    """Returns `4 and 3/7` as a mixed number."""
    match node.items:
        case (Num(int(whole), None), Div(Num(int(top), None), Num(int(bottom), None))):
            if node.joins == ("and",) and 0 < top < bottom and whole > 0:
                return Num(whole + Fraction(top, bottom))
    return None


def based(comparer: Comparer, reference: BaseNum, answer: BaseNum) -> Decision:
    same = reference == answer
    return (equal if same else different)(
        "exact", "digits and base" if same else "other digits or another base"
    )


def base_number(comparer: Comparer, reference: BaseNum, answer: Node) -> Decision:
    value = value_of(answer, reference, comparer)
    if isinstance(value, BaseNum):
        return based(comparer, reference, value)
    return different("structure", "a number without the base that was asked for")


def antiderivatives(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares up to an additive constant: both sides carry one."""
    left = replace(reference, {Sym(_constant_name(reference)): Num(0)})
    right = replace(answer, {Sym(_constant_name(answer)): Num(0)})
    names = sorted(free_symbols(left) | free_symbols(right))
    differences = list[Any]()
    for point in (0, 1, 2, 3, 4):
        try:
            a = comparer.value_at(left, point)
            b = comparer.value_at(right, point)
        except (UndefinedValueError, UnsupportedError, TooLargeError):
            continue
        differences.append((a - b).real)
    if len(differences) < 3 or not names:
        return undecided("numeric", "no point where both have a value")
    spread = max(differences) - min(differences)
    same = spread <= 1e-25 * (1 + max(abs(d) for d in differences))
    return (equal if same else different)(
        "numeric", "equal up to a constant" if same else "the difference is not constant"
    )


def quantity(comparer: Comparer, reference: Quantity, answer: Node) -> Decision:
    """Compares values with units.

    Convertible units convert, a missing unit is taken as the reference's.
    """
    value = value_of(answer, reference, comparer)
    if isinstance(value, Decision):
        return value
    value = _read_symbol_as_unit(value)
    if isinstance(value, Call) and value.name == "approx" and isinstance(value.args[0], Quantity):
        inner = value.args[0]
        value = Quantity(Call("approx", (inner.body,)), inner.unit)
    if not isinstance(value, Quantity):
        if is_angle(reference) and contains(value, (Const,)) and values(comparer, reference, value):
            return equal("units", "radians and degrees")
        return comparer.compare(reference.body, value)
    mine, theirs = parse_unit(reference.unit), parse_unit(value.unit)
    return converted(comparer, reference.body, value.body, mine, theirs)


def _generic(one: Unit, other: Unit) -> bool:
    """Returns True for `square units` beside `cm^2` or beside no unit at all."""
    if len(one.dimension) != 1 or one.dimension[0][0] != "unit":
        return False
    power = one.dimension[0][1]
    return other.dimension in ((("unit", power),), (("L", power),), ())


def converted(
    comparer: Comparer, reference: Node, answer: Node, mine: Unit, theirs: Unit
) -> Decision:
    if _generic(mine, theirs) or _generic(theirs, mine):
        return comparer.compare(reference, answer)
    if mine.dimension != theirs.dimension:
        if not theirs.dimension and not mine.dimension:
            return comparer.compare(reference, answer)
        if not theirs.dimension and theirs.noun in ("", mine.noun):
            return comparer.compare(reference, answer)
        if {mine.dimension, theirs.dimension} <= {(("pound", 1),), (("GBP", 1),), (("M", 1),)}:
            return comparer.compare(reference, answer)
        return different("units", "another unit")
    if mine.noun and theirs.noun and not _same_noun(mine.noun, theirs.noun):
        return different("units", f"{theirs.noun} where {mine.noun} was asked for")
    if (
        mine.factor == theirs.factor
        and mine.offset == theirs.offset
        and mine.pi_power == theirs.pi_power
    ):
        return comparer.compare(reference, answer)
    left = _in_base_units(reference, mine)
    right = _in_base_units(answer, theirs)
    return comparer.scalars(left, right)


def ratios(comparer: Comparer, reference: Ratio, answer: Node) -> Decision:
    answer = last_side(answer)
    if isinstance(answer, Ratio):
        if len(answer.parts) != len(reference.parts):
            return different("structure", "another number of parts")
        if any(isinstance(p, Ellipsis) for p in (*answer.parts, *reference.parts)):
            return elementwise(comparer, reference.parts, answer.parts)
        first_a, first_b = reference.parts[0], answer.parts[0]
        return all_of(
            comparer.compare(Mul((a, first_b)), Mul((b, first_a)))
            for a, b in zip(reference.parts[1:], answer.parts[1:], strict=True)
        )
    if len(reference.parts) == 2:
        return values(comparer, Div(*reference.parts), answer)
    return different("structure", "no ratio")


def named_set(comparer: Comparer, reference: Const, answer: Node) -> Decision:
    if reference.name == "empty":
        target = last_side(answer)
        same = target == reference or (
            isinstance(target, Seq) and target.opening == "{" and not target.items
        )
        return (equal if same else different)("structure", "the empty set" if same else "not empty")
    if reference.name in ("R",):
        return real_sets(comparer, reference, answer)
    if reference.name in ("Q", "Z", "N", "C"):
        target = subject_of(answer)[1]
        return (equal if target == reference else different)("structure", "a named set")
    return values(comparer, reference, answer)


def value_of(answer: Node, reference: Node, comparer: Comparer) -> "Node | Decision":
    """Returns the value that an answer commits to: the last side of a true chain of equalities."""
    if isinstance(answer, Quantifier):
        if not free_symbols(reference) and any(_restricts(c) for c in answer.conditions):
            return different("structure", "a value under a condition")
        answer = answer.body
    if isinstance(answer, Apply) and len(answer.args) == 2 and answer.name in ("C", "P", "A"):
        return Call("binom" if answer.name == "C" else "permutations", answer.args)
    if (
        isinstance(answer, Pow)
        and isinstance(answer.base, Sym)
        and answer.base.name[:2] == "C_"
        and answer.base.name[2:].isdigit()
    ):
        return Call("binom", (Num(int(answer.base.name[2:8])), answer.exponent))
    if not isinstance(answer, Rel):
        return answer
    if any(op not in ("=", "~", "=>") for op in answer.ops):
        return different("structure", "a relation where a value was asked for")
    sides = list(answer.sides)
    if sides[0] == sides[-1]:
        return different("chain", "an identity")
    if len(sides) == 2 and is_name(sides[1]) and not free_symbols(sides[0]):
        sides.reverse()
    exact = sides
    if "~" in answer.ops:
        cut = answer.ops.index("~") + 1
        exact = sides[:cut] if not isinstance(sides[0], Sym) or cut > 1 else sides
        if _far_apart(sides[cut - 1], sides[cut]):
            return different("chain", "an approximation that is none")
        if _wants_decimal(reference) and not any(is_literal(s) for s in exact[-1:]):
            exact = sides
    if len(exact) > 1:
        broken = _broken_chain(exact, comparer)
        if broken is not None:
            return broken
    value = exact[-1]
    if len(exact) == len(sides) and "~" in answer.ops and answer.ops[-1] == "~":
        value = Call("approx", (value,))
    return value


def _far_apart(exact: Node, rounded: Node) -> bool:
    """Returns True if x ≈ y holds not even to one part in twenty."""
    left, right = Scalar(exact), Scalar(rounded)
    if left.symbols or right.symbols:
        return False
    try:
        a, b = left.at(0), right.at(0)
    except (UndefinedValueError, UnsupportedError, TooLargeError):
        return False
    return bool(abs(a - b) > abs(a) / 20)


def _restricts(condition: Node) -> bool:
    """Returns True for `if x > 2`; "for all x" and `k ∈ ℤ` restrict nothing."""
    return not (
        isinstance(condition, Sym) or (isinstance(condition, Rel) and "in" in condition.ops)
    )


def _wants_decimal(reference: Node) -> bool:
    return isinstance(reference, Num) and reference.places is not None


def _broken_chain(sides: list[Node], comparer: Comparer) -> Decision | None:
    """Returns why a chain of equalities is no answer.

    It is false, or its left side is an unsolved equation.
    """
    closed = [s for s in sides if not free_symbols(s) and isinstance(s, (*VALUES, Const, Quantity))]
    for a, b in itertools.pairwise(closed):
        if comparer.compare(a, b).same is False and comparer.compare(b, a).same is False:
            return different("chain", "a chain of equalities that is false")
    first = sides[0]
    names = free_symbols(first)
    if (
        len(names) == 1
        and not is_name(first)
        and not isinstance(first, Apply)
        and _is_unsolved(first, next(iter(names)))
    ):
        return different("chain", "an equation that is not solved")
    if len(sides) == 2 and names and free_symbols(sides[1]) >= names and isinstance(first, Sym):
        return different("chain", "an equation that is not solved")
    return None


_ASKED_FOR = frozenset("sin cos tan cot sec csc binom factorial det".split())
"""Functions whose value is asked for as such: cos x = 3/5."""


def _is_unsolved(node: Node, name: str) -> bool:
    """Returns True if the equation asks for its symbol, which its right side is not.

    The left side is a·x + b, a power of x, 1/x or e^x; cos x = 3/5 may be what was asked for.
    """
    match node:
        case (
            Pow(Sym(), _) | Pow(_, Sym()) | Div(_, Sym()) | Call("sqrt" | "ln" | "log" | "logb", _)
        ):
            return True
    try:
        values = [Evaluator({name: k}).value(node) for k in (0, 1, 2, 3)]
    except (UndefinedValueError, UnsupportedError, TooLargeError):
        return False
    steps = [b - a for a, b in pairwise(values)]
    linear = abs(steps[0] - steps[1]) < 1e-20 and abs(steps[1] - steps[2]) < 1e-20
    return bool(linear and not (abs(steps[0] - 1) < 1e-20 and abs(values[0]) < 1e-20))


def is_unevaluated(reference: Node, answer: Node) -> bool:
    """Returns True if a plain number was asked for and the answer is the task itself.

    37 × 43, 3^4 + 2^2, a sum, an integral, max(5, 85); but 2·10^3, 7! and a binomial are values.
    """
    if isinstance(reference, Quantity):
        reference = reference.body
    if not is_literal(reference):
        closed = isinstance(reference, (*VALUES, Const)) and not free_symbols(reference)
        value = answer.sides[-1] if isinstance(answer, Rel) else answer
        return closed and isinstance(value, BigOp) and not contains(reference, (BigOp,))
    value = answer.sides[-1] if isinstance(answer, Rel) else answer
    if isinstance(value, Quantity):
        value = value.body
    if is_literal(value) or free_symbols(value):
        return isinstance(value, BigOp)
    return any(_leaves_work(part) for part in walk(value))


def _is_numeral(node: Node) -> bool:
    """Returns True for a written number or a power or quotient of two."""
    match node:
        case Num():
            return True
        case Neg(body):
            return _is_numeral(body)
        case Pow(base, exponent) | Div(base, exponent):
            return _is_numeral(base) and _is_numeral(exponent)
        case _:
            return False


def _leaves_work(node: Node) -> bool:
    """Returns True for an operation on numbers that anybody would carry out."""
    match node:
        case BigOp() | Call("min" | "max" | "floor" | "ceil" | "mod" | "gcd" | "lcm", _):
            return True
        case Mul((Num(), Pow(Num(10), Num() | Neg(Num())))):
            return False
        case Add(parts) | Mul(parts):
            return sum(_is_numeral(part) for part in parts) > 1
        case Div(top, bottom):
            return any(isinstance(n, Num) and n.places is not None for n in (top, bottom)) or (
                isinstance(bottom, Div) and isinstance(top, Num)
            )
        case _:
            return False


def _unsigned(node: Node) -> Node:
    return node.body if isinstance(node, Neg) else node


def _constant_name(node: Node) -> str:
    """Returns the name of a constant of integration.

    It is a term C beside an expression in one other symbol; with two, as in mx + c or a + b + c, it
    is a symbol like the others.
    """
    if not isinstance(node, Add) or len(free_symbols(node)) != 2:
        return ""
    for term in node.terms:
        if isinstance(term, Sym) and term.name in _CONSTANTS_OF_INTEGRATION:
            rest = [t for t in node.terms if t is not term]
            plain = len(rest) == 1 and isinstance(_unsigned(rest[0]), Sym)
            return "" if plain or term.name in free_symbols(Add(tuple(rest))) else term.name
    return ""


def _depends_on_size(node: Node) -> bool:
    """Returns True for max(12, x): no few sample points show where it is another value."""
    return any(
        isinstance(part, Call) and part.name in ("max", "min", "abs", "sign") and free_symbols(part)
        for part in walk(node)
    )


def _determinants(node: Node) -> bool:
    return any(isinstance(n, Call) and n.name == "det" for n in walk(node))


def _in_base_units(node: Node, unit: Unit) -> Node:
    factors: list[Node] = [
        node,
        Num(unit.factor if unit.factor.denominator != 1 else unit.factor.numerator),
    ]
    if unit.pi_power:
        factors.append(Pow(Const("pi"), Num(unit.pi_power)))
    scaled: Node = Mul(tuple(factors))
    return Add((scaled, Num(unit.offset))) if unit.offset else scaled


def _same_noun(left: str, right: str) -> bool:
    a, b = set(left.split()), set(right.split())
    return a <= b or b <= a


def _read_symbol_as_unit(node: Node) -> Node:
    r"""Returns `15 m`, `12 \frac{m}{s}` or `9.8 m/s^2` with its bare letters read as a unit.

    The reference has a unit, so the answer may.
    """
    numbers, units = list[Node](), list[str]()
    for factor, inverse in _flat_factors(node, inverse=False):
        word = _unit_symbol(factor, inverse=inverse)
        if word:
            units.append(word)
        elif free_symbols(factor) or (units and not inverse):
            return node
        else:
            numbers.append(Div(Num(1), factor) if inverse else factor)
    if not units or not numbers:
        return node
    return Quantity(numbers[0] if len(numbers) == 1 else Mul(tuple(numbers)), " ".join(units))


def _flat_factors(node: Node, *, inverse: bool) -> list[tuple[Node, bool]]:
    """Returns the factors of a product of quotients, each with True if it stands below the line."""
    match node:
        case Mul(factors):
            return [pair for f in factors for pair in _flat_factors(f, inverse=inverse)]
        case Div(top, bottom) if free_symbols(node):
            below = _flat_factors(bottom, inverse=not inverse)
            return [*_flat_factors(top, inverse=inverse), *below]
        case Quantity(body, unit):
            return [*_flat_factors(body, inverse=inverse), (Sym(unit), inverse)]
        case _:
            return [(node, inverse)]


def _unit_symbol(node: Node, *, inverse: bool) -> str:
    """Returns a bare letter as a unit with its power: `s^-2`; '' for anything else."""
    sign = -1 if inverse else 1
    match node:
        case Sym("Omega"):
            name, power = "ohm", 1
        case Sym(name):
            power = 1
        case Pow(Sym(name), Num(int(power))) | Pow(Sym(name), Neg(Num(int(power)))):
            power = -power if isinstance(node.exponent, Neg) else power
        case _:
            return ""
    if len(name) > 1 and not is_unit_word(name):
        return ""
    return name if sign * power == 1 else f"{name}^{sign * power}"
