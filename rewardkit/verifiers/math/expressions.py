"""One expression of a text at a time: read, substitute, and compare by the tiers without an engine.

What checks reasoning needs neither a completion nor a reference: it holds two expressions of the
same text against each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rewardkit.verifiers.math._compare import compare
from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import NotMathError, TooLargeError
from rewardkit.verifiers.math._nodes import Node, Rel, Sym
from rewardkit.verifiers.math._reference import read_math
from rewardkit.verifiers.math._rewrite import depth, free_symbols, replace
from rewardkit.verifiers.math._scalar import Scalar

__all__ = ["Expression"]

_MAX_CHARS = 1_000
_MAX_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that the math verifier can read.

    >>> Expression.read("2(x+1)").same_as(Expression.read("2x+2"))
    True
    """

    node: Node

    @classmethod
    def read(cls, text: str) -> "Expression | None":
        """Returns the expression of a text of up to 1,000 characters; None if there is none."""
        if len(text) > _MAX_CHARS:
            return None
        try:
            return cls(read_math(clean(text), Reading()))
        except (NotMathError, TooLargeError, RecursionError):
            return None
        except Exception:  # The boundary: what the reader does not foresee cannot be checked.
            return None

    @property
    def symbols(self) -> frozenset[str]:
        """The names that it depends on."""
        return free_symbols(self.node)

    @property
    def symbol(self) -> str | None:
        """Its name, where it is nothing but one symbol."""
        return self.node.name if isinstance(self.node, Sym) else None

    @property
    def is_relation(self) -> bool:
        """Whether it is an equation or an inequality."""
        return isinstance(self.node, Rel)

    @property
    def value(self) -> Fraction | None:
        """Its value, where it is a rational number that can be worked out exactly."""
        try:
            exact = Scalar(self.node).exact
        except Exception:  # The boundary: what cannot be worked out has no value here.
            return None
        return None if exact is None else Fraction(exact)

    def substitute(self, values: Mapping[str, "Expression"]) -> "Expression | None":
        """Returns it with expressions in the place of symbols; None where it would be too deep."""
        used: dict[Node, Node] = {
            Sym(name): values[name].node for name in self.symbols if name in values
        }
        if not used:
            return self
        node = replace(self.node, used)
        return Expression(node) if depth(node) <= _MAX_DEPTH else None

    def same_as(self, other: "Expression") -> bool | None:
        """Returns whether they are equal for all values of their symbols; None where it is open."""
        try:
            return Comparer(compare).compare(self.node, other.node).same
        except (TooLargeError, RecursionError):
            return None
        except Exception:  # The boundary: what a tier does not foresee is an abstention.
            return None

    def rounds_to(self, other: "Expression") -> bool:
        """Returns whether the other is a decimal that this value is rounded to, at its last digit.

        >>> Expression.read("10/3").rounds_to(Expression.read("3.33"))
        True
        """
        try:
            exact, written = Scalar(self.node), Scalar(other.node)
            place: Any = written.unit_in_last_place
            left, right = exact.exact, written.exact
        except Exception:  # The boundary, as above.
            return False
        if left is None or right is None or place is None or place > 1:
            return False
        wanted = Fraction(left)
        gap = abs(wanted - Fraction(right))
        # What a computer prints of a float may be off in the last of its 16 digits.
        return gap * 2 <= place or (gap <= 10 * place and gap * 10**14 <= abs(wanted))
