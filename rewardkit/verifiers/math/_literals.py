"""Plain numbers, read by one pattern: what most answers and most references are."""

import re

from rewardkit.verifiers.math._lexer import read_decimal
from rewardkit.verifiers.math._nodes import Div, Neg, Node, Num, Percent

__all__ = ["read_literal"]

_LITERAL = re.compile(
    r"(?P<sign>-?)(?:(?P<decimal>\d{1,18}(?:\.\d{1,18})?)(?P<percent>\\?%)?"
    r"|\\frac\{(?P<a>-?\d{1,18})\}\{(?P<b>\d{1,18})\}|(?P<c>\d{1,18})/(?P<d>\d{1,18}))"
)


def read_literal(squeezed: str) -> Node | None:
    r"""Returns the tree of `42`, `-3.5`, `25\%`, `3/4` or `\frac{3}{4}`, as the grammar reads it.

    Args:
        squeezed: a cleaned text without spaces. Anything but a plain number gives None.

    >>> read_literal("-3/4")
    Neg(body=Div(top=Num(value=3, places=None, significant=0), ...))
    """
    found = _LITERAL.fullmatch(squeezed)
    if found is None:
        return None
    node: Node
    if found["decimal"]:
        node = read_decimal(found["decimal"])
        node = Percent(node) if found["percent"] else node
    else:
        top, bottom = int(found["a"] or found["c"]), int(found["b"] or found["d"])
        node = Div(Neg(Num(-top)) if top < 0 else Num(top), Num(bottom))
    return Neg(node) if found["sign"] else node
