"""Expressions of SQL as formulas."""

import re

import z3
from sqlglot import exp

from rewardkit.verifiers.sql._proving.blocks import Env, Occurrence, Placed, Unsupported
from rewardkit.verifiers.sql._proving.values import (
    Formula,
    Term,
    Truth,
    choose,
    compare,
    number,
    same_value,
    symbol,
    variable,
)
from rewardkit.verifiers.sql._schema import Column
from rewardkit.verifiers.sql._signals import is_chance

__all__ = ["Encoder"]

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Lower: "text", exp.Upper: "text", exp.Trim: "text", exp.Substring: "text",
    exp.DPipe: "text", exp.Length: "int", exp.Round: "real", exp.Replace: "text",
    exp.TimeToStr: "text",
}  # fmt: skip
"""Functions that are symbols, and the kind of what they give."""
_PATTERNS = (exp.Like, exp.ILike, exp.Glob)
_SIGNS: dict[type[exp.Expr], str] = {
    exp.GT: "gt", exp.GTE: "ge", exp.LT: "lt", exp.LTE: "le", exp.EQ: "eq", exp.NEQ: "ne",
}  # fmt: skip


class Encoder:
    """Makes formulas of expressions; the same slot and column are the same variable.

    Args:
        dialect: sqlite or duckdb.
        slots: for each occurrence's number, the row that it ranges over.
        texts: the constant of each text literal, shared by both queries.
    """

    def __init__(self, dialect: str, slots: dict[int, int], texts: dict[str, Formula]) -> None:
        self._dialect = dialect
        self._slots = slots
        self._texts = texts
        self.groups: dict[int, Term] = {}
        """What an aggregate is, by the id of its node; empty outside of groups."""

    def column(self, occurrence: Occurrence, column: Column) -> Term:
        """Returns the variable of a column in a row."""
        return variable(self._slots[occurrence.number], occurrence, column)

    def term(self, placed: Placed) -> Term:
        """Returns an expression's value.

        Raises:
            Unsupported: it is outside of the fragment.
        """
        node, env = placed.node, placed.env
        if id(node) in self.groups:
            return self.groups[id(node)]
        if is_chance(node) or isinstance(node, exp.AggFunc):
            raise Unsupported(node.key)
        if isinstance(node, exp.Paren):
            return self.term(Placed(node.this, env))
        if isinstance(node, exp.Column):
            found = env.resolve(node)
            return self.term(found) if isinstance(found, Placed) else self.column(*found)
        if isinstance(node, exp.Literal):
            return self._literal(node)
        if isinstance(node, exp.Null):
            return Term("null", z3.IntVal(0), z3.BoolVal(True))
        if isinstance(node, exp.Neg):
            inner = self.term(Placed(node.this, env))
            return Term(number(inner).kind, -inner.value, inner.null)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.IntDiv):
            return self._arithmetic(node, env)
        if isinstance(node, exp.Case | exp.If | exp.Coalesce | exp.Nullif):
            return self._choice(node, env)
        if isinstance(node, exp.Cast):
            return self._cast(node, env)
        if type(node) in _FUNCTIONS:
            return self._symbol(node, env, _FUNCTIONS[type(node)])
        if self._dialect == "sqlite" and isinstance(node, exp.Predicate | exp.Connector | exp.Not):
            truth = self.truth(placed)
            return Term(
                "int", z3.If(truth.true, z3.IntVal(1), z3.IntVal(0)),
                z3.Not(z3.Or(truth.true, truth.false)),
            )  # fmt: skip
        raise Unsupported(node.key)

    def truth(self, placed: Placed) -> Truth:
        """Returns when a condition is true and when it is false.

        Raises:
            Unsupported: it is outside of the fragment.
        """
        node, env = placed.node, placed.env
        if isinstance(node, exp.Paren):
            return self.truth(Placed(node.this, env))
        if isinstance(node, exp.Not):
            inner = self.truth(Placed(node.this, env))
            return Truth(inner.false, inner.true)
        if isinstance(node, exp.And | exp.Or):
            sides = [self.truth(Placed(one, env)) for one in node.flatten()]
            true, false = [s.true for s in sides], [s.false for s in sides]
            if isinstance(node, exp.And):
                return Truth(z3.And(*true), z3.Or(*false))
            return Truth(z3.Or(*true), z3.And(*false))
        if type(node) in _SIGNS:
            left, right = self._two(node, env)
            return compare(_SIGNS[type(node)], left, right)
        if isinstance(node, exp.Is):
            return self._is(node, env)
        if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
            same = same_value(*self._two(node, env))
            return Truth(same, z3.Not(same)) if isinstance(node, exp.NullSafeEQ) else Truth(
                z3.Not(same), same
            )  # fmt: skip
        if isinstance(node, exp.Between):
            value, low, high = (
                self.term(Placed(node.args[name], env)) for name in ("this", "low", "high")
            )
            above, below = compare("ge", value, low), compare("le", value, high)
            return Truth(z3.And(above.true, below.true), z3.Or(above.false, below.false))
        if isinstance(node, exp.In):
            return self._within(node, env)
        if isinstance(node, _PATTERNS):
            found = self._symbol(node, env, "int")
            return Truth(
                z3.And(z3.Not(found.null), found.value > 0),
                z3.And(z3.Not(found.null), found.value <= 0),
            )
        if isinstance(node, exp.Boolean):
            return Truth(z3.BoolVal(bool(node.this)), z3.BoolVal(not node.this))
        value = self.term(placed)
        if value.kind not in ("int", "real") or self._dialect != "sqlite":
            raise Unsupported(f"{node.key} as a condition")
        return Truth(
            z3.And(z3.Not(value.null), value.value != 0),
            z3.And(z3.Not(value.null), value.value == 0),
        )

    def _two(self, node: exp.Expr, env: Env) -> tuple[Term, Term]:
        return self.term(Placed(node.this, env)), self.term(Placed(node.expression, env))

    def _is(self, node: exp.Expr, env: Env) -> Truth:
        other = node.expression
        if isinstance(other, exp.Boolean):
            inner = self.truth(Placed(node.this, env))
            true = inner.true if other.this else inner.false
            return Truth(true, z3.Not(true))
        left = self.term(Placed(node.this, env))
        same = left.null
        if not isinstance(other, exp.Null):
            same = same_value(left, self.term(Placed(other, env)))
        return Truth(same, z3.Not(same))

    def _within(self, node: exp.In, env: Env) -> Truth:
        if node.args.get("query") is not None or not node.expressions:
            raise Unsupported("a query inside a condition")
        left = self.term(Placed(node.this, env))
        each = [compare("eq", left, self.term(Placed(one, env))) for one in node.expressions]
        return Truth(z3.Or(*(e.true for e in each)), z3.And(*(e.false for e in each)))

    def _literal(self, node: exp.Literal) -> Term:
        text, no = node.name, z3.BoolVal(False)
        if node.is_string:
            return Term("text", self._texts.setdefault(text, z3.Real(f"text:{text}")), no)
        if re.fullmatch(r"\d{1,15}", text):
            return Term("int", z3.IntVal(int(text)), no)
        if re.fullmatch(r"\d{1,15}\.\d{1,15}", text):
            return Term("real", z3.RealVal(text), no)
        raise Unsupported(f"the number {text}")

    def _arithmetic(self, node: exp.Expr, env: Env) -> Term:
        left, right = (number(term) for term in self._two(node, env))
        linear = isinstance(node, exp.Add | exp.Sub) or (
            isinstance(node, exp.Mul) and any(z3.is_int_value(one.value) for one in (left, right))
        )
        null = z3.Or(left.null, right.null)
        if linear and left.kind == right.kind == "int":
            a, b = left.value, right.value
            value = a + b if isinstance(node, exp.Add) else a - b
            return Term("int", a * b if isinstance(node, exp.Mul) else value, null)
        both = [left, right]
        if isinstance(node, exp.Add | exp.Mul):
            both.sort(key=lambda term: str(term.value.sexpr()))
        whole = left.kind == right.kind == "int" and (
            self._dialect == "sqlite" or not isinstance(node, exp.Div)
        )
        return symbol(node.key, both, "int" if whole else "real")

    def _choice(self, node: exp.Expr, env: Env) -> Term:
        if isinstance(node, exp.Nullif):
            left, right = self._two(node, env)
            return Term(left.kind, left.value, z3.Or(left.null, compare("eq", left, right).true))
        if isinstance(node, exp.Coalesce):
            terms = [self.term(Placed(one, env)) for one in (node.this, *node.expressions)]
            branches = [(z3.Not(term.null), term) for term in terms[:-1]]
            return choose(branches, terms[-1])
        if isinstance(node, exp.If):
            ifs, base, default = [node], None, node.args.get("false")
        else:
            ifs, base, default = node.args["ifs"], node.this, node.args.get("default")
        branches = []
        for one in ifs:
            when = Placed(one.this, env)
            if base is None:
                met = self.truth(when)
            else:
                met = compare("eq", self.term(Placed(base, env)), self.term(when))
            branches.append((met.true, self.term(Placed(one.args["true"], env))))
        last = exp.Null() if default is None else default
        return choose(branches, self.term(Placed(last, env)))

    def _cast(self, node: exp.Cast, env: Env) -> Term:
        to = node.to.sql().upper()
        kinds = {"REAL": "real", "FLOAT": "real", "DOUBLE": "real", "INT": "int", "TEXT": "text"}
        kind = next((kind for name, kind in kinds.items() if to.startswith(name)), None)
        if kind is None:
            raise Unsupported(f"a cast to {to}")
        inner = self.term(Placed(node.this, env))
        if kind == inner.kind:
            return inner
        if (inner.kind, kind) == ("int", "real"):
            return Term("real", z3.ToReal(inner.value), inner.null)
        return symbol(f"cast {kind}", [inner], kind)

    def _symbol(self, node: exp.Expr, env: Env, kind: str) -> Term:
        terms, marks = [], [node.key]
        for name, value in node.args.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, exp.Expr):
                    terms.append(self.term(Placed(one, env)))
                    marks.append(name)
                elif one:
                    marks.append(f"{name}={one}")
        return symbol(" ".join(marks), terms, kind)
