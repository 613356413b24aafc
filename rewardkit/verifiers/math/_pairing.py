"""Comparing parts with parts: in order, or every member with one of the others."""

from collections.abc import Sequence

from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, different, equal, undecided
from rewardkit.verifiers.math._nodes import (
    Node,
    Seq,
)
from rewardkit.verifiers.math._shapes import (
    VALUES,
    all_of,
    without_repeats,
)

__all__ = ["elementwise", "matching"]

_PAIRWISE = 48
"""Lists longer than this are not compared pair by pair."""


def elementwise(comparer: Comparer, left: Sequence[Node], right: Sequence[Node]) -> Decision:
    if len(left) != len(right):
        return different("structure", f"{len(right)} entries where {len(left)} were asked for")
    return all_of(comparer.compare(a, b) for a, b in zip(left, right, strict=True))


def matching(comparer: Comparer, members: list[Node], given: list[Node]) -> Decision:
    """Pairs every member with one given value and every given value with one member."""
    members, given = without_repeats(members, comparer), without_repeats(given, comparer)
    if len(members) != len(given):
        return different("structure", f"{len(given)} values where {len(members)} were asked for")
    left, unsure = list(given), False
    if len(members) > _PAIRWISE:
        return exact_matching(comparer, members, given)
    for member in members:
        for index, value in enumerate(left):
            if _is_braced(member) != _is_braced(value):
                continue  # {1} is a member of {{1}}, and 1 is not.
            decision = comparer.compare(member, value)
            unsure = unsure or decision.same is None
            if decision:
                del left[index]
                break
        else:
            if unsure:
                return undecided("structure", "a member could not be compared")
            return different("structure", "a value that is missing")
    return equal("structure", f"the same {len(members)} values")


def _is_braced(node: Node) -> bool:
    return isinstance(node, Seq) and node.opening == "{"


def exact_matching(comparer: Comparer, members: list[Node], given: list[Node]) -> Decision:
    """Compares long lists of exact numbers by their values alone."""
    left = {comparer.scalar(n).exact for n in members if isinstance(n, VALUES)}
    right = {comparer.scalar(n).exact for n in given if isinstance(n, VALUES)}
    same = left == right and len(left) == len(members) and len(right) == len(given)
    return (equal if same else different)("exact", "the same numbers" if same else "other numbers")
