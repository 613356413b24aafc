"""The comparison of an answer with its reference.

The reference's kind says how the answer is taken.
"""

from collections.abc import Callable
from typing import Any

from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, equal
from rewardkit.verifiers.math._nodes import (
    Add,
    BaseNum,
    BigO,
    Builder,
    Call,
    Cases,
    Congruence,
    Const,
    Div,
    Labelled,
    Listing,
    Matrix,
    Mul,
    Neg,
    Node,
    PlusMinus,
    Quantifier,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
)
from rewardkit.verifiers.math._rewrite import contains
from rewardkit.verifiers.math._rules_collections import (
    collection,
    labelled,
    matrices,
    sequence,
    vectors,
)
from rewardkit.verifiers.math._rules_relations import asymptotics, families, piecewise, relation
from rewardkit.verifiers.math._rules_values import base_number, named_set, quantity, ratios, values
from rewardkit.verifiers.math._shapes import has_unit_vectors, unlabel, without_domain

__all__ = ["compare"]

_RULES: list[tuple[Any, Callable[[Comparer, Any, Node], Decision]]] = [
    (BaseNum, base_number),
    (Quantity, quantity),
    (Congruence, families),
    (Quantifier, families),
    (BigO, asymptotics),
    (Matrix, matrices),
    (Labelled, labelled),
    (Ratio, ratios),
    (Cases, piecewise),
    (Rel, relation),
    (Const, named_set),
    (SetOp | Builder, collection),
    (Listing | PlusMinus, collection),
    (Seq, sequence),
]


def compare(comparer: Comparer, reference: Node, answer: Node) -> Decision:
    """Returns whether the answer says the same as the reference."""
    if reference == answer:
        return equal("canonical", "the same expression")
    answer, reference = unlabel(answer), unlabel(reference)
    if isinstance(answer, Listing) != isinstance(reference, Listing):
        answer, reference = without_domain(answer), without_domain(reference)
    if isinstance(reference, Listing) and all(isinstance(i, Congruence) for i in reference.items):
        return families(comparer, reference, answer)
    if isinstance(reference, Add | Mul | Div | Neg | Call) and contains(reference, (PlusMinus,)):
        return collection(comparer, reference, answer)
    if isinstance(reference, Add | Mul | Neg) and has_unit_vectors(reference):
        return vectors(comparer, reference, answer)
    for kind, rule in _RULES:
        if isinstance(reference, kind):
            return rule(comparer, reference, answer)
    return values(comparer, reference, answer)
