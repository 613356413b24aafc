"""Looking at the shape of answers.

Names and values of assignments, members of collections, dots of sequences.
"""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, different, equal
from rewardkit.verifiers.math._families import expand_plus_minus
from rewardkit.verifiers.math._limits import (
    MAX_ITEMS,
    Meter,
    TooLargeError,
    UndefinedValueError,
    UnsupportedError,
)
from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BaseNum,
    BigO,
    BigOp,
    Builder,
    Call,
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
    Percent,
    PlusMinus,
    Pow,
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
from rewardkit.verifiers.math._rewrite import contains, free_symbols, replace, walk
from rewardkit.verifiers.math._scalar import Scalar
from rewardkit.verifiers.math._units import parse_unit

__all__ = [
    "VALUES",
    "all_of",
    "assignments",
    "fill_dots",
    "has_unit_vectors",
    "is_angle",
    "is_name",
    "kind_name",
    "last_side",
    "members",
    "mentions",
    "roster",
    "same_variable_values",
    "split_at_dots",
    "unlabel",
    "whole_solutions",
    "without_domain",
    "without_repeats",
]

VALUES = (Num, Sym, Add, Mul, Div, Neg, Pow, Call, BigOp, Percent, BaseNum, Apply)
"""The nodes that are single values."""


def all_of(decisions: Any) -> Decision:
    """Returns the conjunction: the first difference, else undecided if any is, else the last."""
    unsure: Decision | None = None
    last = equal("structure", "no parts")
    for decision in decisions:
        if decision.same is False:
            return different(decision.tier, decision.why)
        if decision.same is None:
            unsure = decision
        last = decision
    return unsure if unsure is not None else equal(last.tier, "all parts agree")


def unlabel(node: Node) -> Node:
    """Returns the node without wrappers that say nothing: a group of one, an implied set."""
    if isinstance(node, Listing) and len(node.items) == 1:
        return node.items[0]
    return node


def without_domain(node: Node) -> Node:
    """Returns `a_n = 2n + 1` for `a_n = 2n + 1, n ≥ 1`: where a definition holds is no value."""
    match node:
        case Listing((Rel((head, body), ("=",)) as definition, *rest), _) if rest:
            named = isinstance(head, Apply) or (isinstance(head, Sym) and "_" in head.name)
            bound = free_symbols(body)
            if named and all(
                isinstance(part, Rel)
                and "=" not in part.ops
                and len(free_symbols(part)) == 1
                and free_symbols(part) <= bound
                for part in rest
            ):
                return definition
    return node


def kind_name(node: Node) -> str:
    names = {
        Num: "number", Rel: "relation", Seq: "sequence", Listing: "list", SetOp: "set", Builder: "set",
        Matrix: "matrix", Const: "constant", Labelled: "labelled list", Ratio: "ratio", PlusMinus: "±",
        Quantity: "value with a unit", Congruence: "congruence", Quantifier: "family", BigO: "class of growth",
    }  # fmt: skip
    return names.get(type(node), "value")


def is_name(node: Node) -> bool:
    """Returns True for what stands left of an assignment: x, f(x), ∠ABC, AB."""
    match node:
        case Sym() | Apply():
            return True
        case Mul(factors):
            return len(factors) <= 3 and all(
                isinstance(f, Sym) and f.name[:1].isupper() for f in factors
            )
        case Call("abs" | "det" | "norm" | "conj", (inner,)) | Quantity(inner, "deg"):
            return is_name(inner)
        case _:
            return False


def last_side(node: Node, *, keep: Callable[[Node], Node | None] = lambda _: None) -> Node:
    """Returns what an equation gives its left side.

    The value of `S = {1, 2}`, of `(a, b) = (1, 2)`.
    """
    kept = keep(node)
    if kept is not None:
        return kept
    if isinstance(node, Rel) and node.ops[-1] in ("=", "in") and len(node.sides) >= 2:
        return node.sides[-1]
    if isinstance(node, Quantifier):
        return last_side(node.body)
    return node


def has_unit_vectors(node: Node) -> bool:
    return any(isinstance(part, Const) and part.name.startswith("unit:") for part in walk(node))


def mentions(node: Node, target: Node) -> bool:
    return node == target or any(mentions(inner, target) for inner in children(node))


def assignments(items: Sequence[Node]) -> dict[str, Node] | None:
    """Returns name → value if every item is an assignment to a name of its own."""
    named = dict[str, Node]()
    for item in items:
        if not (
            isinstance(item, Rel)
            and len(item.sides) == 2
            and item.ops == ("=",)
            and isinstance(item.sides[0], Sym)
        ):
            return None
        if item.sides[0].name in named:
            return None
        named[item.sides[0].name] = item.sides[1]
    return named if len(named) > 1 else None


def members(node: Node) -> list[Node] | None:
    """Returns the values of an unordered collection, ± expanded, or None."""
    match node:
        case Seq(items, "{", _) | Listing(items, _):
            named = same_variable_values(node)
            source = named.items if isinstance(named, Listing) else items
            found = list[Node]()
            for item in source:
                value = (
                    item.sides[1]
                    if isinstance(item, Rel)
                    and item.ops == ("=",)
                    and isinstance(item.sides[0], Sym)
                    and named
                    else item
                )
                found += expand_plus_minus(value)
            return found if len(found) <= MAX_ITEMS else None
        case Rel((left, right), ("=" | "in",)) if is_name(left):
            return members(right)
        case Builder(body, conditions):
            return roster(body, conditions)
        case SetOp("cup", parts):
            found = []
            for part in parts:
                inner = members(part)
                if inner is None or not isinstance(part, Seq):
                    return None
                found += inner
            return found
        case _ if contains(node, (PlusMinus,)) and not isinstance(node, Seq):
            return expand_plus_minus(node)
        case Seq() | Rel() | SetOp() | Const() | Matrix() | Labelled():
            return None
        case _:
            return [node]


