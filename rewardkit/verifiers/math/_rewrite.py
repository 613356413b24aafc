"""Rebuilding trees: substitution, and the symbols that an expression depends on."""

from collections.abc import Callable, Mapping
from fractions import Fraction

from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BigO,
    BigOp,
    Builder,
    Call,
    Cases,
    Congruence,
    Div,
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

__all__ = ["contains", "depth", "free_symbols", "plus_scaled", "rebuild", "replace", "walk"]


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """Returns `node` with `change` applied to each node directly below it."""

    def every(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(change(n) for n in nodes)

    def maybe(inner: Node | None) -> Node | None:
        return None if inner is None else change(inner)

    match node:
        case Add(terms):
            return Add(every(terms))
        case Mul(factors):
            return Mul(every(factors))
        case Div(top, bottom):
            return Div(change(top), change(bottom))
        case Neg(body):
            return Neg(change(body))
        case Pow(base, exponent):
            return Pow(change(base), change(exponent))
        case Call(name, args):
            return Call(name, every(args))
        case Apply(name, args):
            return Apply(name, every(args))
        case BigOp(name, body, variable, low, high):
            return BigOp(name, change(body), variable, maybe(low), maybe(high))
        case Percent(body):
            return Percent(change(body))
        case Quantity(body, unit):
            return Quantity(change(body), unit)
        case PlusMinus(first, second, flipped):
            return PlusMinus(maybe(first), change(second), flipped)
        case Ratio(parts):
            return Ratio(every(parts))
        case Seq(items, opening, closing):
            return Seq(every(items), opening, closing)
        case Listing(items, joins):
            return Listing(every(items), joins)
        case Labelled(items):
            return Labelled(tuple((label, change(n)) for label, n in items))
        case Rel(sides, ops):
            return Rel(every(sides), ops)
        case Congruence(left, right, modulus):
            return Congruence(change(left), change(right), change(modulus))
        case Quantifier(body, conditions):
            return Quantifier(change(body), every(conditions))
        case SetOp(op, parts):
            return SetOp(op, every(parts))
        case Builder(body, conditions):
            return Builder(change(body), every(conditions))
        case Matrix(rows):
            return Matrix(tuple(every(row) for row in rows))
        case Cases(rows):
            return Cases(tuple((change(v), maybe(c)) for v, c in rows))
        case BigO(name, body):
            return BigO(name, change(body))
        case _:
            return node


def replace(node: Node, mapping: Mapping[Node, Node]) -> Node:
    """Returns `node` with every occurrence of a key of `mapping` replaced by its value."""
    if node in mapping:
        return mapping[node]
    return rebuild(node, lambda inner: replace(inner, mapping))


def free_symbols(node: Node) -> frozenset[str]:
    """Returns the names that the expression depends on; bound variables are left out."""
    match node:
        case Sym(name):
            return frozenset((name,))
        case Apply(name, args) if not (len(args) == 2 and name in ("C", "P", "A")):
            return frozenset((f"{name}()",)).union(*(free_symbols(arg) for arg in args))
        case BigOp(_, body, variable, low, high):
            bound = free_symbols(body) - {variable}
            for limit in (low, high):
                bound |= free_symbols(limit) if limit is not None else frozenset()
            return bound
        case _:
            names: frozenset[str] = frozenset()
            for inner in children(node):
                names |= free_symbols(inner)
            return names


def contains(node: Node, kinds: tuple[type, ...]) -> bool:
    """Returns True if a node of one of `kinds` is in the tree."""
    return isinstance(node, kinds) or any(contains(inner, kinds) for inner in children(node))


def walk(node: Node) -> list[Node]:
    """Returns the node and all nodes below it."""
    found, waiting = list[Node](), [node]
    while waiting:
        current = waiting.pop()
        found.append(current)
        waiting.extend(children(current))
    return found


def depth(node: Node) -> int:
    """Returns the number of nodes on the longest way down, without recursion."""
    level, deepest = [node], 0
    while level:
        deepest += 1
        level = [inner for current in level for inner in children(current)]
    return deepest


def plus_scaled(node: Node, part: Node, scale: Fraction) -> Node:
    """Returns node + part · scale, as one number where both are numbers."""
    if isinstance(node, Num) and isinstance(part, Num):
        return Num(node.value + part.value * scale)
    return Add((node, Mul((part, Num(scale)))))
