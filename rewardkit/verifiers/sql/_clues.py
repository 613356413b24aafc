"""What queries say about interesting data: their constants, and which columns they compare."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewardkit.verifiers.sql._derived import Constant, derive
from rewardkit.verifiers.sql._guard import list_nodes

__all__ = ["Clues", "Constant", "merge_clues", "read_checks", "read_clues"]

_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Between, exp.In, exp.Like, exp.ILike, exp.Glob, exp.RegexpLike, exp.Is,
)  # fmt: skip
_COUNTS = (exp.Count, exp.RowNumber, exp.Window)
_PATTERNS = (exp.Like, exp.ILike, exp.Glob)
_BLANKS = (" a", "a ", " ")
_MAX_CONSTANTS = 200
_MAX_TEXT = 200
_MAX_COUNT = 40


@dataclass(frozen=True, slots=True)
class Clues:
    """What is worth putting into generated data. Names are in lower case."""

    by_column: frozenset[tuple[str, Constant]] = frozenset()
    """A column's name and a constant that it meets."""
    loose: frozenset[Constant] = frozenset()
    """Constants that meet no column."""
    counts: frozenset[int] = frozenset()
    """How many rows matter: compared with a COUNT or a row number, or a LIMIT."""
    links: frozenset[tuple[str, str]] = frozenset()
    """Pairs of columns that are compared with one another."""
    wanted: frozenset[tuple[str, Constant]] = frozenset()
    """A column's name and a value that satisfies its comparison, as if it stood alone."""

    def of_column(self, name: str) -> list[Constant]:
        """Returns the constants that a column meets, in a fixed order."""
        found = {constant for column, constant in self.by_column if column == name.lower()}
        return sorted(found, key=_sort_key)

    def wanted_of(self, name: str) -> list[Constant]:
        """Returns the values that satisfy the comparisons of a column, in a fixed order."""
        found = {value for column, value in self.wanted if column == name.lower()}
        return sorted(found, key=_sort_key)

    def linked(self, name: str) -> list[str]:
        """Returns the columns that a column is compared with."""
        lower = name.lower()
        others = {b if a == lower else a for a, b in self.links if lower in (a, b)}
        return sorted(others)


def merge_clues(clues: Iterable[Clues]) -> Clues:
    """Returns all that several queries say."""
    all_of = list(clues)
    return Clues(
        frozenset().union(*(c.by_column for c in all_of)),
        frozenset().union(*(c.loose for c in all_of)),
        frozenset().union(*(c.counts for c in all_of)),
        frozenset().union(*(c.links for c in all_of)),
        frozenset().union(*(c.wanted for c in all_of)),
    )


def read_clues(
    tree: exp.Expr | None, columns: frozenset[str], nodes: Sequence[exp.Expr] = ()
) -> Clues:
    """Returns what a query says.

    Args:
        tree: the query; None says nothing.
        columns: the names of the schema's columns in lower case. A name in double quotes that is
            none of them is a text in SQLite.
        nodes: all nodes of the tree, where somebody has walked it already.
    """
    if tree is None:
        return Clues()
    nodes = nodes or list_nodes(tree)
    names = _Names(nodes, columns)
    by_column: set[tuple[str, Constant]] = set()
    loose: set[Constant] = set()
    counts: set[int] = set()
    wanted: set[tuple[str, Constant]] = set()
    for node, value in _constants(nodes, columns):
        if len(by_column) + len(loose) > _MAX_CONSTANTS:
            break
        place = _comparison(node)
        if isinstance(value, int) and 0 <= value <= _MAX_COUNT and _counts_rows(node, place):
            counts.add(value)
        met = names.within(place)
        if met:
            values = derive(place, value)
            if not _is_remainder(place, node):
                values.append(value)
            by_column |= {(name, one) for name in met for one in values}
            wanted |= {(name, _satisfying(place, node, value)) for name in met}
        else:
            loose.add(value)
    for trim in (node for node in nodes if isinstance(node, exp.Trim)):
        by_column |= {(name, text) for name in names.within(trim) for text in _BLANKS}
    return Clues(
        frozenset(by_column),
        frozenset(loose),
        frozenset(counts),
        _read_links(nodes, names),
        frozenset(wanted),
    )


def read_checks(ddl: str, columns: frozenset[str]) -> Clues:
    """Returns what the CHECK constraints of a schema say of its columns."""
    if "check" not in ddl.lower():
        return Clues()
    try:
        trees = sqlglot.parse(ddl, read="sqlite")
    except (SqlglotError, ValueError, RecursionError):
        return Clues()
    kinds = (exp.CheckColumnConstraint, exp.Check)
    checks = [check for tree in trees if tree is not None for check in tree.find_all(*kinds)]
    found = merge_clues(read_clues(check, columns) for check in checks)
    return Clues(by_column=found.by_column)


