"""Balanced braces in LaTeX."""

import re

__all__ = ["matching_brace"]

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def matching_brace(text: str, at: int) -> int:
    r"""Returns the index of the brace that closes the one at `at`, or -1.

    Escaped braces do not count.

    >>> matching_brace(r"{a\}{b}}", 0)
    7

    """
    close = text.find("}", at)
    if close < 0:
        return -1
    inside = text[at + 1 : close]
    if "{" not in inside and "\\" not in inside:
        return close
    depth = 0
    for brace in _BRACE.finditer(text, at):
        sign = brace.group()
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return brace.start()
    return -1
