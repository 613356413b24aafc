"""The expression tree that every answer and every reference is read into.

Leaves are numbers, symbols and constants; inner nodes are arithmetic, calls and the structures that
answers are made of (lists, relations, matrices, …). Nodes are immutable and compare by structure.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

__all__ = [
    "Add",
    "Apply",
    "BaseNum",
    "BigO",
    "BigOp",
    "Builder",
    "Call",
    "Cases",
    "Congruence",
    "Const",
    "Div",
    "Ellipsis",
    "Labelled",
    "Listing",
    "Matrix",
    "Mul",
    "Neg",
    "Node",
    "Num",
    "Percent",
    "PlusMinus",
    "Pow",
    "Quantifier",
    "Quantity",
    "Ratio",
    "Rel",
    "Seq",
    "SetOp",
    "Sym",
    "children",
]


@dataclass(frozen=True, slots=True)
class Num:
    """A number literal. `places` is the count of decimals as written; None for an exact number."""

    value: int | Fraction
    places: int | None = None
    significant: int = 0


@dataclass(frozen=True, slots=True)
class Sym:
    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """pi, e, i, inf, deg, the unit vectors, and the named sets R, Q, Z, N, C, empty."""

    name: str


@dataclass(frozen=True, slots=True)
class Add:
    terms: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Mul:
    factors: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Div:
    top: "Node"
    bottom: "Node"


@dataclass(frozen=True, slots=True)
class Neg:
    body: "Node"


@dataclass(frozen=True, slots=True)
class Pow:
    base: "Node"
    exponent: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """A known function, such as sin, ln, root, abs, floor, factorial, binom, det."""

    name: str
    args: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """A letter applied to arguments: f(x), P(1, 2), C(7, 3). The other side says which it is."""

    name: str
    args: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class BigOp:
    """sum, prod, int, lim. `low` is the bound or the point that a limit tends to."""

    name: str
    body: "Node"
    variable: str
    low: "Node | None"
    high: "Node | None"


@dataclass(frozen=True, slots=True)
class Percent:
    body: "Node"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with a unit; the unit is kept as its canonical words."""

    body: "Node"
    unit: str


@dataclass(frozen=True, slots=True)
class BaseNum:
    """An integer with a written base, such as 1011_2.

    Digits are upper case without leading zeros.
    """

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class PlusMinus:
    """first ± second; `first` is None for a leading sign. `flipped` marks ∓."""

    first: "Node | None"
    second: "Node"
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class Ratio:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Seq:
    """A bracketed sequence; the brackets are kept, since (2,3), [2,3), {2,3} differ."""

    items: tuple["Node", ...]
    opening: str
    closing: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Items without brackets; `joins` holds ',', ';', 'and' or 'or' between neighbours."""

    items: tuple["Node", ...]
    joins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Parts with names: (a) 5, (b) 7; max 10, min 2. Sorted by label."""

    items: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Rel:
    """A chain of relations, sides[0] ops[0] sides[1] ops[1] and so on."""

    sides: tuple["Node", ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Congruence:
    left: "Node"
    right: "Node"
    modulus: "Node"


@dataclass(frozen=True, slots=True)
class Quantifier:
    """A statement with the range of its parameters: body, k ∈ ℤ; body for all x."""

    body: "Node"
    conditions: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class SetOp:
    """∪, ∩ or ∖ of sets."""

    op: str
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Builder:
    """{body : conditions}."""

    body: "Node"
    conditions: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple["Node", ...], ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """A piecewise value: (value, condition or None) rows."""

    rows: tuple[tuple["Node", "Node | None"], ...]


@dataclass(frozen=True, slots=True)
class BigO:
    """An asymptotic class: O, o, Theta, Omega."""

    name: str
    body: "Node"


@dataclass(frozen=True, slots=True)
class Ellipsis:
    pass


Node: TypeAlias = (
    Num
    | Sym
    | Const
    | Add
    | Mul
    | Div
    | Neg
    | Pow
    | Call
    | Apply
    | BigOp
    | Percent
    | Quantity
    | BaseNum
    | PlusMinus
    | Ratio
    | Seq
    | Listing
    | Labelled
    | Rel
    | Congruence
    | Quantifier
    | SetOp
    | Builder
    | Matrix
    | Cases
    | BigO
    | Ellipsis
)


def children(node: Node) -> tuple[Node, ...]:
    """Returns the nodes directly below `node`, in reading order."""
    match node:
        case Add(terms):
            return terms
        case Mul(factors):
            return factors
        case Div(top, bottom):
            return top, bottom
        case Neg(body) | Percent(body) | Quantity(body, _) | BigO(_, body):
            return (body,)
        case Pow(base, exponent):
            return base, exponent
        case Call(_, args) | Apply(_, args):
            return args
        case Ratio(items) | Seq(items, _, _) | Listing(items, _) | Rel(items, _) | SetOp(_, items):
            return items
        case BigOp(_, body, _, low, high):
            return tuple(n for n in (low, high, body) if n is not None)
        case PlusMinus(first, second, _):
            return (second,) if first is None else (first, second)
        case Labelled(named):
            return tuple(n for _, n in named)
        case Congruence(left, right, modulus):
            return left, right, modulus
        case Quantifier(body, conditions) | Builder(body, conditions):
            return (body, *conditions)
        case Matrix(rows):
            return tuple(n for row in rows for n in row)
        case Cases(pairs):
            return tuple(n for pair in pairs for n in pair if n is not None)
        case _:
            return ()
