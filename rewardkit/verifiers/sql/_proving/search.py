"""Whether two blocks are the same bag on every database, or rows that may tell them apart.

Two blocks are the same bag if their tables can be paired so that, whatever rows the tables hold,
both conditions are true of the same rows and both outputs of these are equal. This is sound, for
bags and for sets; it is not complete: keys may make a join superfluous, which is not looked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, permutations, product

import z3
from sqlglot import exp

from rewardkit.verifiers.sql._engines.base import Data
from rewardkit.verifiers.sql._proving.blocks import Block, Env, Placed, Unsupported, aggregates
from rewardkit.verifiers.sql._proving.rows import read_rows
from rewardkit.verifiers.sql._proving.terms import Encoder
from rewardkit.verifiers.sql._proving.values import Formula, Term, same_value, variable
from rewardkit.verifiers.sql._schema import Schema

__all__ = ["Outcome", "compare_blocks"]

_MAX_PAIRINGS = 24
_KEPT_KINDS = (exp.Min, exp.Max)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found: proved, or rows to try, or neither."""

    proved: bool
    data: Data | None = None
    detail: str = ""


def compare_blocks(
    query: Block, reference: Block, schema: Schema, dialect: str, *, ordered: bool, effort: int
) -> Outcome:
    """Returns whether two blocks are the same, or rows on which they may differ.

    Args:
        query: the prediction.
        reference: the reference.
        schema: whose keys and NOT NULLs hold.
        dialect: sqlite or duckdb.
        ordered: whether the order counts as well.
        effort: what z3 may spend on one question, in its own units, which do not hang on the load.

    Raises:
        Unsupported: an expression is outside of the fragment.
    """
    if len(query.outputs) != len(reference.outputs):
        raise Unsupported("another number of columns")
    shape = "sets" if query.distinct != reference.distinct else ""
    if (query.keys is None) != (reference.keys is None):
        shape = "groups"
    rows: Data | None = None
    undecided = ""
    for slots in islice(_pairings(query, reference), _MAX_PAIRINGS):
        tried = _Pairing(query, reference, schema, dialect, slots, effort)
        verdict = tried.decide(ordered=ordered)
        if verdict == "same" and not shape:
            return Outcome(True)
        if verdict == "open":
            undecided = "no decision within the effort"
        elif rows is None and tried.model is not None:
            rows = read_rows(tried.model, tried.occurrences, tried.texts, schema)
    return Outcome(
        False, rows, shape or undecided or "no pairing of the tables makes them the same"
    )


def _pairings(query: Block, reference: Block) -> Iterator[dict[int, int]]:
    """Yields which row of the reference each table of the query ranges over."""
    mine, theirs = _by_table(query), _by_table(reference)
    if {k: len(v) for k, v in mine.items()} != {k: len(v) for k, v in theirs.items()}:
        raise Unsupported("other tables")
    names = sorted(mine)
    for choice in product(*(permutations(theirs[name]) for name in names)):
        yield {
            number: slot
            for name, slots in zip(names, choice, strict=True)
            for number, slot in zip(mine[name], slots, strict=True)
        }


def _by_table(block: Block) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in block.occurrences:
        found.setdefault(one.table.name.lower(), []).append(one.number)
    return found


