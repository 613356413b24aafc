"""Spaces that mean nothing in a written answer, and those that keep two numbers apart."""

import re

__all__ = ["drop_idle_spaces"]

_IDLE = re.compile(
    r"(?<![A-Za-z0-9])(?<![0-9]\.) | (?![A-Za-z0-9.])| (?=\.(?![0-9]))"
    r"|(?<=[A-Za-z]) (?=\.)|(?<=\.) (?![0-9])"
)


def drop_idle_spaces(text: str) -> str:
    """Returns the text without the spaces that do not keep two things apart.

    A run of white space is one space. It stays between letters and digits, and where the two sides
    would make a decimal together. Linear in the length of the text.

    >>> drop_idle_spaces("x  + 1"), drop_idle_spaces("1   2"), drop_idle_spaces("3. 5")
    ('x+1', '1 2', '3. 5')
    """
    return _IDLE.sub("", " ".join(text.split()))
