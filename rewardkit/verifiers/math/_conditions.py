r"""Conditions behind a value: `x = kπ for any integer k`, `where k ∈ ℤ`, `k = 0, ±1, ±2, …`."""

from rewardkit.verifiers.math._base_parser import BaseParser
from rewardkit.verifiers.math._nodes import (
    Const,
    Ellipsis,
    Listing,
    Node,
    Num,
    PlusMinus,
    Quantifier,
    Quantity,
    Rel,
    Sym,
)

__all__ = ["CONDITIONS", "ConditionParser", "attach_conditions"]

CONDITIONS = frozenset(["for", "where", "with", "if", "when", "such", "provided"])
_WORDS = frozenset(
    "all any every some each that real integer integers number numbers is are an be being positive "
    "natural arbitrary constant nonzero non zero negative nonnegative whole".split()
)
_POSITIVE = frozenset(["positive", "natural", "nonnegative"])
_ELEMENTS = frozenset(["and", "or"])


class ConditionParser(BaseParser):
    """Reads what restricts a value or names the range of its parameters."""

    def at_condition(self) -> bool:
        return self.at_any_word(CONDITIONS) or self.at_cmd("forall") or self.at_membership()

    def conditions(self) -> list[Node]:
        """Takes the conditions that stand here, each begun by a word such as `for` or `where`."""
        found = list[Node]()
        while self.at_condition():
            if self.at_membership():
                self.take()
                condition = self.relation()
                found.append(_ranged(condition, self.quantifying_words(prose=True)))
                self.expect(")")
                continue
            explains = self.take().value.lower() == "where"
            words = self.quantifying_words()
            if self.closes_here():
                break
            condition = self.relation()
            words |= self.quantifying_words(prose=True)
            condition = _ranged(condition, words)
            named = isinstance(condition, Quantity) and isinstance(condition.body, Sym)
            if not (explains and named):  # where x is the width
                found.append(condition)
        return found

    def names_parameter(self, word: str) -> bool:
        """Returns True for a word that may follow `k is`: an integer, any real number."""
        return word in _WORDS or word == "a"

    def quantifying_words(self, *, prose: bool = False) -> set[str]:
        """Takes the words around a parameter: `any integer k`, `k is an integer`."""
        words = set[str]()
        while not self.closes_here() and self.peek.kind in ("word", "prose"):
            word = self.peek.value.lower()
            following = self.tokens[self.at + 1].value.lower()
            article = word == "a" and following in _WORDS
            other = prose and self.peek.kind == "prose" and word not in _ELEMENTS | CONDITIONS
            if not (word in _WORDS or article or other):
                break
            self.take()
            words.add(word)
            if self.at_op("-") and self.tokens[self.at + 1].value.lower() in _WORDS:
                self.take()  # non-zero
        return words


def _ranged(condition: Node, words: set[str]) -> Node:
    """Returns `k ∈ ℤ` for `k is an integer`."""
    if isinstance(condition, Sym) and words & {"integer", "integers", "whole", "natural"}:
        kind = "N" if words & _POSITIVE else "Z"
        return Rel((condition, Const(kind)), ("in",))
    return condition


def attach_conditions(items: list[Node], joins: list[str], conditions: list[Node]) -> Node:
    """Returns a list's items as one node, the ranges of parameters behind them taken apart."""
    conditions = list(conditions)
    if _counts_through(items):
        at = next(i for i, item in enumerate(items) if i and isinstance(item, Rel))
        counter = items[at]
        if isinstance(counter, Rel):
            conditions.insert(0, Rel((counter.sides[0], Const("Z")), ("in",)))
        items, joins = items[:at], joins[: at - 1]
    while len(items) > 1 and _is_range(items[-1]):
        conditions.insert(0, items[-1])
        items, joins = items[:-1], joins[:-1]
    last = items[-1]
    if len(items) > 1 and isinstance(last, Quantifier) and all(map(_is_range, last.conditions)):
        conditions = [*last.conditions, *conditions]  # x = 1 + 2k or x = 3k, for k ∈ ℤ
        items = [*items[:-1], last.body]
    body = items[0] if len(items) == 1 else Listing(tuple(items), tuple(joins))
    if not conditions:
        return body
    if isinstance(body, Quantifier):
        return Quantifier(body.body, (*body.conditions, *conditions))
    return Quantifier(body, tuple(conditions))


def _is_range(node: Node) -> bool:
    """Returns True for `k ∈ ℤ` and its like: the range of a parameter, not an answer of its own."""
    return (
        isinstance(node, Rel)
        and node.ops == ("in",)
        and isinstance(node.sides[0], Sym)
        and isinstance(node.sides[1], Const | Sym)
    )


def _counts_through(items: list[Node]) -> bool:
    """Returns True if a list ends with `k = 0, ±1, ±2, …`."""
    for at, item in enumerate(items[1:], start=1):
        if isinstance(item, Rel) and item.ops == ("=",) and item.sides[1] == Num(0):
            rest = items[at + 1 :]
            return (
                isinstance(item.sides[0], Sym)
                and len(rest) > 1
                and rest[-1] == Ellipsis()
                and all(isinstance(part, PlusMinus) for part in rest[:-1])
            )
    return False
