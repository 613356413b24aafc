"""Plain queries as blocks: rows of tables under conditions, with outputs, keys and an order.

A block is SELECT … FROM tables and inner joins, with WHERE, GROUP BY, HAVING, DISTINCT and ORDER
BY. Derived tables and CTEs that are plain themselves dissolve in the block around them. All else is
`Unsupported`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from rewardkit.verifiers.sql._schema import Column, Schema, Table

__all__ = ["Block", "Env", "Occurrence", "Placed", "Unsupported", "aggregates", "read_block"]

_ARGS = frozenset(
    ("expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "with_")
)
_PLAIN = frozenset(("this", "alias"))
_MAX_OCCURRENCES = 6


class Unsupported(Exception):
    """A query outside of the fragment; the text says which part."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One table in one FROM: its rows range over the table."""

    number: int
    table: Table

    def column(self, name: str) -> Column | None:
        """Returns a column of the table, whatever its case."""
        lower = name.lower()
        return next((c for c in self.table.columns if c.name.lower() == lower), None)


@dataclass(frozen=True, slots=True)
class Placed:
    """An expression and what its names mean."""

    node: exp.Expr
    env: "Env"
    name: str = ""
    """Of an output."""


@dataclass(slots=True)
class Env:
    """The sources that the names of a SELECT lead to."""

    sources: dict[str, "Occurrence | list[Placed]"] = field(default_factory=dict)
    outputs: list[Placed] = field(default_factory=list)
    """Whose aliases may stand for them where no source has the name."""
    merged: frozenset[str] = frozenset()
    """Columns of USING: they are equal wherever they come from."""

    def resolve(self, column: exp.Column) -> "tuple[Occurrence, Column] | Placed":
        """Returns a table's column, or the expression that the name stands for.

        Raises:
            Unsupported: no source has the name, or several have.
        """
        name, table = column.name.lower(), column.table.lower()
        found: list[tuple[Occurrence, Column] | Placed] = []
        for alias, source in self.sources.items():
            if table and alias != table:
                continue
            if isinstance(source, Occurrence):
                known = source.column(name)
                found += [] if known is None else [(source, known)]
            else:
                found += [one for one in source if one.name == name]
        if not found and not table:
            found += [o for o in self.outputs if o.name == name and o.node is not column][:1]
        if not found or (len(found) > 1 and name not in self.merged):
            raise Unsupported(f"the name {name}")
        return found[0]


@dataclass(slots=True)
class Block:
    """A query as a bag of rows."""

    occurrences: list[Occurrence] = field(default_factory=list)
    conditions: list[Placed] = field(default_factory=list)
    equalities: list[tuple[Placed, Placed]] = field(default_factory=list)
    """Further conditions: what USING makes equal."""
    outputs: list[Placed] = field(default_factory=list)
    distinct: bool = False
    keys: list[Placed] | None = None
    """None where rows are not grouped; empty where all of them are one group."""
    having: Placed | None = None
    order: list[tuple[Placed, tuple[bool, bool]]] = field(default_factory=list)
    """Keys, each with whether it falls and whether NULLs come first."""


def aggregates(node: exp.Expr) -> Iterator[exp.AggFunc]:
    """Yields the aggregates of an expression, without those in queries inside of it."""
    for one in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(one, exp.AggFunc):
            yield one


def read_block(tree: exp.Expr, schema: Schema) -> Block:
    """Returns a query as a block.

    Raises:
        Unsupported: it is not plain.
    """
    return _Reader(schema).read(tree, {})


