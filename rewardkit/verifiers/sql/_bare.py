"""Columns beside GROUP BY that no key determines.

SQLite takes them from any row of the group (its documentation calls the choice arbitrary), in
practice from the first one stored, so an order of the rows that would show it cannot be had where
the rows lie by their key. The least and the greatest value of the group show it everywhere.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from rewardkit.verifiers.sql._guard import list_nodes

__all__ = ["bare_variants"]

_EXTREMES = (exp.Min, exp.Max)
_OPAQUE = (exp.Query, exp.AggFunc, exp.Window)


def bare_variants(
    tree: exp.Expr | None, dialect: str, nodes: Sequence[exp.Expr] = ()
) -> tuple[str, ...]:
    """Returns a query with the least and with the greatest value of each bare column.

    A query whose bare columns are determined gives the same for both. Nothing is returned for one
    without such columns. SELECTs with MIN or MAX are left alone: SQLite takes their bare columns
    from the row that holds the extreme.

    >>> import sqlglot
    >>> bare_variants(sqlglot.parse_one("SELECT a, b + 1 FROM t GROUP BY a"), "sqlite")
    ('SELECT a, MIN(b) + 1 FROM t GROUP BY a', 'SELECT a, MAX(b) + 1 FROM t GROUP BY a')
    """
    if tree is None:
        return ()
    nodes = nodes or list_nodes(tree)
    if not any(isinstance(node, exp.Group | exp.AggFunc) for node in nodes):
        return ()
    if not any(isinstance(node, exp.Select) and _bare(node) for node in nodes):
        return ()
    found = []
    for extreme in _EXTREMES:
        copy = tree.copy()
        for column in [c for select in copy.find_all(exp.Select) for c in _bare(select)]:
            around = extreme(this=column.copy())
            if isinstance(column.parent, exp.Select):
                column.replace(exp.alias_(around, column.name, quoted=True))
            else:
                column.replace(around)
        found.append(copy.sql(dialect=dialect))
    return tuple(found)


def _bare(select: exp.Select) -> list[exp.Column]:
    outputs = select.expressions
    group = select.args.get("group")
    own = [node for output in outputs for node in _within(output)]
    if group is None and not any(isinstance(node, exp.AggFunc) for node in own):
        return []
    having = select.args.get("having")
    own += [] if having is None else list(_within(having))
    if any(isinstance(node, (*_EXTREMES, exp.Window)) for node in own):
        return []
    keys = [] if group is None else [key.unnest() for key in group.expressions]
    found: list[exp.Column] = []
    for place, output in enumerate(outputs, start=1):
        if not any(_is_output(key, output, place) for key in keys):
            columns = [node for node in _within(output) if isinstance(node, exp.Column)]
            found += [c for c in columns if not any(_same_column(c, key) for key in keys)]
    sources = _sources(select)
    return [c for c in found if not isinstance(c.this, exp.Star) and c.table.lower() in sources]


def _sources(select: exp.Select) -> set[str]:
    """Returns the names of a SELECT's tables, and "" if names without a table must be its own."""
    parts = [select.args.get("from_"), *select.args.get("joins", ())]
    names = {part.this.alias_or_name.lower() for part in parts if part is not None}
    above = select.parent
    while isinstance(above, exp.SetOperation | exp.Subquery):
        above = above.parent
    own = above is None or isinstance(above, exp.CTE | exp.From | exp.Join)
    return names | {""} if own else names - {""}


def _within(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the parts of an expression, without what lies inside queries and aggregates."""
    return node.walk(prune=lambda part: isinstance(part, _OPAQUE))


def _is_output(key: exp.Expr, output: exp.Expr, place: int) -> bool:
    if isinstance(key, exp.Literal):
        return key.name == str(place)
    named = isinstance(key, exp.Column) and not key.table and key.name.lower() == _alias(output)
    return named or key == output.unalias()


def _alias(output: exp.Expr) -> str:
    return output.alias.lower() if isinstance(output, exp.Alias) else ""


def _same_column(column: exp.Column, key: exp.Expr) -> bool:
    if not isinstance(key, exp.Column) or column.name.lower() != key.name.lower():
        return False
    return not column.table or not key.table or column.table.lower() == key.table.lower()
