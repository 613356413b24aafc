"""The comparison of one answer: its tolerance, its budget, and what has been computed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.verifiers.math._decision import NO_TOLERANCE, Decision, Tolerance
from rewardkit.verifiers.math._limits import (
    Meter,
)
from rewardkit.verifiers.math._nodes import (
    Node,
)
from rewardkit.verifiers.math._numeric import Evaluator
from rewardkit.verifiers.math._scalar import Scalar, compare_scalars

__all__ = ["Comparer", "Rule"]

Rule = Callable[["Comparer", Node, Node], Decision]
"""Compares a reference with an answer."""


@dataclass(slots=True)
class Comparer:
    """Compares one answer with a reference, under one tolerance and one budget of work.

    `known` holds the scalars of the reference, which are computed once for all its rollouts.
    """

    rule: Rule
    """The rules of all kinds, by the reference's kind."""
    tolerance: Tolerance = NO_TOLERANCE
    known: Mapping[Node, Scalar] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    made: dict[Node, Scalar] = field(default_factory=dict)

    def compare(self, reference: Node, answer: Node) -> Decision:
        """Returns whether the answer says the same as the reference."""
        return self.rule(self, reference, answer)

    def scalar(self, node: Node) -> Scalar:
        """Returns the node with what is known of its value."""
        found = self.known.get(node) or self.made.get(node)
        if found is None:
            found = self.made[node] = Scalar(node, self.meter)
        return found

    def scalars(self, reference: Node, answer: Node) -> Decision:
        """Compares two values."""
        return compare_scalars(self.scalar(reference), self.scalar(answer), self.tolerance)

    def value_at(self, node: Node, point: int) -> Any:
        """Returns the value at a sample point, within the budget."""
        return Evaluator(point=point, meter=self.meter).value(node)