class _Reader:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._numbers = count()

    def read(self, tree: exp.Expr, ctes: Mapping[str, exp.Expr]) -> Block:
        while isinstance(tree, exp.Subquery):
            _check_plain(tree)  # a LIMIT may stand behind the bracket
            tree = tree.this
        if not isinstance(tree, exp.Select):
            raise Unsupported(tree.key)
        strange = [name for name, value in tree.args.items() if value and name not in _ARGS]
        if strange or tree.find(exp.Window) is not None:
            raise Unsupported(strange[0] if strange else "window")
        around = tree.args.get("with_")
        if around is not None:
            if around.args.get("recursive"):
                raise Unsupported("a recursive CTE")
            if any(cte.alias_column_names for cte in around.expressions):
                raise Unsupported("columns named by a CTE")
            ctes = {**ctes, **{cte.alias.lower(): cte.this for cte in around.expressions}}
        block, env = Block(), Env()
        self._read_sources(tree, block, env, ctes)
        where = tree.args.get("where")
        if where is not None:
            block.conditions.append(Placed(where.this, env))
        block.outputs = env.outputs = [o for e in tree.expressions for o in _expand(e, env)]
        self._read_rest(tree, block, env)
        return block

    def _read_sources(
        self, select: exp.Select, block: Block, env: Env, ctes: Mapping[str, exp.Expr]
    ) -> None:
        start = select.args.get("from_")
        if start is None:
            raise Unsupported("no FROM")
        self._add(start.this, block, env, ctes)
        for join in select.args.get("joins") or ():
            if join.side or join.kind not in ("", "INNER", "CROSS") or join.args.get("method"):
                raise Unsupported(f"{join.method} {join.side} {join.kind} join".strip())
            left = dict(env.sources)
            self._add(join.this, block, env, ctes)
            if join.args.get("on") is not None:
                block.conditions.append(Placed(join.args["on"], env))
            for name in join.args.get("using") or ():
                self._merge(name.name, left, join.this, block, env)

    def _merge(
        self, name: str, left: dict[str, Occurrence | list[Placed]], right: exp.Expr,
        block: Block, env: Env,
    ) -> None:  # fmt: skip
        column = exp.column(name)
        before = Env(left, merged=env.merged)
        before.resolve(column)
        alias = right.alias_or_name.lower()
        after = Env({alias: env.sources[alias]})
        block.equalities.append((Placed(column, before), Placed(column, after)))
        env.merged = env.merged | {name.lower()}

    def _add(self, source: exp.Expr, block: Block, env: Env, ctes: Mapping[str, exp.Expr]) -> None:
        alias = source.alias_or_name.lower()
        if alias in env.sources or not alias:
            raise Unsupported("a source without a name of its own")
        _check_plain(source)
        if isinstance(source, exp.Table):
            name = source.name.lower()
            if name not in ctes:
                table = self._schema.find(name)
                if table is None or not isinstance(source.this, exp.Identifier):
                    raise Unsupported(f"the table {name}")
                env.sources[alias] = self._occurrence(table, block)
                return
            # A CTE sees only those before it; one that reads its own name reads a table.
            inner = self.read(ctes[name], {k: v for k, v in ctes.items() if k != name})
        elif isinstance(source, exp.Subquery):
            if isinstance(source.args.get("alias"), exp.TableAlias) and source.alias_column_names:
                raise Unsupported("columns named by an alias")
            inner = self.read(source.this, ctes)
        else:
            raise Unsupported(source.key)
        if inner.distinct or inner.keys is not None or inner.having is not None:
            raise Unsupported("a grouped query inside")
        block.occurrences += inner.occurrences
        block.conditions += inner.conditions
        block.equalities += inner.equalities
        env.sources[alias] = inner.outputs

    def _occurrence(self, table: Table, block: Block) -> Occurrence:
        made = Occurrence(next(self._numbers), table)
        if made.number >= _MAX_OCCURRENCES:
            raise Unsupported("more tables than are tried")
        block.occurrences.append(made)
        return made

    def _read_rest(self, select: exp.Select, block: Block, env: Env) -> None:
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise Unsupported("DISTINCT ON")
        block.distinct = distinct is not None
        having, group = select.args.get("having"), select.args.get("group")
        if group is not None:
            if any(v for k, v in group.args.items() if k != "expressions"):
                raise Unsupported("grouping sets")
            block.keys = [
                _referred(key, block.outputs, env, first=False) for key in group.expressions
            ]
        elif any(True for one in block.outputs for _ in aggregates(one.node)) or having is not None:
            block.keys = []
        if having is not None:
            block.having = Placed(having.this, env)
        order = select.args.get("order")
        for one in order.expressions if order is not None else ():
            place = _referred(one.this, block.outputs, env, first=True)
            flags = (bool(one.args.get("desc")), bool(one.args.get("nulls_first")))
            block.order.append((place, flags))


def _check_plain(source: exp.Expr) -> None:
    strange = [name for name, value in source.args.items() if value and name not in _PLAIN]
    if strange:
        raise Unsupported(f"{strange[0]} of a source")


def _expand(output: exp.Expr, env: Env) -> Sequence[Placed]:
    if not output.is_star or not isinstance(output, exp.Star | exp.Column):
        return [Placed(output.unalias(), env, output.alias_or_name.lower())]
    if env.merged or output.args.get("except_") or output.args.get("replace"):
        raise Unsupported("a star over USING")
    wanted = output.table.lower() if isinstance(output, exp.Column) else ""
    found: list[Placed] = []
    for alias, source in env.sources.items():
        if wanted and alias != wanted:
            continue
        if isinstance(source, Occurrence):
            names = [column.name for column in source.table.columns]
            found += [Placed(exp.column(n, table=alias), env, n.lower()) for n in names]
        else:
            found += source
    return found


def _referred(key: exp.Expr, outputs: Sequence[Placed], env: Env, *, first: bool) -> Placed:
    """Returns what a key of GROUP BY or ORDER BY means: a place, an alias, or itself."""
    if isinstance(key, exp.Literal) and not key.is_string:
        place = int(key.name) if key.name.isdigit() else 0
        if not 0 < place <= len(outputs):
            raise Unsupported("a key by place")
        return outputs[place - 1]
    if isinstance(key, exp.Column) and not key.table:
        named = [one for one in outputs if one.name == key.name.lower()]
        others = [one for one in named if not isinstance(one.node, exp.Column)]
        if named and (first or not others):
            return named[0] if first else Placed(key, env)
        if others:
            try:
                Env(env.sources, merged=env.merged).resolve(key)
            except Unsupported:
                return others[0]
            raise Unsupported("an alias that hides a column")
    return Placed(key, env)
