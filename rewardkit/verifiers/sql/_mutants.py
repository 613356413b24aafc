"""Small changes of a reference, each a mistake that a model could make.

A set of databases is as strong as the share of these mistakes that it shows (mutation analysis,
DeMillo, Lipton and Sayward 1978; for SQL, Tuya, Suárez-Cabal and de la Riva 2007).
"""

from collections.abc import Callable, Iterator

from sqlglot import exp

__all__ = ["mutate"]

_SWAPS: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.EQ: (exp.NEQ, exp.GTE),
    exp.NEQ: (exp.EQ,),
    exp.GT: (exp.GTE, exp.LT),
    exp.GTE: (exp.GT, exp.EQ),
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.EQ),
    exp.And: (exp.Or,),
    exp.Or: (exp.And,),
    exp.Add: (exp.Sub,),
    exp.Sub: (exp.Add,),
    exp.Mul: (exp.Add,),
    exp.Sum: (exp.Avg, exp.Max),
    exp.Avg: (exp.Sum, exp.Min),
    exp.Min: (exp.Max,),
    exp.Max: (exp.Min,),
    exp.Rank: (exp.DenseRank, exp.RowNumber),
    exp.DenseRank: (exp.Rank,),
}


def mutate(tree: exp.Expr | None, dialect: str, *, keys: frozenset[str] = frozenset()) -> list[str]:
    """Returns mutants as SQL, each with one change, without repeats and without the original.

    Changes that cannot matter are left out where that is easy to see: DISTINCT where rows have a
    key or only their existence counts.

    Args:
        tree: the reference; None has no mutants.
        dialect: in which they are written.
        keys: columns that are unique in their tables, in lower case.

    >>> import sqlglot
    >>> mutate(sqlglot.parse_one("SELECT a FROM t WHERE a > 1"), "sqlite")[2:4]
    ['SELECT a FROM t WHERE a >= 1', 'SELECT a FROM t WHERE a < 1']
    """
    if tree is None:
        return []
    original = tree.sql(dialect=dialect)
    found: dict[str, None] = {}
    count = sum(1 for _ in tree.walk())
    for place in range(count):
        for change in _changes(_node(tree, place), keys):
            copy = tree.copy()
            made = change(_node(copy, place))
            found[(copy if made is None else made).sql(dialect=dialect)] = None
    found.pop(original, None)
    return list(found)


_Change = Callable[[exp.Expr], exp.Expr | None]


def _node(tree: exp.Expr, place: int) -> exp.Expr:
    return next(node for i, node in enumerate(tree.walk()) if i == place)


def _changes(node: exp.Expr, keys: frozenset[str]) -> Iterator[_Change]:
    for other in _SWAPS.get(type(node), ()):
        yield _replace_by(other)
    if isinstance(node, exp.Select):
        yield from _select_changes(node, keys)
    elif isinstance(node, exp.Join):
        yield from _join_changes(node)
    elif isinstance(node, exp.SetOperation):
        yield _flip_arg("distinct")
    elif isinstance(node, exp.Literal):
        yield from _literal_changes(node)
    elif isinstance(node, exp.Count):
        yield from _count_changes(node)
    elif isinstance(node, exp.Between):
        yield _narrow_between
    elif isinstance(node, exp.Ordered):
        yield _flip_arg("desc")
    elif isinstance(node, exp.Not | exp.Coalesce):
        yield _unwrap


def _replace_by(kind: type[exp.Expr]) -> _Change:
    def change(node: exp.Expr) -> exp.Expr | None:
        arguments = {k: v for k, v in node.args.items() if k in kind.arg_types}
        return _put(node, kind(**arguments))

    return change


def _put(node: exp.Expr, other: exp.Expr) -> exp.Expr | None:
    """Replaces a node; returns the new tree where the node was all of it."""
    if node.parent is None:
        return other
    node.replace(other)
    return None


def _select_changes(node: exp.Select, keys: frozenset[str]) -> Iterator[_Change]:
    if node.args.get("distinct"):
        yield _drop("distinct")
    elif _may_repeat(node, keys):
        yield _add_distinct
    for name in ("where", "having", "limit"):
        if node.args.get(name) is not None:
            yield _drop(name)


def _may_repeat(node: exp.Select, keys: frozenset[str]) -> bool:
    """Returns False if a SELECT surely gives no row twice, or if twice is as good as once."""
    if node.args.get("group") or all(one.find(exp.AggFunc) for one in node.expressions):
        return False
    above = node.parent
    if isinstance(above, exp.In | exp.Exists | exp.SetOperation):
        return False
    if isinstance(above, exp.Subquery) and not isinstance(above.parent, exp.From | exp.Join):
        return False
    alone = not node.args.get("joins") and isinstance(node.args.get("from_"), exp.From)
    outputs = {one.unalias().name.lower() for one in node.expressions}
    return not (alone and outputs & keys)


def _drop(name: str) -> _Change:
    def change(node: exp.Expr) -> None:
        node.set(name, None)

    return change


def _add_distinct(node: exp.Expr) -> None:
    node.set("distinct", exp.Distinct())


def _flip_arg(name: str) -> _Change:
    def change(node: exp.Expr) -> None:
        node.set(name, not node.args.get(name))

    return change


def _join_changes(node: exp.Join) -> Iterator[_Change]:
    def outer(join: exp.Expr) -> None:
        join.set("kind", None)
        join.set("side", "LEFT")

    def inner(join: exp.Expr) -> None:
        join.set("side", None)

    conditioned = node.args.get("on") is not None or node.args.get("using")
    if node.side:
        yield inner
    elif conditioned:
        yield outer


def _literal_changes(node: exp.Literal) -> Iterator[_Change]:
    if node.is_string:
        yield _put_literal(exp.Literal.string(f"{node.name}x"))
        if node.name.swapcase() != node.name:
            yield _put_literal(exp.Literal.string(node.name.swapcase()))
    elif node.name.isdigit():
        yield _put_literal(exp.Literal.number(int(node.name) + 1))


def _put_literal(other: exp.Expr) -> _Change:
    def change(node: exp.Expr) -> None:
        node.replace(other.copy())

    return change


def _count_changes(node: exp.Count) -> Iterator[_Change]:
    def undistinct(count: exp.Expr) -> None:
        count.set("this", count.this.expressions[0])

    def distinct(count: exp.Expr) -> None:
        count.set("this", exp.Distinct(expressions=[count.this]))

    def star(count: exp.Expr) -> None:
        count.set("this", exp.Star())

    if isinstance(node.this, exp.Distinct):
        if len(node.this.expressions) == 1:
            yield undistinct
    elif isinstance(node.this, exp.Column):
        yield distinct
        yield star


def _narrow_between(node: exp.Expr) -> exp.Expr | None:
    low = exp.GT(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LT(this=node.this.copy(), expression=node.args["high"].copy())
    return _put(node, exp.paren(exp.and_(low, high)))


def _unwrap(node: exp.Expr) -> exp.Expr | None:
    return _put(node, node.this.copy())
