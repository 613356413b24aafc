"""How generated databases are filled, in the order in which they tell most."""

from dataclasses import dataclass

__all__ = ["Recipe", "recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one database is filled."""

    name: str
    rows: int
    """Rows of a table; half as many more where it refers to another one."""
    null: float = 0.15
    """Share of NULL where a column may hold it."""
    focus: float = 0.6
    """Share of values around the queries' constants."""
    width: int | None = None
    """Most different values of a column; None for all of its domain."""
    orphans: float = 0.25
    """Share of values that miss, where a column refers to a key without a declared constraint."""
    chain: bool = False
    """Rows refer to the row before them in their own table."""
    empty: float = 0.0
    """Share of tables that are left empty."""
    cycle: bool = False
    """Values around constants are taken in turn, so that none is left out by chance."""
    skip: int | None = None
    """The one table that is left empty, by its place among those that the reference reads."""
    wanted: float = 0.0
    """Share of values that satisfy the queries' conditions, so that several meet in one row."""
    patchy: bool = False
    """Each column has a share of NULL of its own."""
    beside: float = 0.0
    """Share of NULL in columns that meet no constant."""
    tail: bool = False
    """The last row of a chain is the one that a condition would pick, else the first."""
    shift: bool = False
    """Keys keep away from the queries' constants, so that what refers to those misses."""
    parents: int | None = None
    """Rows of a table that others refer to, if not `rows`: few make counts meet."""


_FIRST = (
    Recipe("empty", 0),
    Recipe("ties", 9, null=0.1, focus=0.8, width=2),
    Recipe("boundaries", 12, null=0.0, focus=1.0, cycle=True),
    Recipe("boundaries and NULL", 9, null=0.3, focus=0.7, width=4),
    Recipe("satisfying", 8, null=0.05, focus=0.5, width=4, wanted=0.8),
    Recipe("one row", 1, null=0.0, focus=0.9),
    Recipe("all NULL", 3, null=1.0),
    Recipe("chains", 8, null=0.02, focus=0.1, chain=True, orphans=0.0),
    Recipe("chains from below", 8, null=0.02, focus=0.1, chain=True, orphans=0.0, tail=True),
    Recipe("orphans", 6, orphans=0.8, focus=0.8, width=3, shift=True),
    Recipe("groups", 0, null=0.05, focus=0.7, width=2),
    Recipe("NULL beside conditions", 10, null=0.1, focus=0.9, width=5, beside=0.8),
    Recipe("one table empty", 5, skip=0),
)
_SKIPS = {17: 1, 24: 2}
_ROWS = (5, 9, 3, 14, 7, 11, 2)
_NULLS = (0.15, 0.0, 0.4)
_FOCUS = (0.8, 0.5, 0.95, 0.3)
_WIDTHS = (3, 2, None, 4, 2)


def recipe(number: int) -> Recipe:
    """Returns the recipe of the database with this number, from 0.

    >>> recipe(0).name, recipe(99).name
    ('empty', 'random 99')
    """
    if number < len(_FIRST):
        return _FIRST[number]
    if number % 5 in (1, 4):
        # A few rows that refer to two: a count of them may be the count of the two.
        return Recipe(f"random {number}", 2 + number % 2, _NULLS[number % 3], 0.5, parents=2)
    if number in _SKIPS:
        return Recipe(f"random {number}", 6, focus=0.5, width=3, skip=_SKIPS[number])
    chain = number % 6 == 5
    return Recipe(
        f"random {number}",
        _ROWS[number % len(_ROWS)],
        null=0.05 if chain else _NULLS[number % len(_NULLS)],
        focus=_FOCUS[number % len(_FOCUS)],
        width=_WIDTHS[number % len(_WIDTHS)],
        orphans=0.0 if chain else 0.25,
        chain=chain,
        tail=number % 12 == 5,
        empty=0.3 if number % 7 == 3 else 0.0,
        shift=number % 5 == 2,
        wanted=0.8 if number % 4 == 0 else 0.0,
        patchy=number % 3 == 1,
    )
