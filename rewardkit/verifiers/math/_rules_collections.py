"""Rules for several values: tuples, sets, lists, systems, sequences, matrices, labelled parts."""

import re
from collections.abc import Sequence

from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, different, undecided
from rewardkit.verifiers.math._nodes import (
    Apply,
    Builder,
    Const,
    Ellipsis,
    Labelled,
    Listing,
    Matrix,
    Node,
    Num,
    PlusMinus,
    Quantifier,
    Rel,
    Seq,
    SetOp,
    Sym,
    children,
)
from rewardkit.verifiers.math._pairing import elementwise, matching
from rewardkit.verifiers.math._rewrite import replace
from rewardkit.verifiers.math._rules_relations import real_sets
from rewardkit.verifiers.math._sets import is_set_like
from rewardkit.verifiers.math._shapes import (
    all_of,
    assignments,
    fill_dots,
    has_unit_vectors,
    kind_name,
    last_side,
    members,
    mentions,
    same_variable_values,
    split_at_dots,
)

__all__ = ["collection", "labelled", "matrices", "sequence", "vectors"]


def sequence(comparer: Comparer, reference: Seq, answer: Node) -> Decision:
    """Compares with a bracketed sequence: braces hold a set, a group of one holds its value."""
    if reference.opening == "{":
        return collection(comparer, reference, answer)
    if _has_ellipsis(reference):
        return sequences(comparer, reference, last_side(answer))
    if len(reference.items) == 1 and reference.opening != "<":
        return comparer.compare(reference.items[0], answer)
    return ordered(comparer, reference, answer)


def ordered(comparer: Comparer, reference: Seq, answer: Node) -> Decision:
    """Compares with a tuple, a point, a vector, an interval: brackets say which."""
    if is_set_like(reference):
        return real_sets(comparer, reference, answer)
    answer = last_side(answer)
    if isinstance(answer, Matrix) and (rows := _rows(reference)):
        return matrices(comparer, Matrix(rows), answer)
    if is_set_like(answer):
        if len(reference.items) == 2:
            return real_sets(comparer, reference, answer)
        return different("structure", "a set of numbers where a tuple was asked for")
    items = coordinates(comparer, answer, reference)
    if items is None:
        return different("structure", f"a {kind_name(answer)} where a tuple was asked for")
    return elementwise(comparer, reference.items, items)


def coordinates(comparer: Comparer, answer: Node, reference: Seq) -> Sequence[Node] | None:
    match answer:
        case Seq(items, "{", _):
            return None
        case Seq(items, opening, closing):
            closed = (opening, closing) == ("[", "]")
            reference_closed = (reference.opening, reference.closing) == ("[", "]")
            if (
                len(items) == 2
                and closed != reference_closed
                and "<" not in (opening, reference.opening)
            ):
                return None
            return items
        case Apply(_, items):
            return items
        case Matrix(rows) if len(rows) == 1 or len(rows[0]) == 1:
            return [cell for row in rows for cell in row]
        case Listing(items, joins) if "or" not in joins:
            named = assignments(items)
            return [v for _, v in sorted(named.items())] if named else items
        case Labelled(pairs):
            return [node for _, node in pairs]
        case _:
            return _unit_vector_coordinates(answer)


