"""Signs that a query was written for the grader and not for the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewardkit.verifiers.sql._guard import Query, list_nodes
from rewardkit.verifiers.sql._schema import Schema

__all__ = ["Reads", "find_signals", "is_chance", "is_constant"]

_ADDRESS = re.compile(
    r"\b(?:grader|graders|grading|judge|reviewer|evaluator|verifier|verified|score|reward|points"
    r"|full marks|award|equivalent to the (?:gold|reference)|(?:gold|reference) (?:query|answer)"
    r"|is correct|ignore (?:all|any|the|previous)|instructions?|assistant|test passed)\b",
    re.I,
)
_DEPENDENT = (exp.Column, exp.Star, exp.AggFunc, exp.Window)
_CHANCE = re.compile(
    r"\b(?:random|randomblob|rand|uuid|gen_random_uuid|newid|now|current_timestamp|current_date"
    r"|current_time|localtimestamp|clock_timestamp|today|getdate|sysdate)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Reads:
    """What a query reads."""

    tables: frozenset[str]
    """The schema's tables, in lower case. CTEs hide tables."""
    constant: bool
    """True if no column and no count of rows can reach the result's values."""
    shadows: bool
    """True if a CTE has the name of a table."""

    @classmethod
    def of(cls, tree: exp.Expr, schema: Schema, nodes: Sequence[exp.Expr] = ()) -> "Reads":
        """Returns what a query reads.

        Args:
            tree: the query.
            schema: of the database.
            nodes: all nodes of the tree, where somebody has walked it already.
        """
        nodes = nodes or list_nodes(tree)
        hidden = {node.alias.lower() for node in nodes if isinstance(node, exp.CTE)}
        names = {node.name.lower() for node in nodes if isinstance(node, exp.Table)}
        return cls(
            frozenset(name for name in names - hidden if schema.find(name) is not None),
            # Tables that no CTE hides hold rows, so nothing but the outputs has to be looked at.
            _is_literal(tree)
            if isinstance(tree, exp.Select) and names and not hidden
            else is_constant(tree),
            any(schema.find(name) is not None for name in hidden),
        )


def find_signals(query: Query, schema: Schema, reference: Reads | None) -> list[str]:
    """Returns the names of the signs in a query, in a fixed order.

    `constants_only`: no value of any table can reach the result. `table_not_read`: a table of the
    reference is not in it. `shadow_cte`: a CTE has the name of a table. `non_deterministic`: chance
    or the clock. `comment_to_grader`: a comment talks of grading.
    """
    tree = query.tree
    found = []
    if tree is not None:
        nodes = query.nodes or list_nodes(tree)
        own = Reads.of(tree, schema, nodes)
        if own.constant and not (reference is not None and reference.constant):
            found.append("constants_only")
        if reference is not None and reference.tables - own.tables:
            found.append("table_not_read")
        if own.shadows:
            found.append("shadow_cte")
        if any(is_chance(node) for node in nodes):
            found.append("non_deterministic")
    if any(_ADDRESS.search(comment) for comment in query.comments):
        found.append("comment_to_grader")
    return found


def is_constant(tree: exp.Expr) -> bool:
    """Returns True if no column and no count of rows can reach the result's values."""
    if isinstance(tree, exp.SetOperation):
        return is_constant(tree.left) and is_constant(tree.right)
    if isinstance(tree, exp.Subquery):
        return is_constant(tree.this)
    if isinstance(tree, exp.Values):
        return True
    if not isinstance(tree, exp.Select):
        return False
    if _is_literal(tree):
        return True
    # Columns of tables that are themselves made of constants are constants.
    made = {cte.alias.lower(): is_constant(cte.this) for cte in tree.find_all(exp.CTE)}
    sources = list(tree.find_all(exp.Table))
    if sources:
        return all(made.get(source.name.lower(), False) for source in sources)
    return tree.find(exp.Values) is not None or tree.args.get("from_") is None


def _is_literal(select: exp.Select) -> bool:
    """Returns True if no output of a SELECT hangs on a row."""
    outputs = select.expressions
    return not any(isinstance(node, _DEPENDENT) for one in outputs for node in list_nodes(one))


def is_chance(node: exp.Expr) -> bool:
    """Returns True for chance and the clock."""
    if isinstance(node, exp.Literal):
        return node.is_string and node.name.lower() == "now"
    if not isinstance(node, exp.Func):
        return False
    name = str(node.this) if isinstance(node, exp.Anonymous) else node.sql_name()
    return _CHANCE.fullmatch(name) is not None
