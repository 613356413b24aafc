"""What all parts of the parser share.

The tokens, the position, the depth, and the grammar's levels by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection

from rewardkit.verifiers.math._lexer import Token
from rewardkit.verifiers.math._limits import NotMathError
from rewardkit.verifiers.math._nodes import (
    Node,
)

__all__ = ["BaseParser"]


class BaseParser(ABC):
    """A position in a list of tokens; the levels of the grammar are filled in by subclasses."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bars = 0
        self.builders = 0
        self.integrals = 0
        self.cells = 0
        self.differential = ""

    @property
    def peek(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def at_op(self, value: str) -> bool:
        token = self.tokens[self.at]
        return token.kind == "op" and token.value == value

    def at_cmd(self, value: str) -> bool:
        token = self.tokens[self.at]
        return token.kind == "cmd" and token.value == value

    def at_word(self, value: str) -> bool:
        token = self.tokens[self.at]
        return token.kind in ("word", "prose") and token.value == value

    def at_any_word(self, values: Collection[str]) -> bool:
        token = self.tokens[self.at]
        return token.kind in ("word", "prose") and token.value.lower() in values

    def at_membership(self) -> bool:
        """Returns True at `(k ∈ ℤ)` or `(k is an integer)`, which is no factor."""
        if not self.at_op("(") or self.tokens[self.at + 1].kind != "word":
            return False
        mark = self.tokens[self.at + 2]
        return (mark.kind, mark.value) in (("cmd", "in"), ("prose", "is"))

    def at_differential(self) -> bool:
        """Returns True at the dx of an integral."""
        token = self.tokens[self.at]
        return (
            self.integrals > 0
            and token.kind == "word"
            and len(token.value) == 2
            and token.value[0] == "d"
        )

    def expect(self, value: str) -> None:
        if not self.at_op(value):
            raise NotMathError(f"expected {value!r} before {self.peek.value!r}")
        self.take()

    @abstractmethod
    def closes_here(self) -> bool: ...

    @abstractmethod
    def listing(self) -> Node: ...

    @abstractmethod
    def item(self) -> Node: ...

    @abstractmethod
    def relation(self) -> Node: ...

    @abstractmethod
    def sum(self) -> Node: ...

    @abstractmethod
    def term(self) -> Node: ...

    @abstractmethod
    def factor(self) -> Node: ...

    @abstractmethod
    def postfix(self, node: Node) -> Node: ...

    @abstractmethod
    def power_of(self, node: Node) -> Node: ...

    @abstractmethod
    def atom(self) -> Node: ...

    @abstractmethod
    def argument(self) -> Node: ...

    @abstractmethod
    def group(self) -> Node: ...

    @abstractmethod
    def exponent(self) -> Node: ...

    @abstractmethod
    def bound(self) -> Node: ...

    @abstractmethod
    def starts_factor(self) -> bool: ...
