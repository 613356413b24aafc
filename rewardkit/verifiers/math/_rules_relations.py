"""Rules for statements: sets of reals, equations, definitions, families, growth, cases."""

from collections.abc import Sequence
from typing import Any

from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, different, equal, undecided
from rewardkit.verifiers.math._families import family
from rewardkit.verifiers.math._limits import TooLargeError, UndefinedValueError, UnsupportedError
from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BigO,
    Builder,
    Call,
    Cases,
    Const,
    Listing,
    Matrix,
    Neg,
    Node,
    PlusMinus,
    Quantifier,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    children,
)
from rewardkit.verifiers.math._numeric import Evaluator
from rewardkit.verifiers.math._pairing import elementwise, matching
from rewardkit.verifiers.math._rewrite import free_symbols, rebuild, replace, walk
from rewardkit.verifiers.math._scalar import own_points
from rewardkit.verifiers.math._sets import is_set_like, real_set
from rewardkit.verifiers.math._shapes import VALUES, all_of, is_angle, is_name, last_side, mentions
from rewardkit.verifiers.math._spellings import reindexed

__all__ = ["asymptotics", "families", "piecewise", "real_sets", "relation", "subject_of"]

_GROWTH_SIZES = ((10**60, 10**400, 10**4000), (200, 400, 800))
"""Where growth is compared: far out, and nearer for what is too large there, such as 2^n."""