def _constants(
    nodes: Sequence[exp.Expr], columns: frozenset[str]
) -> Iterable[tuple[exp.Expr, Constant]]:
    for node in nodes:
        if not isinstance(node, exp.Literal | exp.Column):
            continue
        if isinstance(node, exp.Column):
            quoted = isinstance(node.this, exp.Identifier) and node.this.quoted and not node.table
            if quoted and node.name.lower() not in columns:
                yield node, node.name[:_MAX_TEXT]
        elif node.is_string:
            yield from ((node, text) for text in _texts(node))
        else:
            number = _number(node.name)
            if number is not None:
                yield node, -number if isinstance(node.parent, exp.Neg) else number


def _texts(node: exp.Expr) -> list[str]:
    text = node.name[:_MAX_TEXT]
    above = node.parent
    if isinstance(above, _PATTERNS) and above.expression is node:
        many, one = ("*", "?") if isinstance(above, exp.Glob) else ("%", "_")
        return [
            text.replace(many, a).replace(one, b) for a, b in (("", "x"), ("x", "0"), (" y", "y"))
        ]
    return [text]


def _number(text: str) -> int | float | None:
    if not re.fullmatch(r"\d{1,18}|\d{0,15}\.\d{0,15}(?:[eE][-+]?\d{1,2})?", text):
        return None
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return None


def _comparison(node: exp.Expr) -> exp.Expr | None:
    """Returns the comparison that a constant stands in, or else the call or sum around it."""
    around: exp.Expr | None = None
    above = node.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, _COMPARISONS):
            return above
        if around is None and isinstance(above, exp.Func | exp.Binary | exp.Limit | exp.Offset):
            around = above
        above = above.parent
    return around


def _is_remainder(place: exp.Expr | None, node: exp.Expr) -> bool:
    """Returns True for the 0 of `x % 2 = 0`, which says nothing of an x near 0."""
    if not isinstance(place, exp.EQ | exp.NEQ) or isinstance(node.parent, exp.Mod):
        return False
    return any(isinstance(side.unnest(), exp.Mod) for side in (place.this, place.expression))


def _satisfying(place: exp.Expr | None, node: exp.Expr, value: Constant) -> Constant:
    """Returns a value for which the comparison with a constant is true."""
    if isinstance(value, str) or not isinstance(place, exp.GT | exp.LT):
        return value
    right = any(one is node for one in place.expression.walk())
    return value + 1 if isinstance(place, exp.GT) == right else value - 1


def _counts_rows(node: exp.Expr, place: exp.Expr | None) -> bool:
    if isinstance(place, exp.Limit | exp.Offset):
        return True
    if place is None:
        return False
    # `n >= 3` outside may speak of a COUNT(*) AS n inside.
    return any(isinstance(one, _COUNTS) for one in list_nodes(place)) or (
        isinstance(place, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ)
        and isinstance(node, exp.Literal)
    )


class _Names:
    """The schema's columns behind the names of a query."""

    def __init__(self, nodes: Sequence[exp.Expr], columns: frozenset[str]) -> None:
        self._columns = columns
        self._behind: dict[str, set[str]] = {}
        self._within: dict[int, set[str]] = {}
        """By the id of a node of the tree, which outlives this."""
        for cte in (node for node in nodes if isinstance(node, exp.CTE)):
            for query in cte.this.find_all(exp.Select):
                for name, output in zip(cte.alias_column_names, query.expressions, strict=False):
                    self._note(name, output)
        for output in (node for node in nodes if isinstance(node, exp.Alias)):
            self._note(output.alias, output.this)

    def _note(self, name: str, output: exp.Expr) -> None:
        found = {column.name.lower() for column in output.find_all(exp.Column)}
        self._behind.setdefault(name.lower(), set()).update(found & self._columns)

    def within(self, place: exp.Expr | None) -> set[str]:
        """Returns the columns that a part of the query names, itself or through an alias."""
        if place is None:
            return set()
        known = self._within.get(id(place))
        if known is None:
            known = self._within[id(place)] = set()
            for node in list_nodes(place):
                if isinstance(node, exp.Column):
                    name = node.name.lower()
                    known |= {name} if name in self._columns else self._behind.get(name, set())
        return known


def _read_links(nodes: Sequence[exp.Expr], names: _Names) -> frozenset[tuple[str, str]]:
    links: set[tuple[str, str]] = set()
    for node in nodes:
        if not isinstance(node, _COMPARISONS):
            continue
        met = sorted(names.within(node))[:4]
        links |= {(a, b) for i, a in enumerate(met) for b in met[i + 1 :]}
    return frozenset(links)


def _sort_key(value: Constant) -> tuple[str, str]:
    return type(value).__name__, str(value)
