"""A query taken apart into subtasks by its tree, and how much of another's subtasks it has.

LearNAT (arXiv 2504.02327) scores a partial query by its abstract syntax tree: the share of the
reference's nodes that it has, and how far the two trees are apart. Its text leaves open how trees
are read, so weights and measure follow its authors' code. There trees are compared child by child;
here clauses are compared as bags, so that neither the order of conditions nor names decide.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewardkit.verifiers.sql._partial import node_text, select_parts
from rewardkit.verifiers.sql._schema import Schema

__all__ = ["Subtask", "decompose", "subtask_similarity"]

COVER, STRUCTURE = 0.7, 0.3
"""Weights of the two terms, as in the authors' code."""
_MAX_SUBTASKS = 40
_QUERY = (exp.Select, exp.SetOperation)
_HOLE = "(query)"

Part = tuple[str, str]
"""A clause and its text, such as `("where", "emp.pay > 5")`."""


@dataclass(frozen=True, slots=True)
class Subtask:
    """One SELECT or set operation of a query, without the queries inside of it."""

    kind: str
    """main, cte, subquery, or branch (of a set operation)."""
    name: str
    """Of a CTE or a subquery that has one; else empty."""
    query: exp.Query
    """Its place in the tree that was taken apart."""
    parts: Counter[Part]
    weights: Mapping[Part, int]
    """Nodes of the tree in each part."""

    @property
    def nodes(self) -> int:
        """Nodes of the tree in all parts."""
        return sum(self.weights[part] * count for part, count in self.parts.items())

    def shared(self, other: "Subtask") -> int:
        """Returns the nodes in parts that both have."""
        both = self.parts & other.parts
        return sum(self.weights[part] * count for part, count in both.items())


def decompose(tree: exp.Expr, schema: Schema | None = None) -> tuple[Subtask, ...]:
    """Returns the subtasks of a query, each before those inside of it.

    Names of tables are written out, and a query inside of a part is a hole there, so that a
    subquery and a CTE that says the same are the same. Each part weighs as many nodes as it has.

    Args:
        tree: a query.
        schema: tells whose a column without a table is where there are several.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT a FROM t WHERE b = (SELECT MAX(u.b) FROM t AS u)")
    >>> [(one.kind, sorted(one.parts)) for one in decompose(tree)]  # doctest: +NORMALIZE_WHITESPACE
    [('main', [('output', 't.a'), ('table', 't'), ('where', 't.b = (query)')]),
     ('subquery', [('output', 'MAX(t.b)'), ('table', 't')])]
    """
    # Copied as a whole, so that what is written out is found beside where it stands.
    copy = tree.copy()
    pairs = [
        (original, twin)
        for original, twin in zip(tree.walk(bfs=False), copy.walk(bfs=False), strict=True)
        if isinstance(original, _QUERY)
    ][:_MAX_SUBTASKS]
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = [_owners(original, ctes) for original, _ in pairs]
    for (_, twin), owners in zip(pairs, names, strict=True):
        _write_out(twin, owners, schema)
    found: list[Subtask] = []
    for original, twin in reversed(pairs):
        found.append(_read(original, twin, ctes))
        _dig(twin)
    return tuple(reversed(found))


def subtask_similarity(
    tree: exp.Expr,
    reference: exp.Expr,
    schema: Schema | None = None,
    *,
    attained: Collection[tuple[int, int]] = (),
) -> float:
    """Returns how much of a reference's subtasks a query has, in [0, 1].

    0.7 cover + 0.3 max(0, 1 - distance / max(|R|, |P|)). |R| and |P| are the nodes of the
    reference and of the query; cover is the share of |R| in parts that the query has as well;
    distance is what each has alone, in nodes. Each subtask has at most one partner, the dearest
    pairs first. A subtask that is attained counts as covered whole, and its partner as no surplus.
    Nothing shared is 0.

    Args:
        tree: the query.
        reference: the reference.
        schema: of both.
        attained: pairs of places in `decompose(reference)` and `decompose(tree)` that were seen to
            give the same rows.

    >>> import sqlglot
    >>> parse = sqlglot.parse_one
    >>> round(subtask_similarity(parse("SELECT t.a FROM t"), parse("SELECT x.a FROM t AS x")), 9)
    1.0
    """
    wanted, given = decompose(reference, schema), decompose(tree, schema)
    whole, own = sum(one.nodes for one in wanted), sum(one.nodes for one in given)
    covered, used = 0, 0
    for i, j in _partners(wanted, given, attained):
        full = (i, j) in attained
        covered += wanted[i].nodes if full else wanted[i].shared(given[j])
        used += given[j].nodes if full else wanted[i].shared(given[j])
    if not covered:
        return 0.0
    distance = (whole - covered) + (own - used)
    return COVER * covered / whole + STRUCTURE * max(0.0, 1 - distance / max(whole, own))