def same_variable_values(node: Node) -> Node | None:
    """Returns the values of `x = 2 or x = -5`, `x = -5, 2`, without the name."""
    if not isinstance(node, Listing):
        return None
    names, values = set[Node](), list[Node]()
    for item in node.items:
        if isinstance(item, Rel) and item.ops == ("=",) and is_name(item.sides[0]):
            names.add(item.sides[0])
            values.append(item.sides[1])
        else:
            values.append(item)
    return Listing(tuple(values), node.joins) if len(names) == 1 else None


def roster(body: Node, conditions: Sequence[Node]) -> list[Node] | None:
    """Returns the members of {2n : n = 1, 2, 3}, {n ∈ ℤ : 1 ≤ n ≤ 4}."""
    whole = whole_solutions(body, conditions)
    if whole is not None:
        return whole
    head = conditions[0]
    names = free_symbols(body)
    if len(names) != 1:
        return None
    variable = Sym(next(iter(names)))
    values: list[Node] = []
    if isinstance(head, Rel) and head.ops == ("=",) and head.sides[0] == variable:
        values = [head.sides[1], *conditions[1:]]
    elif (
        isinstance(head, Rel)
        and head.ops == ("in",)
        and isinstance(head.sides[1], Seq)
        and head.sides[1].opening == "{"
    ):
        values = list(head.sides[1].items)
    if any(isinstance(v, Ellipsis) for v in values):
        filled = fill_dots(values)
        values = filled if filled is not None else []
    if not values or len(values) > MAX_ITEMS or any(isinstance(v, Rel) for v in values):
        return None
    return [replace(body, {variable: value}) for value in values]


def whole_solutions(body: Node, conditions: Sequence[Node]) -> list[Node] | None:
    """Returns the members of {n ∈ ℤ : |n| ≤ 2}, if they are whole numbers between -500 and 500."""
    if isinstance(body, Rel) and body.ops == ("in",) and isinstance(body.sides[0], Sym):
        conditions, domain = (*conditions, body), body.sides[0]
    elif isinstance(body, Sym):
        domain = body
    else:
        return None
    ranges = [
        c for c in conditions if isinstance(c, Rel) and c.ops == ("in",) and c.sides[0] == domain
    ]
    rest = [c for c in conditions if c not in ranges]
    if (
        not ranges
        or any(c.sides[1] not in (Const("Z"), Const("N"), Sym("Z+"), Sym("Z^+")) for c in ranges)
        or not rest
    ):
        return None
    low = -500 if all(c.sides[1] == Const("Z") for c in ranges) else 1
    found = list[Node]()
    meter = Meter()
    try:
        for value in range(low, 501):
            evaluator = Evaluator({domain.name: value}, meter=meter)
            if all(evaluator.holds(c) for c in rest):
                found.append(Num(value))
    except (UndefinedValueError, UnsupportedError, TooLargeError):
        return None
    return None if (found and found[-1] == Num(500)) or len(found) > MAX_ITEMS else found


def without_repeats(values: list[Node], comparer: Comparer) -> list[Node]:
    kept, seen = list[Node](), set[Any]()
    for value in values:
        scalar = comparer.scalar(value) if isinstance(value, VALUES) else None
        key = scalar.exact if scalar is not None and scalar.exact is not None else value
        if key not in seen:
            seen.add(key)
            kept.append(value)
    return kept


def fill_dots(items: list[Node]) -> list[Node] | None:
    """Returns the list with its dots written out, if it is a closed arithmetic progression."""
    if not any(isinstance(i, Ellipsis) for i in items):
        return items
    head, tail = split_at_dots(items)
    if head is None or len(head) < 2 or not tail:
        return None
    start = [Scalar(n).exact for n in head]
    ends = [Scalar(n).exact for n in tail]
    if any(v is None for v in (*start, *ends)):
        return None
    values = [Fraction(v) for v in start if v is not None]
    step, last = values[1] - values[0], Fraction(ends[0] or 0)
    if step == 0 or any(b - a != step for a, b in itertools.pairwise(values)):
        return None
    count = (last - values[0]) / step
    if count.denominator != 1 or not len(values) <= count <= MAX_ITEMS:
        return None
    filled: list[Node] = [
        Num(v if v.denominator != 1 else v.numerator)
        for v in (values[0] + k * step for k in range(int(count) + 1))
    ]
    return [*filled, *tail[1:]]


def split_at_dots(items: list[Node]) -> tuple[list[Node] | None, list[Node]]:
    places = [i for i, item in enumerate(items) if isinstance(item, Ellipsis)]
    if not places:
        return None, []
    return items[: places[0]], items[places[-1] + 1 :]


def is_angle(node: Node) -> bool:
    return isinstance(node, Quantity) and parse_unit(node.unit).dimension == (("A", 1),)