def real_sets(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares subsets of the line: intervals, unions, inequalities, sets of points."""
    subject, target = subject_of(reference)
    other, given = subject_of(answer)
    try:
        left = real_set(target, comparer.meter)
    except (UnsupportedError, UndefinedValueError, TooLargeError):
        return symbolic_sets(comparer, reference, answer)
    if (
        isinstance(answer, Rel)
        and answer.ops == ("=",)
        and not isinstance(answer.sides[1], Seq | SetOp | Const | Builder)
    ):
        return different("structure", "a single value where a set was asked for")
    if isinstance(given, VALUES) and not isinstance(given, Add):
        return different("structure", "a single value where a set was asked for")
    if (
        subject
        and other
        and subject != other
        and isinstance(reference, Rel)
        and isinstance(answer, Rel)
    ):
        return different("sets", "another unknown")
    try:
        right = real_set(given, comparer.meter)
    except (UnsupportedError, UndefinedValueError, TooLargeError) as error:
        return different("sets", f"no set of numbers: {error}")
    same = left.same_as(right)
    return (equal if same else different)("sets", "the same numbers" if same else "other numbers")


def symbolic_sets(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares sets whose ends have symbols, part by part."""
    match subject_of(reference)[1], subject_of(answer)[1]:
        case Seq(a, opening_a, closing_a), Seq(b, opening_b, closing_b):
            if (opening_a, closing_a) != (opening_b, closing_b):
                return different("structure", "other brackets")
            return elementwise(comparer, a, b)
        case SetOp(op_a, a), SetOp(op_b, b) if op_a == op_b:
            return matching(comparer, list(a), list(b))
        case Rel() as a, Rel() as b:
            return relations(comparer, a, b)
        case Builder(body_a, conditions_a), Builder(body_b, conditions_b):
            return all_of(
                [
                    comparer.compare(body_a, body_b),
                    elementwise(comparer, conditions_a, conditions_b),
                ]
            )
        case Listing(a, _), Listing(b, _):
            return matching(comparer, list(a), list(b))
        case Const() as a, b:
            return (equal if a == b else different)("structure", "a named set")
        case _:
            return undecided("structure", "sets that are not of numbers")


def relation(comparer: Comparer, reference: Rel, answer: Node) -> Decision:
    """Compares with an equation, an assignment, a definition or an inequality."""
    if reference.ops[0] in ("sim", "parallel", "perp"):
        swapped = isinstance(answer, Rel) and answer.ops == reference.ops
        same = swapped and set(children(answer)) == set(reference.sides)
        return (equal if same else different)("structure", "the same figures" if same else "others")
    if "~" in reference.ops:
        return approximate(comparer, reference, answer)
    if is_set_like(reference):
        return real_sets(comparer, reference, answer)
    if isinstance(answer, Quantifier):
        answer = answer.body
    left, right = reference.sides[0], reference.sides[-1]
    if _is_periodic(reference):
        return families(comparer, reference, answer)
    if isinstance(left, Apply) and _is_definition(reference):
        return definition(comparer, reference, answer)
    if not isinstance(answer, Rel):
        if isinstance(answer, Listing) and not isinstance(right, Listing | PlusMinus | Seq):
            return different("structure", "several values where one was asked for")
        if is_name(left) or isinstance(right, Seq | Matrix | SetOp | PlusMinus | Ratio):
            return comparer.compare(right, answer)
        return different("structure", "no equation")
    if is_name(left) and not free_symbols(right) and not isinstance(answer.sides[0], Sym | Seq):
        value = comparer.compare(right, answer)
        return value if value else relations(comparer, reference, answer)
    if isinstance(left, Seq | Ratio) or isinstance(
        right, Seq | Matrix | SetOp | PlusMinus | Const | Ratio
    ):
        if not _same_subject(reference, answer):
            return different("structure", "another unknown")
        return comparer.compare(right, answer.sides[-1])
    if isinstance(answer.sides[0], Apply) and is_name(left) and _is_definition(answer):
        return comparer.compare(right, answer.sides[-1])
    return relations(comparer, reference, _with_index_of(reference, answer))


def _with_index_of(reference: Rel, answer: Rel) -> Rel:
    """Returns `a_k = 2k + 1` as `a_n = 2n + 1` where the reference has the index n."""
    match reference.sides[0], answer.sides[0]:
        case Sym(wanted), Sym(given) if wanted != given:
            letter, _, new = wanted.partition("_")
            other, _, old = given.partition("_")
            bound = new in free_symbols(reference.sides[-1]) and old in free_symbols(answer)
            if letter == other and bound and new not in free_symbols(answer):
                return Rel(tuple(reindexed(side, old, new) for side in answer.sides), answer.ops)
    return answer


def approximate(comparer: Comparer, reference: Rel, answer: Node) -> Decision:
    """A reference with ≈: its exact part or its decimals will do."""
    decisions = [
        comparer.compare(side, answer) for side in reference.sides if not isinstance(side, Sym)
    ]
    return next((d for d in decisions if d), decisions[-1])


def definition(comparer: Comparer, reference: Rel, answer: Node) -> Decision:
    """Compares f(x) = …: the argument's name is bound, the function's is not."""
    head, body = reference.sides[0], reference.sides[-1]
    if not isinstance(head, Apply):
        return undecided("structure")
    if isinstance(answer, Rel) and answer.ops[-1] == "=":
        other = answer.sides[0]
        if isinstance(other, Apply) and len(other.args) == len(head.args):
            if other.name != head.name and len(reference.sides) == 2:
                return different("structure", "another function")
            body_symbols = free_symbols(answer.sides[-1])
            if any(
                a != b and isinstance(a, Sym) and a.name in body_symbols
                for a, b in zip(head.args, other.args, strict=True)
            ):
                return different("structure", "another argument than the formula's")
            renamed: dict[Node, Node] = {
                b: a for a, b in zip(head.args, other.args, strict=True) if isinstance(b, Sym)
            }
            return comparer.compare(body, replace(answer.sides[-1], renamed))
        return (
            comparer.compare(body, answer.sides[-1])
            if is_name(other)
            else relations(comparer, reference, answer)
        )
    return comparer.compare(body, answer)


def relations(comparer: Comparer, reference: Rel, answer: Rel) -> Decision:
    """Compares two equations or inequalities up to a factor and the exchange of sides."""
    if len(reference.sides) != 2 or len(answer.sides) != 2:
        if reference.ops == answer.ops:
            return elementwise(comparer, reference.sides, answer.sides)
        return different("structure", "another chain of relations")
    left, right = _difference(reference), _difference(answer)
    flips = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    op_a, op_b = reference.ops[0], answer.ops[0]
    if op_a != op_b and flips.get(op_a) != op_b:
        return different("structure", "another relation")
    ratios = list[Any]()
    for point in (0, 3, 1, 4, 2, 5, 12, 13):
        try:
            a, b = comparer.value_at(left, point), comparer.value_at(right, point)
        except (UndefinedValueError, TooLargeError):
            continue
        except UnsupportedError as error:
            return structural(comparer, reference, answer, str(error))
        if abs(a) < 1e-30 or abs(b) < 1e-30:
            if abs(a) < 1e-30 and abs(b) < 1e-30:
                continue
            return different("numeric", "only one of the equations holds at a sample point")
        ratios.append(a / b)
    if len(ratios) < 3:
        return undecided("numeric", "no point where both have a value")
    if any(abs(r - ratios[0]) > 1e-38 * abs(ratios[0]) for r in ratios):
        return different("numeric", "the equations have other solutions")
    if not _ratio_confirmed(comparer, left, right):
        return different("numeric", "the equations differ at other points")
    if op_a != "=" and op_a != "!=" and (ratios[0].real > 0) != (op_a == op_b):
        return different("numeric", "the inequality points the other way")
    if abs(ratios[0].real) > 1e12 or abs(ratios[0].real) < 1e-12:
        return undecided("numeric", "an equation times an extreme factor")
    return equal("numeric", "the same equation up to a factor")


def _ratio_confirmed(comparer: Comparer, left: Node, right: Node) -> bool:
    """Returns True if two expressions keep their ratio at points that the answer itself fixes."""
    names = sorted(free_symbols(left) | free_symbols(right))
    ratios = list[Any]()
    for salt in (b"1", b"2"):
        points = own_points(left, right, len(names), salt=salt)
        symbols = dict(zip(names, points, strict=True))
        try:
            a, b = (
                Evaluator(symbols, digits=150, meter=comparer.meter).value(n) for n in (left, right)
            )
        except (UndefinedValueError, UnsupportedError, TooLargeError):
            return True
        if a == 0 or b == 0:
            return bool(a == b)
        ratios.append(a / b)
    return bool(abs(ratios[0] - ratios[1]) <= abs(ratios[0]) * ratios[0].context.mpf(10) ** -120)


def structural(comparer: Comparer, reference: Node, answer: Node, why: str) -> Decision:
    if reference == answer:
        return equal("canonical", "the same expression")
    return undecided("structure", why)


def families(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares congruences and families with an integer parameter."""
    try:
        name, left = family(reference, comparer.meter)
    except UnsupportedError:
        if isinstance(reference, Quantifier):
            inner = answer.body if isinstance(answer, Quantifier) else answer
            return comparer.compare(reference.body, inner)
        return structural(comparer, reference, answer, "a congruence with symbols")
    try:
        other, right = family(answer, comparer.meter)
        same = left.same_as(right)
    except UnsupportedError as error:
        return different("families", f"no family of values: {error}")
    if name and other and name != other:
        return different("families", "another unknown")
    return (equal if same else different)("families", "the same values" if same else "other values")


def asymptotics(comparer: Comparer, reference: BigO, answer: Node) -> Decision:
    """Compares classes of growth.

    Equal if the ratio of the functions tends to a positive constant.
    """
    answer = last_side(answer)
    if isinstance(answer, Quantity):
        answer = answer.body  # O(n^2) time
    if not isinstance(answer, BigO) or answer.name != reference.name:
        return different("structure", "another class of growth")
    wanted, given = _without_sizes(reference.body), _without_sizes(answer.body)
    names = free_symbols(wanted) | free_symbols(given)
    if not names:
        return equal("asymptotics", "both constant")
    if len(names) != 1:
        return comparer.compare(wanted, given)
    name = next(iter(names))
    for sizes in _GROWTH_SIZES:
        ratios = _growth_ratios(comparer, wanted, given, name, sizes)
        if ratios is not None:
            same = all(abs(r / ratios[-1] - 1) < 1e-12 for r in ratios)
            return (equal if same else different)(
                "asymptotics", "the same growth" if same else "another growth"
            )
    return comparer.compare(wanted, given)


def _without_sizes(node: Node) -> Node:
    """Returns |V| + |E| as V + E."""
    match node:
        case Call("abs", (Sym() as name,)):
            return name
        case _:
            return rebuild(node, _without_sizes)


def _growth_ratios(
    comparer: Comparer, left: Node, right: Node, name: str, sizes: Sequence[int]
) -> list[Any] | None:
    """Returns |left / right| at growing values of the variable, or None where one has no value."""
    ratios = list[Any]()
    for size in sizes:
        try:
            values = [Evaluator({name: size}, meter=comparer.meter).value(n) for n in (left, right)]
        except (UndefinedValueError, UnsupportedError, TooLargeError):
            return None
        if not all(values):
            return None
        ratios.append(abs(values[0] / values[1]))
    return ratios


def piecewise(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares piecewise values row by row, or as functions where one side has no rows."""
    answer = last_side(answer)
    if not (isinstance(reference, Cases) and isinstance(answer, Cases)):
        return comparer.scalars(reference, answer)
    if len(reference.rows) != len(answer.rows):
        return comparer.scalars(reference, answer)
    left = list(answer.rows)
    for value, condition in reference.rows:
        for index, (other, given) in enumerate(left):
            if comparer.compare(value, other) and same_condition(
                comparer, condition, given, reference, answer
            ):
                del left[index]
                break
        else:
            return different("structure", "a case that is missing")
    return equal("structure", "the same cases")


def same_condition(
    comparer: Comparer, left: Node | None, right: Node | None, reference: Cases, answer: Cases
) -> bool:
    if left is None or right is None:
        # "otherwise" is what the other rows leave.
        return True
    return bool(comparer.compare(left, right))


def _is_definition(node: Rel) -> bool:
    head = node.sides[0]
    return (
        isinstance(head, Apply)
        and node.ops[-1] == "="
        and all(isinstance(a, Sym) for a in head.args)
    )


def _same_subject(reference: Rel, answer: Rel) -> bool:
    left, right = reference.sides[0], answer.sides[0]
    return left == right or not (isinstance(left, Sym | Seq) and isinstance(right, Sym | Seq))


def subject_of(node: Node) -> tuple[str, Node]:
    """Returns the unknown of a statement about a set and the set: x ∈ A, E = A, x > 2."""
    match node:
        case Rel((Sym(name), Seq() | SetOp() | Const() | Builder() as target), ("in" | "=",)):
            return name, target
    names = free_symbols(node)
    return (next(iter(names)) if len(names) == 1 else ""), node


def _difference(node: Rel) -> Node:
    return Add((node.sides[0], Neg(node.sides[1])))


def _is_periodic(node: Rel) -> bool:
    """Returns True for x = ±π/3 + 2kπ without "k ∈ ℤ": a family by its look."""
    names = free_symbols(node.sides[-1])
    if (
        node.ops != ("=",)
        or not isinstance(node.sides[0], Sym)
        or len(names) != 1
        or not names <= frozenset("knml")
    ):
        return False
    return mentions(node.sides[-1], Const("pi")) or any(is_angle(n) for n in walk(node.sides[-1]))