class _Pairing:
    """One way to pair the tables, and what z3 says of it."""

    def __init__(
        self, query: Block, reference: Block, schema: Schema, dialect: str,
        slots: Mapping[int, int], effort: int,
    ) -> None:  # fmt: skip
        self.texts: dict[str, Formula] = {}
        self.occurrences = reference.occurrences
        self.model: Formula = None
        self._blocks = (query, reference)
        self._schema, self._effort = schema, effort
        self._encoders = (
            Encoder(dialect, dict(slots), self.texts),
            Encoder(dialect, {o.number: o.number for o in reference.occurrences}, self.texts),
        )
        self._facts: list[Formula] = self._keys()

    def decide(self, *, ordered: bool) -> str:
        """Returns "same", "different" or "open"."""
        mine, theirs = (
            self._condition(b, e) for b, e in zip(self._blocks, self._encoders, strict=True)
        )
        found = [self._never(mine != theirs)]
        # Of an empty group, which is there without GROUP BY, the condition says nothing.
        whole = self._blocks[1].keys == []
        premise = [] if whole else [theirs]
        if self._blocks[0].keys is not None and self._blocks[1].keys is not None:
            found.append(self._pair_keys(theirs))
            self._name_aggregates(theirs)
            havings = [self._having(i) for i in (0, 1)]
            found.append(self._never(*premise, havings[0] != havings[1]))
            premise = [*premise, havings[1]]
        for left, right in zip(*(b.outputs for b in self._blocks), strict=True):
            found.append(self._equal(premise, left, right))
        if ordered:
            found += self._orders(premise)
        return next((one for one in ("different", "open") if one in found), "same")

    def _condition(self, block: Block, encoder: Encoder) -> Formula:
        every = [encoder.truth(placed).true for placed in block.conditions]
        for left, right in block.equalities:
            a, b = encoder.term(left), encoder.term(right)
            every.append(z3.And(z3.Not(a.null), z3.Not(b.null), same_value(a, b)))
        return z3.And(*every)

    def _equal(self, premise: Sequence[Formula], left: Placed, right: Placed) -> str:
        a, b = self._encoders[0].term(left), self._encoders[1].term(right)
        return self._never(*premise, z3.Not(same_value(a, b)))

    def _never(self, *formulas: Formula) -> str:
        """Returns "same" if no rows make all of the formulas true, else "different" or "open"."""
        solver = z3.Solver()
        solver.set("rlimit", self._effort)
        solver.add(*self._facts, *self._text_order(), *formulas)
        found = solver.check()
        if found == z3.unsat:
            return "same"
        if found != z3.sat:
            return "open"
        if self.model is None:
            self.model = solver.model()
        return "different"

    def _text_order(self) -> list[Formula]:
        texts = sorted(self.texts)
        return [self.texts[a] < self.texts[b] for a, b in pairwise(texts)]

    def _keys(self) -> list[Formula]:
        """Rows of one table with one key are one row."""
        facts = []
        for i, one in enumerate(self.occurrences):
            for other in self.occurrences[i + 1 :]:
                if one.table.name != other.table.name:
                    continue
                for key in one.table.keys:
                    names, pairs = {name.lower() for name in key}, []
                    for column in one.table.columns:
                        try:
                            a, b = (variable(o.number, o, column) for o in (one, other))
                        except Unsupported:
                            continue
                        pairs.append((column.name.lower() in names, a, b))
                    met = [z3.And(same_value(a, b), z3.Not(a.null)) for held, a, b in pairs if held]
                    if len(met) == len(key):
                        every = z3.And(*(same_value(a, b) for _, a, b in pairs))
                        facts.append(z3.Implies(z3.And(*met), every))
        return facts

    def _pair_keys(self, condition: Formula) -> str:
        """Returns whether both group alike: each key of one is a key of the other."""
        mine, theirs = ([*(b.keys or ())] for b in self._blocks)
        found = []
        for one in mine:
            found.append(self._any_equal(condition, [(one, other) for other in theirs]))
        for other in theirs:
            found.append(self._any_equal(condition, [(one, other) for one in mine]))
        return next((one for one in ("different", "open") if one in found), "same")

    def _any_equal(self, condition: Formula, pairs: Sequence[tuple[Placed, Placed]]) -> str:
        results = [self._equal([condition], one, other) for one, other in pairs]
        if "same" in results:
            return "same"
        return "open" if "open" in results else "different"

    def _having(self, i: int) -> Formula:
        having = self._blocks[i].having
        return z3.BoolVal(True) if having is None else self._encoders[i].truth(having).true

    def _orders(self, premise: Sequence[Formula]) -> list[str]:
        mine, theirs = (b.order for b in self._blocks)
        if [flags for _, flags in mine] != [flags for _, flags in theirs]:
            raise Unsupported("another order")
        keys = zip(mine, theirs, strict=True)
        return [self._equal(premise, left, right) for (left, _), (right, _) in keys]

    def _name_aggregates(self, condition: Formula) -> None:
        """Gives equal aggregates of both queries one name, and checks what stands beside them."""
        known: list[tuple[str, Term | None, Term]] = []
        for block, encoder in zip(self._blocks, self._encoders, strict=True):
            for placed in _grouped(block):
                for node in aggregates(placed.node):
                    value = self._aggregate(node, placed.env, encoder, condition, known)
                    encoder.groups[id(node)] = value
                self._check_bare(placed, block, encoder, condition)

    def _aggregate(
        self, node: exp.AggFunc, env: Env, encoder: Encoder, condition: Formula,
        known: list[tuple[str, Term | None, Term]],
    ) -> Term:  # fmt: skip
        if not isinstance(node, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max):
            raise Unsupported(node.key)
        inner, mark = node.this, node.key
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) != 1:
                raise Unsupported("several columns in an aggregate")
            inner = inner.expressions[0]
            mark += "" if isinstance(node, _KEPT_KINDS) else " distinct"
        if node.expressions or isinstance(node.parent, exp.Filter):
            raise Unsupported("an aggregate with further parts")
        argument: Term | None = None
        if not isinstance(inner, exp.Star):
            argument = encoder.term(Placed(inner, env))
            never_null = self._never(condition, argument.null) == "same"
            if mark == "count" and never_null:
                argument = None
        for name, other, value in known:
            if name != mark or (other is None) != (argument is None):
                continue
            if argument is None or other is None:
                return value
            if other.kind == argument.kind:
                same = self._never(condition, z3.Not(same_value(argument, other)))
                if same == "same":
                    return value
        value = _fresh(mark, argument, len(known))
        known.append((mark, argument, value))
        return value

    def _check_bare(
        self, placed: Placed, block: Block, encoder: Encoder, condition: Formula
    ) -> None:
        """Columns beside aggregates have to be keys of their group."""
        inside = {id(n) for node in aggregates(placed.node) for n in node.walk()}
        for column in placed.node.find_all(exp.Column):
            if id(column) in inside:
                continue
            found = placed.env.resolve(column)
            here = Placed(column, placed.env)
            if isinstance(found, Placed) and any(True for _ in aggregates(found.node)):
                continue
            term = encoder.term(here)
            keys = [encoder.term(key) for key in block.keys or ()]
            if not any(
                key.kind == term.kind
                and self._never(condition, z3.Not(same_value(term, key))) == "same"
                for key in keys
            ):
                raise Unsupported("a column beside its group")


def _grouped(block: Block) -> list[Placed]:
    having = [] if block.having is None else [block.having]
    return [*block.outputs, *having, *(placed for placed, _ in block.order)]


def _fresh(mark: str, argument: Term | None, number: int) -> Term:
    kind = "int" if mark.startswith("count") else "real" if mark.startswith("avg") else ""
    kind = kind or (argument.kind if argument is not None else "int")
    if kind == "text" and mark.startswith(("sum", "avg")):
        raise Unsupported("a sum of texts")
    name = f"aggregate {number}"
    null = z3.BoolVal(False) if mark.startswith("count") else z3.Bool(f"{name}?")
    return Term(kind, z3.Int(name) if kind == "int" else z3.Real(name), null)
