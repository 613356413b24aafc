"""The bounds that hold before any work starts, and what is raised when an input is over them."""

__all__ = [
    "MAX_ANSWER_CHARS",
    "MAX_BITS",
    "MAX_DEPTH",
    "MAX_FACTORS",
    "MAX_ITEMS",
    "MAX_STEPS",
    "MAX_TOKENS",
    "MAX_TREE_DEPTH",
    "Meter",
    "NotMathError",
    "TooLargeError",
    "UndefinedValueError",
    "UnsupportedError",
]

MAX_ANSWER_CHARS = 16_384
"""A longer answer span is not read (it may still be identical to its reference)."""
MAX_TOKENS = 4_000
MAX_DEPTH = 48
"""Nesting of brackets, fractions, exponents."""
MAX_TREE_DEPTH = 100
"""Depth of the tree of a text: a chain of divisions or signs nests without brackets."""
MAX_FACTORS = 1_000
"""Factors of one product."""
MAX_ITEMS = 512
"""Members of a list, a set, a matrix; branches of ±."""
MAX_BITS = 1 << 16
"""Size of an exact integer (65,536 bits, about 19,700 digits)."""
MAX_STEPS = 12_000
"""Node evaluations spent on one answer; sums, integrals and limits count each term, large numbers
their size.
"""


class Meter:
    """Counts the work on one answer.

    So that its cost has a bound that does not depend on the machine's load.
    """

    __slots__ = ("left",)

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Takes steps from what is left.

        Raises:
            TooLargeError: nothing is left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooLargeError(f"more than {MAX_STEPS:,} steps")


class NotMathError(Exception):
    """The text is not an expression of the grammar."""


class TooLargeError(Exception):
    """Reading or computing it would cost more than the limits allow."""


class UndefinedValueError(Exception):
    """The expression has no finite value here: 0/0, a pole, a branch that is not real."""


class UnsupportedError(Exception):
    """The expression is well formed, but this tier has no way to compute it."""