def collection(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares with values in any order: a set, a bare list, a ±."""
    if _has_ellipsis(reference) or _has_ellipsis(last_side(answer)):
        return sequences(comparer, reference, last_side(answer))
    if isinstance(reference, Listing) and (named := assignments(reference.items)) is not None:
        return systems(comparer, named, reference, answer)
    match answer:
        case Rel((Sym() | Seq(), Seq(_, "{", _) as members_of), ("in",)):
            answer = members_of
    if _other_unknowns(reference, answer):
        return different("structure", "other unknowns")
    if is_set_like(reference) or (isinstance(reference, Listing) and is_set_like(answer)):
        return real_sets(comparer, reference, answer)
    answer = last_side(answer, keep=same_variable_values)
    wanted = members(reference)
    if (
        isinstance(answer, Seq)
        and answer.opening != "{"
        and isinstance(reference, Listing | PlusMinus)
    ):
        if wanted is not None and not _interval_like(answer):
            return elementwise(comparer, wanted, answer.items)
        return different("structure", f"a {kind_name(answer)} where a list was asked for")
    given = members(answer)
    if wanted is None or given is None:
        if wanted is not None and len(wanted) == 1:
            return comparer.compare(wanted[0], answer)
        if isinstance(answer, SetOp | Builder | Const | Rel):
            return real_sets(comparer, reference, answer)
        return different("structure", f"a {kind_name(answer)} where several values were asked for")
    return matching(comparer, wanted, given)


def _other_unknowns(reference: Node, answer: Node) -> bool:
    """Returns True if the values of one unknown were asked for and several unknowns are given."""
    if not isinstance(reference, Listing) or not isinstance(answer, Listing):
        return False
    asked = same_variable_values(reference) is not None
    named = assignments(answer.items) if asked else None
    return named is not None and len({name.partition("_")[0] for name in named}) > 1


def systems(
    comparer: Comparer, named: dict[str, Node], reference: Listing, answer: Node
) -> Decision:
    """Compares values of several unknowns by name: x = 3, y = 8."""
    if isinstance(answer, Quantifier):
        answer = answer.body
    if isinstance(answer, Listing):
        given = assignments(answer.items)
        if given is not None and set(given) == set(named):
            return all_of(comparer.compare(value, given[name]) for name, value in named.items())
        if given is None and not any(isinstance(i, Rel) for i in answer.items):
            return elementwise(comparer, [v for _, v in sorted(named.items())], answer.items)
        return different("structure", "other unknowns")
    if isinstance(answer, Rel) and len(answer.sides) == 2 and isinstance(answer.sides[0], Seq):
        names = [s.name if isinstance(s, Sym) else "" for s in answer.sides[0].items]
        values = answer.sides[1]
        if (
            isinstance(values, Seq)
            and sorted(names) == sorted(named)
            and len(values.items) == len(names)
        ):
            return all_of(
                comparer.compare(named[n], v) for n, v in zip(names, values.items, strict=True)
            )
        return different("structure", "other unknowns")
    if isinstance(answer, Seq) and answer.opening in ("(", "<"):
        return elementwise(comparer, [v for _, v in sorted(named.items())], answer.items)
    return different(
        "structure", f"a {kind_name(answer)} where {len(named)} unknowns were asked for"
    )


def sequences(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares lists with an ellipsis.

    The written beginnings, the ends, and what the dots stand for.
    """
    left, right = _sequence_items(reference), _sequence_items(answer)
    if left is None or right is None:
        return different("structure", "no sequence")
    filled, given = fill_dots(left), fill_dots(right)
    if filled is not None and given is not None:
        return elementwise(comparer, filled, given)
    head_a, tail_a = split_at_dots(left)
    head_b, tail_b = split_at_dots(right)
    if head_a is None or head_b is None or bool(tail_a) != bool(tail_b):
        return different("structure", "one list goes on, the other ends")
    count = min(len(head_a), len(head_b))
    ends = min(len(tail_a), len(tail_b))
    pairs = [
        *zip(head_a[:count], head_b[:count], strict=True),
        *zip(tail_a[-ends:] if ends else [], tail_b[-ends:] if ends else [], strict=True),
    ]
    if count + ends < 2:
        return undecided("structure", "too few written terms")
    return all_of(comparer.compare(a, b) for a, b in pairs)


def matrices(comparer: Comparer, reference: Matrix, answer: Node) -> Decision:
    answer = last_side(answer)
    if isinstance(answer, Matrix):
        shape = (len(reference.rows), len(reference.rows[0]))
        if shape != (len(answer.rows), len(answer.rows[0])):
            return different("structure", "a matrix of another shape")
        return elementwise(comparer, children(reference), children(answer))
    if isinstance(answer, Seq) and (rows := _rows(answer)):
        return matrices(comparer, reference, Matrix(rows))
    if 1 in (len(reference.rows), len(reference.rows[0])):
        items = coordinates(comparer, answer, Seq(children(reference), "<", ">"))
        if items is not None:
            return elementwise(comparer, children(reference), items)
    return different("structure", f"a {kind_name(answer)} where a matrix was asked for")


def _rows(node: Seq) -> tuple[tuple[Node, ...], ...]:
    """Returns the rows of a matrix that is written as [[1, 2], [3, 4]], or ()."""
    rows = tuple(i.items for i in node.items if isinstance(i, Seq) and i.opening in "[(")
    return rows if len(rows) == len(node.items) and len({len(r) for r in rows}) == 1 else ()


def labelled(comparer: Comparer, reference: Labelled, answer: Node) -> Decision:
    if isinstance(answer, Listing):
        named = assignments(answer.items)
        if named is None and all(_PLAIN_LABEL.fullmatch(label) for label, _ in reference.items):
            return elementwise(comparer, [part for _, part in reference.items], answer.items)
        answer = Labelled(tuple(sorted((named or {}).items())))
    if not isinstance(answer, Labelled):
        return different("structure", "no labelled parts")
    names = [label for label, _ in reference.items]
    if names != [label for label, _ in answer.items]:
        return different("structure", "other labels")
    return all_of(
        comparer.compare(a, b) for (_, a), (_, b) in zip(reference.items, answer.items, strict=True)
    )


_PLAIN_LABEL = re.compile(r"[a-h\d]|i{1,3}|iv|v")
"""Labels that say nothing but the order: (a), (ii), 1."""


def _interval_like(node: Seq) -> bool:
    return len(node.items) == 2 and (node.opening, node.closing) != ("(", ")")


def _has_ellipsis(node: Node) -> bool:
    return isinstance(node, Seq | Listing) and any(isinstance(i, Ellipsis) for i in node.items)


def _sequence_items(node: Node) -> list[Node] | None:
    return list(node.items) if isinstance(node, Seq | Listing) else None


def vectors(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Compares with a vector that is written with unit vectors: 3i − 4j."""
    answer = last_side(answer)
    if has_unit_vectors(answer):
        left, right = (_unit_vector_coordinates(n, count=3) for n in (reference, answer))
        return elementwise(comparer, left or [], right or [])
    items = _unit_vector_coordinates(reference)
    return ordered(comparer, Seq(tuple(items or ()), "<", ">"), answer)


def _unit_vector_coordinates(node: Node, *, count: int = 0) -> list[Node] | None:
    """Returns the coordinates of 3i − 4j written with unit vectors."""
    units = [Const("unit:i"), Const("unit:j"), Const("unit:k")]
    used = [u for u in units if mentions(node, u)]
    if not used:
        return None
    count = count or (3 if units[2] in used else 2)
    return [
        replace(node, {u: Num(1 if i == index else 0) for i, u in enumerate(units)})
        for index in range(count)
    ]
