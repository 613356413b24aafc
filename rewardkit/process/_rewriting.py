"""Members of chains as expressions, and equations that arrows join."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from rewardkit.process._chains import Member, find_chains
from rewardkit.verifiers.math._nodes import Num
from rewardkit.verifiers.math.expressions import Expression

__all__ = ["Link", "check_rewriting", "read_member"]

_ARROW = re.compile(
    r"⇒|⟹|⇔|=>|\\(?:implies|Rightarrow|Longrightarrow|iff|Leftrightarrow)(?![A-Za-z])"
)
_MAX_PARTS = 100


@dataclass(frozen=True, slots=True)
class Link:
    """One equality that was looked at."""

    step: int
    left: str
    right: str
    same: bool | None
    """Whether it holds; None where that could not be shown."""


def read_member(member: Member) -> Expression | None:
    if not member.alone:
        return None
    text = re.sub(r"(?<=[\d)\]])\s+[xX]\s+(?=[-\d(\[])", " * ", member.text)
    found = Expression.read(text)
    if found is not None:
        return found
    for trimmed in _balanced(text):
        found = Expression.read(trimmed)
        if found is not None:
            return found
    return None


def _balanced(text: str) -> list[str]:
    """Returns the text without brackets at its ends that match none, where that makes it even."""
    surplus = text.count("(") - text.count(")")
    if surplus > 0 and text.startswith("(" * surplus):
        return [text[surplus:]]
    if surplus < 0 and text.endswith(")" * -surplus):
        return [text[:surplus]]
    return []


def check_rewriting(step: int, text: str) -> list[Link]:
    """Returns the links between equations in one unknown that arrows join: 2x = 4 ⇒ x = 2."""
    parts = _ARROW.split(text)
    if len(parts) < 2:
        return []
    equations = []
    for part in parts[:_MAX_PARTS]:
        chains = [chain for chain in find_chains(part) if len(chain.members) == 2]
        sides = (
            [read_member(member) for member in chains[-1].members] if len(chains) == 1 else [None]
        )
        equations.append((chains[0] if chains else None, sides))
    links = []
    for (one, before), (two, after) in pairwise(equations):
        if one is not None and two is not None and None not in before and None not in after:
            said = [" = ".join(member.text for member in chain.members) for chain in (one, two)]
            links.append(Link(step, said[0], said[1], _same_root(before, after)))
    return links


def _same_root(
    before: Sequence[Expression | None], after: Sequence[Expression | None]
) -> bool | None:
    """Returns whether two linear equations in the same one unknown have the same solution.

    Other equations are left alone: one may follow from another and have more solutions.
    """
    roots = [_root(sides) for sides in (before, after)]
    if roots[0] is None or roots[1] is None or roots[0][0] != roots[1][0]:
        return None
    return roots[0][1] == roots[1][1]


def _root(sides: Sequence[Expression | None]) -> tuple[str, Fraction] | None:
    known = [side for side in sides if side is not None]
    names = {name for side in known for name in side.symbols}
    if len(names) != 1:
        return None
    name, values = names.pop(), []
    for point in range(4):
        at = {name: Expression(Num(point))}
        sampled = [side.substitute(at) for side in known]
        left, right = (None if side is None else side.value for side in sampled)
        if left is None or right is None:
            return None
        values.append(left - right)
    slopes = {b - a for a, b in pairwise(values)}
    slope = slopes.pop()
    return None if slopes or not slope else (name, -values[0] / slope)