def _partners(
    wanted: Sequence[Subtask], given: Sequence[Subtask], attained: Collection[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    worth = {
        (i, j): wanted[i].nodes if (i, j) in attained else wanted[i].shared(given[j])
        for i in range(len(wanted))
        for j in range(len(given))
    }
    left, right = set(range(len(wanted))), set(range(len(given)))
    for i, j in sorted(worth, key=lambda pair: (-worth[pair], pair)):
        if worth[i, j] and i in left and j in right:
            left.remove(i)
            right.remove(j)
            yield i, j


def _owners(query: exp.Expr, ctes: Collection[str]) -> dict[str, str]:
    """Returns what each name of a source stands for, here and in the queries around."""
    owners: dict[str, str] = {}
    above: exp.Expr | None = query
    while above is not None:
        if isinstance(above, exp.Select):
            for name, owner in _sources(above, ctes):
                owners.setdefault(name, owner)
            # One source alone owns the columns that name none.
            own = _sources(above, ctes)
            if above is query and len(own) == 1:
                owners[""] = own[0][1]
        above = above.parent
    return owners


def _sources(select: exp.Select, ctes: Collection[str]) -> list[tuple[str, str]]:
    parts = [select.args.get("from_"), *(select.args.get("joins") or ())]
    found = []
    for part in parts:
        source = None if part is None else part.this
        if isinstance(source, exp.Table):
            name = source.name.lower()
            found.append((source.alias_or_name.lower(), _HOLE if name in ctes else name))
        elif source is not None:
            found.append((source.alias_or_name.lower(), _HOLE))
    return found


def _within(query: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the nodes of a query, without those of the queries inside."""
    yield from query.walk(
        prune=lambda node: node is not query and isinstance(node, (*_QUERY, exp.With))
    )


def _write_out(query: exp.Expr, owners: Mapping[str, str], schema: Schema | None) -> None:
    for column in [node for node in _within(query) if isinstance(node, exp.Column)]:
        name = column.name.lower()
        table = column.table.lower()
        owner = owners.get(table, table)
        if not table and not owner and schema is not None:
            tables = {schema.find(one) for one in owners.values()} - {None}
            having = [t.name for t in tables if t and name in {c.name.lower() for c in t.columns}]
            owner = having[0].lower() if len(having) == 1 else ""
        column.set("table", None)
        column.set("this", exp.to_identifier(f"{owner}.{name}".strip("."), quoted=False))


def _read(original: exp.Expr, twin: exp.Expr, ctes: Collection[str]) -> Subtask:
    parts: Counter[Part] = Counter()
    weights: dict[Part, int] = {}
    found: list[tuple[str, exp.Expr | str]] = list(_parts_of(twin))
    if isinstance(original, exp.Select):
        found += [("table", owner) for _, owner in _sources(original, ctes)]
    for clause, node in found:
        part = (clause, node if isinstance(node, str) else node_text(node))
        parts[part] += 1
        weights[part] = 1 if isinstance(node, str) else sum(1 for _ in node.walk())
    kind, name = _kind_of(original)
    assert isinstance(original, exp.Query)
    return Subtask(kind, name, original, parts, weights)


def _parts_of(query: exp.Expr) -> Iterator[tuple[str, exp.Expr | str]]:
    if isinstance(query, exp.Select):
        yield from select_parts(query)
        return
    yield ("set", f"{query.key} {bool(query.args.get('distinct'))}")
    order = query.args.get("order")
    yield from (("order", one) for one in (order.expressions if order else ()))
    for name in ("limit", "offset"):
        if query.args.get(name) is not None:
            yield (name, query.args[name])


def _kind_of(query: exp.Expr) -> tuple[str, str]:
    above = query.parent
    name = ""
    while isinstance(above, exp.Subquery):
        name = name or above.alias
        above = above.parent
    if above is None:
        return "main", ""
    if isinstance(above, exp.CTE):
        return "cte", above.alias
    return ("branch" if isinstance(above, exp.SetOperation) else "subquery"), name


def _dig(query: exp.Expr) -> None:
    """Leaves a hole where a query stood; a CTE goes with its name."""
    outer = query
    while isinstance(outer.parent, exp.Subquery):
        outer = outer.parent
    if outer.parent is not None and not isinstance(outer.parent, exp.CTE):
        outer.replace(exp.var(_HOLE))
