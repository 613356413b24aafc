"""Other spellings of an answer that only its reference can tell: names of constants, i as j."""

import re
from collections.abc import Iterator
from itertools import permutations

from rewardkit.verifiers.math._nodes import (
    BigOp,
    Call,
    Const,
    Node,
    Pow,
    Quantifier,
    Rel,
    Sym,
)
from rewardkit.verifiers.math._rewrite import free_symbols, rebuild, replace, walk

__all__ = ["other_spellings", "reindexed", "with_standard_indices"]

_ARBITRARY = re.compile(r"[CcK](?:_\d)?")
_INDEXED = re.compile(r"[Cc]_\d")
_GIVEN = re.compile(r"[CcKkABD](?:_\d)?")
_UNITS_OF_I = (Sym("j"), Sym("I"))
"""What engineers and programs write for the imaginary unit."""
_MOST_CONSTANTS = 3


def other_spellings(reference: Node, answer: Node) -> Iterator[Node]:
    """Yields the answer with its free names taken as the reference's.

    Arbitrary constants (y = Ce^x for y = Ae^x), and j for the imaginary unit.
    """
    theirs = free_symbols(answer)
    if theirs & {"j", "I"} and _mentions_i(reference) and not _mentions_i(answer):
        unit = next(s for s in _UNITS_OF_I if s.name in theirs)
        if unit.name not in free_symbols(reference):
            yield replace(answer, {unit: Const("i")})
    mine = free_symbols(reference)
    if mine in ({"j"}, {"I"}) and not theirs and _mentions_i(answer):
        yield replace(answer, {Const("i"): Sym(next(iter(mine)))})
    yield from _renamed_constants(reference, answer)


def _mentions_i(node: Node) -> bool:
    return Const("i") in walk(node)


def _renamed_constants(reference: Node, answer: Node) -> Iterator[Node]:
    body, declared = answer, set[str]()
    if isinstance(answer, Quantifier):
        body, declared = answer.body, {n for c in answer.conditions for n in _ranging(c)}
    mine, theirs = free_symbols(reference), free_symbols(body)
    if declared & theirs - mine:
        given = sorted(declared & theirs - mine)
        arbitrary = sorted(n for n in mine - theirs if len(n) == 1)
    else:
        arbitrary = sorted(n for n in mine if _ARBITRARY.fullmatch(n))
        given = sorted(
            n for n in theirs if _GIVEN.fullmatch(n) and (n in arbitrary or n not in mine)
        )
        if not (all(map(_INDEXED.fullmatch, arbitrary)) or _solves_an_equation(reference)):
            return
    if not 0 < len(arbitrary) == len(given) <= _MOST_CONSTANTS:
        return
    if not theirs - set(given) <= mine - set(arbitrary):
        return
    for order in permutations(given):
        if list(order) != arbitrary:
            names: dict[Node, Node] = {
                Sym(a): Sym(b) for a, b in zip(order, arbitrary, strict=True)
            }
            yield replace(body, names)


def _ranging(condition: Node) -> frozenset[str]:
    """Returns the names that a condition calls arbitrary: `for any constant c`, `c ∈ ℝ`."""
    match condition:
        case Sym(name) | Rel((Sym(name), Const("R")), ("in",)):
            return frozenset((name,))
        case _:
            return frozenset()


def _solves_an_equation(node: Node) -> bool:
    """Returns True for what looks like the solution of a differential equation: Ce^{2x}."""
    waves = ("sin", "cos", "sinh", "cosh")
    return any(
        (isinstance(part, Pow) and part.base == Const("e") and free_symbols(part.exponent))
        or (isinstance(part, Call) and part.name in waves)
        for part in walk(node)
    )


def reindexed(node: Node, old: str, new: str) -> Node:
    """Returns the expression with an index renamed, also within names: a_{k-1} as a_{n-1}."""
    pattern = re.compile(rf"(?<![A-Za-z]){re.escape(old)}(?![A-Za-z])")
    names: dict[Node, Node] = {Sym(old): Sym(new)}
    for name in free_symbols(node):
        letter, dash, index = name.partition("_")
        pair = len(index) == 2 and index.isalpha()  # d_{ij} has two indices
        given = index.replace(old, new) if pair else pattern.sub(new, index)
        if dash and given != index:
            names[Sym(name)] = Sym(f"{letter}_{given}")
    return replace(node, names)


def with_standard_indices(node: Node, level: int = 0) -> Node:
    r"""Returns the expression with the indices of its sums named by their depth.

    `\sum_{k=1}^n a_{k-1}` is `\sum_{j=1}^n a_{j-1}`: also an index within a name is renamed.
    """
    if not isinstance(node, BigOp):
        return rebuild(node, lambda inner: with_standard_indices(inner, level))
    mark = f"#{level}"
    body = with_standard_indices(reindexed(node.body, node.variable, mark), level + 1)
    low, high = (
        None if end is None else with_standard_indices(end) for end in (node.low, node.high)
    )
    return BigOp(node.name, body, mark, low, high)
