"""The comparison of an answer with its reference: the reference's kind says how the answer is taken."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rewardkit.verifiers.math._decision import (
    NO_TOLERANCE,
    Decision,
    Tolerance,
    different,
    equal,
    undecided,
)
from rewardkit.verifiers.math._families import expand_plus_minus, family
from rewardkit.verifiers.math._limits import (
    MAX_ITEMS,
    Meter,
    TooLargeError,
    UndefinedValueError,
    UnsupportedError,
)
from rewardkit.verifiers.math._nodes import (
    Add,
    Apply,
    BaseNum,
    BigO,
    BigOp,
    Builder,
    Call,
    Cases,
    Congruence,
    Const,
    Div,
    Ellipsis,
    Labelled,
    Listing,
    Matrix,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    PlusMinus,
    Pow,
    Quantifier,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    children,
)
from rewardkit.verifiers.math._numeric import Evaluator, context
from rewardkit.verifiers.math._rewrite import contains, free_symbols, replace, walk
from rewardkit.verifiers.math._scalar import Scalar, compare_scalars, is_literal
from rewardkit.verifiers.math._sets import is_set_like, real_set
from rewardkit.verifiers.math._units import Unit, parse_unit

__all__ = ["Comparer", "is_unevaluated"]

_VALUES = (Num, Sym, Add, Mul, Div, Neg, Pow, Call, BigOp, Percent, BaseNum, Apply)
_PAIRWISE = 48
"""Lists longer than this are not compared pair by pair."""
_CONSTANTS_OF_INTEGRATION = ("C", "c", "K", "C_1", "c_1", "const")


@dataclass(slots=True)
class Comparer:
    """Compares one answer with a reference, under one tolerance and one budget of work.

    `known` holds the scalars of the reference, which are computed once for all its rollouts.
    """

    tolerance: Tolerance = NO_TOLERANCE
    known: Mapping[Node, Scalar] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    made: dict[Node, Scalar] = field(default_factory=dict)

    def scalar(self, node: Node) -> Scalar:
        found = self.known.get(node) or self.made.get(node)
        if found is None:
            found = self.made[node] = Scalar(node, self.meter)
        return found

    def value_at(self, node: Node, point: int) -> Any:
        """Returns the value at a sample point, within the budget."""
        return Evaluator(point=point, meter=self.meter).value(node)

    def compare(self, reference: Node, answer: Node) -> Decision:
        """Returns whether the answer says the same as the reference."""
        if reference == answer:
            return equal("canonical", "the same expression")
        answer, reference = _unlabel(answer), _unlabel(reference)
        if isinstance(reference, Add | Mul | Div | Neg | Call) and contains(reference, (PlusMinus,)):
            return self.collection(reference, answer)
        for kind, rule in _RULES:
            if isinstance(reference, kind):
                return rule(self, reference, answer)
        return self.values(reference, answer)

    def values(self, reference: Node, answer: Node) -> Decision:
        """Compares with a single value: a number or an expression."""
        value = _value_of(answer, reference, self)
        if isinstance(value, Decision):
            return value
        if isinstance(value, Quantity) and not _is_angle(value):
            value = value.body
        if isinstance(value, BaseNum) and isinstance(reference, BaseNum):
            return self.based(reference, value)
        if isinstance(value, Seq) and len(value.items) == 1:
            value = value.items[0]
        if isinstance(value, Cases):
            return self.piecewise(reference, value)
        if isinstance(value, Listing | PlusMinus) or contains(value, (PlusMinus,)):
            return different("structure", "several values where one was asked for")
        if isinstance(value, Ratio) and len(value.parts) == 2:
            value = Div(*value.parts)
        if isinstance(value, Seq | SetOp | Builder | Matrix | Labelled | Congruence | BigO | Ellipsis | Rel) or (
            isinstance(value, Const) and value.name in ("R", "Q", "Z", "N", "C", "empty")
        ):
            return different("structure", f"a {_kind_name(value)} where a value was asked for")
        if contains(value, (Matrix,)) and not contains(reference, (Matrix,)) and not _determinants(value):
            return different("structure", "a matrix where a value was asked for")
        if _constant_name(reference) and _constant_name(value):
            return self.antiderivatives(reference, value)
        if _is_angle(value) and not _is_angle(reference) and isinstance(value, Quantity):
            plain = compare_scalars(self.scalar(reference), self.scalar(value.body), self.tolerance)
            return plain if plain else compare_scalars(self.scalar(reference), self.scalar(value), self.tolerance)
        return compare_scalars(self.scalar(reference), self.scalar(value), self.tolerance)

    def based(self, reference: BaseNum, answer: BaseNum) -> Decision:
        same = reference == answer
        return (equal if same else different)("exact", "digits and base" if same else "other digits or another base")

    def base_number(self, reference: BaseNum, answer: Node) -> Decision:
        value = _value_of(answer, reference, self)
        if isinstance(value, BaseNum):
            return self.based(reference, value)
        return different("structure", "a number without the base that was asked for")

    def antiderivatives(self, reference: Node, answer: Node) -> Decision:
        """Compares up to an additive constant: both sides carry one."""
        left = replace(reference, {Sym(_constant_name(reference)): Num(0)})
        right = replace(answer, {Sym(_constant_name(answer)): Num(0)})
        names = sorted(free_symbols(left) | free_symbols(right))
        differences = list[Any]()
        for point in (0, 1, 2, 3, 4):
            try:
                a = self.value_at(left, point)
                b = self.value_at(right, point)
            except (UndefinedValueError, UnsupportedError, TooLargeError):
                continue
            differences.append((a - b).real)
        if len(differences) < 3 or not names:
            return undecided("numeric", "no point where both have a value")
        spread = max(differences) - min(differences)
        same = spread <= 1e-25 * (1 + max(abs(d) for d in differences))
        return (equal if same else different)("numeric", "equal up to a constant" if same else "the difference is not constant")

    def quantity(self, reference: Quantity, answer: Node) -> Decision:
        """Compares values with units: convertible units convert, a missing unit is taken as the reference's."""
        value = _value_of(answer, reference, self)
        if isinstance(value, Decision):
            return value
        value = _read_symbol_as_unit(value)
        if isinstance(value, Call) and value.name == "approx" and isinstance(value.args[0], Quantity):
            inner = value.args[0]
            value = Quantity(Call("approx", (inner.body,)), inner.unit)
        if not isinstance(value, Quantity):
            if _is_angle(reference) and contains(value, (Const,)) and self.values(reference, value):
                return equal("units", "radians and degrees")
            return self.compare(reference.body, value)
        mine, theirs = parse_unit(reference.unit), parse_unit(value.unit)
        return self.converted(reference.body, value.body, mine, theirs)

    def converted(self, reference: Node, answer: Node, mine: Unit, theirs: Unit) -> Decision:
        if mine.dimension != theirs.dimension:
            if not theirs.dimension and not mine.dimension:
                return self.compare(reference, answer)
            if not theirs.dimension and theirs.noun in ("", mine.noun):
                return self.compare(reference, answer)
            if {mine.dimension, theirs.dimension} <= {(("pound", 1),), (("GBP", 1),), (("M", 1),)}:
                return self.compare(reference, answer)
            return different("units", "another unit")
        if mine.noun and theirs.noun and not _same_noun(mine.noun, theirs.noun):
            return different("units", f"{theirs.noun} where {mine.noun} was asked for")
        if mine.factor == theirs.factor and mine.offset == theirs.offset and mine.pi_power == theirs.pi_power:
            return self.compare(reference, answer)
        left = _in_base_units(reference, mine)
        right = _in_base_units(answer, theirs)
        return compare_scalars(self.scalar(left), self.scalar(right), self.tolerance)

    def sequence(self, reference: Seq, answer: Node) -> Decision:
        """Compares with a bracketed sequence: braces hold a set, a group of one holds its value."""
        if reference.opening == "{":
            return self.collection(reference, answer)
        if _has_ellipsis(reference):
            return self.sequences(reference, _last_side(answer))
        if len(reference.items) == 1 and reference.opening != "<":
            return self.compare(reference.items[0], answer)
        return self.ordered(reference, answer)

    def ordered(self, reference: Seq, answer: Node) -> Decision:
        """Compares with a tuple, a point, a vector, an interval: brackets say which."""
        if is_set_like(reference):
            return self.real_sets(reference, answer)
        answer = _last_side(answer)
        if is_set_like(answer):
            if len(reference.items) == 2:
                return self.real_sets(reference, answer)
            return different("structure", "a set of numbers where a tuple was asked for")
        items = self.coordinates(answer, reference)
        if items is None:
            return different("structure", f"a {_kind_name(answer)} where a tuple was asked for")
        return self.elementwise(reference.items, items)

    def coordinates(self, answer: Node, reference: Seq) -> Sequence[Node] | None:
        match answer:
            case Seq(items, "{", _):
                return None
            case Seq(items, opening, closing):
                closed = (opening, closing) == ("[", "]")
                reference_closed = (reference.opening, reference.closing) == ("[", "]")
                if len(items) == 2 and closed != reference_closed and "<" not in (opening, reference.opening):
                    return None
                return items
            case Apply(_, items):
                return items
            case Matrix(rows) if len(rows) == 1 or len(rows[0]) == 1:
                return [cell for row in rows for cell in row]
            case Listing(items, joins) if "or" not in joins:
                named = _assignments(items)
                return [v for _, v in sorted(named.items())] if named else items
            case Labelled(pairs):
                return [node for _, node in pairs]
            case _:
                return _unit_vector_coordinates(answer)

    def elementwise(self, left: Sequence[Node], right: Sequence[Node]) -> Decision:
        if len(left) != len(right):
            return different("structure", f"{len(right)} entries where {len(left)} were asked for")
        return _all(self.compare(a, b) for a, b in zip(left, right, strict=True))

    def collection(self, reference: Node, answer: Node) -> Decision:
        """Compares with values in any order: a set, a bare list, a ±."""
        if _has_ellipsis(reference) or _has_ellipsis(_last_side(answer)):
            return self.sequences(reference, _last_side(answer))
        if isinstance(reference, Listing) and (named := _assignments(reference.items)) is not None:
            return self.systems(named, reference, answer)
        if is_set_like(reference) or (isinstance(reference, Listing) and is_set_like(answer)):
            return self.real_sets(reference, answer)
        answer = _last_side(answer, keep=_same_variable_values)
        members = _members(reference)
        if isinstance(answer, Seq) and answer.opening != "{" and isinstance(reference, Listing | PlusMinus):
            if members is not None and not _interval_like(answer):
                return self.elementwise(members, answer.items)
            return different("structure", f"a {_kind_name(answer)} where a list was asked for")
        given = _members(answer)
        if members is None or given is None:
            if members is not None and len(members) == 1:
                return self.compare(members[0], answer)
            if isinstance(answer, SetOp | Builder | Const | Rel):
                return self.real_sets(reference, answer)
            return different("structure", f"a {_kind_name(answer)} where several values were asked for")
        return self.matching(members, given)

    def matching(self, members: list[Node], given: list[Node]) -> Decision:
        """Pairs every member with one given value and every given value with one member."""
        members, given = _without_repeats(members, self), _without_repeats(given, self)
        if len(members) != len(given):
            return different("structure", f"{len(given)} values where {len(members)} were asked for")
        left, unsure = list(given), False
        if len(members) > _PAIRWISE:
            return self.exact_matching(members, given)
        for member in members:
            for index, value in enumerate(left):
                decision = self.compare(member, value)
                unsure = unsure or decision.same is None
                if decision:
                    del left[index]
                    break
            else:
                return undecided("structure", "a member could not be compared") if unsure else different(
                    "structure", "a value that is missing"
                )  # fmt: skip
        return equal("structure", f"the same {len(members)} values")

    def exact_matching(self, members: list[Node], given: list[Node]) -> Decision:
        """Compares long lists of exact numbers by their values alone."""
        left = {self.scalar(n).exact for n in members if isinstance(n, _VALUES)}
        right = {self.scalar(n).exact for n in given if isinstance(n, _VALUES)}
        same = left == right and len(left) == len(members) and len(right) == len(given)
        return (equal if same else different)("exact", "the same numbers" if same else "other numbers")

    def systems(self, named: dict[str, Node], reference: Listing, answer: Node) -> Decision:
        """Compares values of several unknowns by name: x = 3, y = 8."""
        if isinstance(answer, Quantifier):
            answer = answer.body
        if isinstance(answer, Listing):
            given = _assignments(answer.items)
            if given is not None and set(given) == set(named):
                return _all(self.compare(value, given[name]) for name, value in named.items())
            if given is None and not any(isinstance(i, Rel) for i in answer.items):
                return self.elementwise([v for _, v in sorted(named.items())], answer.items)
            return different("structure", "other unknowns")
        if isinstance(answer, Rel) and len(answer.sides) == 2 and isinstance(answer.sides[0], Seq):
            names = [s.name if isinstance(s, Sym) else "" for s in answer.sides[0].items]
            values = answer.sides[1]
            if isinstance(values, Seq) and sorted(names) == sorted(named) and len(values.items) == len(names):
                return _all(self.compare(named[n], v) for n, v in zip(names, values.items, strict=True))
            return different("structure", "other unknowns")
        if isinstance(answer, Seq) and answer.opening in ("(", "<"):
            return self.elementwise([v for _, v in sorted(named.items())], answer.items)
        return different("structure", f"a {_kind_name(answer)} where {len(named)} unknowns were asked for")

    def sequences(self, reference: Node, answer: Node) -> Decision:
        """Compares lists with an ellipsis: the written beginnings, the ends, and what the dots stand for."""
        left, right = _sequence_items(reference), _sequence_items(answer)
        if left is None or right is None:
            return different("structure", "no sequence")
        filled, given = _fill(left, self), _fill(right, self)
        if filled is not None and given is not None:
            return self.elementwise(filled, given)
        head_a, tail_a = _split_at_dots(left)
        head_b, tail_b = _split_at_dots(right)
        if head_a is None or head_b is None or bool(tail_a) != bool(tail_b):
            return different("structure", "one list goes on, the other ends")
        count = min(len(head_a), len(head_b))
        ends = min(len(tail_a), len(tail_b))
        pairs = [*zip(head_a[:count], head_b[:count], strict=True), *zip(tail_a[-ends:] if ends else [], tail_b[-ends:] if ends else [], strict=True)]
        if count + ends < 2:
            return undecided("structure", "too few written terms")
        return _all(self.compare(a, b) for a, b in pairs)

    def real_sets(self, reference: Node, answer: Node) -> Decision:
        """Compares subsets of the line: intervals, unions, inequalities, sets of points."""
        subject, target = _subject(reference)
        other, given = _subject(answer)
        try:
            left = real_set(target, self.meter)
        except (UnsupportedError, UndefinedValueError, TooLargeError):
            return self.symbolic_sets(reference, answer)
        if isinstance(answer, Rel) and answer.ops == ("=",) and not isinstance(answer.sides[1], Seq | SetOp | Const | Builder):
            return different("structure", "a single value where a set was asked for")
        if isinstance(given, _VALUES) and not isinstance(given, Add):
            return different("structure", "a single value where a set was asked for")
        if subject and other and subject != other and isinstance(reference, Rel) and isinstance(answer, Rel):
            return different("sets", "another unknown")
        try:
            right = real_set(given, self.meter)
        except (UnsupportedError, UndefinedValueError, TooLargeError) as error:
            return different("sets", f"no set of numbers: {error}")
        same = left.same_as(right)
        return (equal if same else different)("sets", "the same numbers" if same else "other numbers")

    def symbolic_sets(self, reference: Node, answer: Node) -> Decision:
        """Compares sets whose ends have symbols, part by part."""
        match _subject(reference)[1], _subject(answer)[1]:
            case Seq(a, opening_a, closing_a), Seq(b, opening_b, closing_b):
                if (opening_a, closing_a) != (opening_b, closing_b):
                    return different("structure", "other brackets")
                return self.elementwise(a, b)
            case SetOp(op_a, a), SetOp(op_b, b) if op_a == op_b:
                return self.matching(list(a), list(b))
            case Rel() as a, Rel() as b:
                return self.relations(a, b)
            case Builder(body_a, conditions_a), Builder(body_b, conditions_b):
                return _all([self.compare(body_a, body_b), self.elementwise(conditions_a, conditions_b)])
            case Listing(a, _), Listing(b, _):
                return self.matching(list(a), list(b))
            case Const() as a, b:
                return (equal if a == b else different)("structure", "a named set")
            case _:
                return undecided("structure", "sets that are not of numbers")

    def relation(self, reference: Rel, answer: Node) -> Decision:
        """Compares with an equation, an assignment, a definition or an inequality."""
        if "~" in reference.ops:
            return self.approximate(reference, answer)
        if isinstance(answer, Quantifier):
            answer = answer.body
        if is_set_like(reference):
            decision = self.real_sets(reference, answer)
            return decision
        left, right = reference.sides[0], reference.sides[-1]
        if _is_periodic(reference):
            return self.families(reference, answer)
        if isinstance(left, Apply) and _is_definition(reference):
            return self.definition(reference, answer)
        if not isinstance(answer, Rel):
            if isinstance(answer, Listing) and not isinstance(right, Listing | PlusMinus | Seq):
                return different("structure", "several values where one was asked for")
            if _is_name(left) or isinstance(right, Seq | Matrix | SetOp | PlusMinus | Ratio):
                return self.compare(right, answer)
            return different("structure", "no equation")
        if _is_name(left) and not free_symbols(right) and not isinstance(answer.sides[0], Sym | Seq):
            value = self.compare(right, answer)
            return value if value else self.relations(reference, answer)
        if isinstance(left, Seq | Ratio) or isinstance(right, Seq | Matrix | SetOp | PlusMinus | Const | Ratio):
            return self.compare(right, answer.sides[-1]) if _same_subject(reference, answer) else different(
                "structure", "another unknown"
            )  # fmt: skip
        if isinstance(answer.sides[0], Apply) and _is_name(left) and _is_definition(answer):
            return self.compare(right, answer.sides[-1])
        return self.relations(reference, answer)

    def approximate(self, reference: Rel, answer: Node) -> Decision:
        """A reference with ≈: its exact part or its decimals will do."""
        decisions = [self.compare(side, answer) for side in reference.sides if not isinstance(side, Sym)]
        return next((d for d in decisions if d), decisions[-1])

    def definition(self, reference: Rel, answer: Node) -> Decision:
        """Compares f(x) = …: the argument's name is bound, the function's is not."""
        head, body = reference.sides[0], reference.sides[-1]
        if not isinstance(head, Apply):
            return undecided("structure")
        if isinstance(answer, Rel) and answer.ops[-1] == "=":
            other = answer.sides[0]
            if isinstance(other, Apply) and len(other.args) == len(head.args):
                if other.name != head.name and len(reference.sides) == 2:
                    return different("structure", "another function")
                renamed = {b: a for a, b in zip(head.args, other.args, strict=True) if isinstance(b, Sym)}
                return self.compare(body, replace(answer.sides[-1], renamed))
            return self.compare(body, answer.sides[-1]) if _is_name(other) else self.relations(reference, answer)
        return self.compare(body, answer)

    def relations(self, reference: Rel, answer: Rel) -> Decision:
        """Compares two equations or inequalities up to a factor and the exchange of sides."""
        if len(reference.sides) != 2 or len(answer.sides) != 2:
            if reference.ops == answer.ops:
                return self.elementwise(reference.sides, answer.sides)
            return different("structure", "another chain of relations")
        left, right = _difference(reference), _difference(answer)
        flips = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        op_a, op_b = reference.ops[0], answer.ops[0]
        if op_a != op_b and flips.get(op_a) != op_b:
            return different("structure", "another relation")
        ratios = list[Any]()
        for point in (0, 3, 1, 4, 2, 5, 12, 13):
            try:
                a, b = self.value_at(left, point), self.value_at(right, point)
            except (UndefinedValueError, TooLargeError):
                continue
            except UnsupportedError as error:
                return self.structural(reference, answer, str(error))
            if abs(a) < 1e-30 or abs(b) < 1e-30:
                if abs(a) < 1e-30 and abs(b) < 1e-30:
                    continue
                return different("numeric", "only one of the equations holds at a sample point")
            ratios.append(a / b)
        if len(ratios) < 3:
            return undecided("numeric", "no point where both have a value")
        if any(abs(r - ratios[0]) > 1e-25 * abs(ratios[0]) for r in ratios):
            return different("numeric", "the equations have other solutions")
        if op_a != "=" and op_a != "!=" and (ratios[0].real > 0) != (op_a == op_b):
            return different("numeric", "the inequality points the other way")
        if abs(ratios[0].real) > 1e12 or abs(ratios[0].real) < 1e-12:
            return undecided("numeric", "an equation times an extreme factor")
        return equal("numeric", "the same equation up to a factor")

    def structural(self, reference: Node, answer: Node, why: str) -> Decision:
        if reference == answer:
            return equal("canonical", "the same expression")
        return undecided("structure", why)

    def families(self, reference: Node, answer: Node) -> Decision:
        """Compares congruences and families with an integer parameter."""
        try:
            name, left = family(reference, self.meter)
        except UnsupportedError:
            if isinstance(reference, Quantifier):
                inner = answer.body if isinstance(answer, Quantifier) else answer
                return self.compare(reference.body, inner)
            return self.structural(reference, answer, "a congruence with symbols")
        try:
            other, right = family(answer, self.meter)
            same = left.same_as(right)
        except UnsupportedError as error:
            return different("families", f"no family of values: {error}")
        if name and other and name != other:
            return different("families", "another unknown")
        return (equal if same else different)("families", "the same values" if same else "other values")

    def asymptotics(self, reference: BigO, answer: Node) -> Decision:
        """Compares classes of growth: equal if the ratio of the functions tends to a positive constant."""
        answer = _last_side(answer)
        if not isinstance(answer, BigO) or answer.name != reference.name:
            return different("structure", "another class of growth")
        names = free_symbols(reference.body) | free_symbols(answer.body)
        if not names:
            return equal("asymptotics", "both constant")
        if len(names) != 1:
            return self.compare(reference.body, answer.body)
        ratios = list[Any]()
        ctx, name = context(), next(iter(names))
        for power in (60, 120, 240):
            symbols = {name: ctx.mpf(10) ** power}
            try:
                top = Evaluator(symbols, meter=self.meter).value(reference.body)
                bottom = Evaluator(symbols, meter=self.meter).value(answer.body)
            except (UndefinedValueError, UnsupportedError, TooLargeError):
                return self.compare(reference.body, answer.body)
            if top == 0 or bottom == 0:
                return self.compare(reference.body, answer.body)
            ratios.append(abs(top / bottom))
        same = all(abs(r / ratios[-1] - 1) < 1e-6 for r in ratios)
        return (equal if same else different)("asymptotics", "the same growth" if same else "another growth")

    def piecewise(self, reference: Node, answer: Node) -> Decision:
        """Compares piecewise values row by row, or as functions where one side has no rows."""
        answer = _last_side(answer)
        if not (isinstance(reference, Cases) and isinstance(answer, Cases)):
            return compare_scalars(self.scalar(reference), self.scalar(answer), self.tolerance)
        if len(reference.rows) != len(answer.rows):
            return compare_scalars(self.scalar(reference), self.scalar(answer), self.tolerance)
        left = list(answer.rows)
        for value, condition in reference.rows:
            for index, (other, given) in enumerate(left):
                if self.compare(value, other) and self.same_condition(condition, given, reference, answer):
                    del left[index]
                    break
            else:
                return different("structure", "a case that is missing")
        return equal("structure", "the same cases")

    def same_condition(self, left: Node | None, right: Node | None, reference: Cases, answer: Cases) -> bool:
        if left is None or right is None:
            # "otherwise" is what the other rows leave.
            return True
        return bool(self.compare(left, right))

    def matrices(self, reference: Matrix, answer: Node) -> Decision:
        answer = _last_side(answer)
        if isinstance(answer, Matrix):
            shape = (len(reference.rows), len(reference.rows[0]))
            if shape != (len(answer.rows), len(answer.rows[0])):
                return different("structure", "a matrix of another shape")
            return self.elementwise(children(reference), children(answer))
        if 1 in (len(reference.rows), len(reference.rows[0])):
            items = self.coordinates(answer, Seq(children(reference), "<", ">"))
            if items is not None:
                return self.elementwise(children(reference), items)
        if isinstance(answer, Seq) and all(isinstance(i, Seq) for i in answer.items):
            rows = tuple(i.items for i in answer.items if isinstance(i, Seq))
            if len({len(r) for r in rows}) == 1 and rows:
                return self.matrices(reference, Matrix(rows))
        return different("structure", f"a {_kind_name(answer)} where a matrix was asked for")

    def labelled(self, reference: Labelled, answer: Node) -> Decision:
        if not isinstance(answer, Labelled):
            return different("structure", "no labelled parts")
        names = [label for label, _ in reference.items]
        if names != [label for label, _ in answer.items]:
            return different("structure", "other labels")
        return _all(self.compare(a, b) for (_, a), (_, b) in zip(reference.items, answer.items, strict=True))

    def ratios(self, reference: Ratio, answer: Node) -> Decision:
        answer = _last_side(answer)
        if isinstance(answer, Ratio):
            if len(answer.parts) != len(reference.parts):
                return different("structure", "another number of parts")
            if any(isinstance(p, Ellipsis) for p in (*answer.parts, *reference.parts)):
                return self.elementwise(reference.parts, answer.parts)
            first_a, first_b = reference.parts[0], answer.parts[0]
            return _all(
                self.compare(Mul((a, first_b)), Mul((b, first_a)))
                for a, b in zip(reference.parts[1:], answer.parts[1:], strict=True)
            )
        if len(reference.parts) == 2:
            return self.values(Div(*reference.parts), answer)
        return different("structure", "no ratio")

    def named_set(self, reference: Const, answer: Node) -> Decision:
        if reference.name == "empty":
            target = _last_side(answer)
            same = target == reference or (isinstance(target, Seq) and target.opening == "{" and not target.items)
            return (equal if same else different)("structure", "the empty set" if same else "not empty")
        if reference.name in ("R",):
            return self.real_sets(reference, answer)
        if reference.name in ("Q", "Z", "N", "C"):
            target = _subject(answer)[1]
            return (equal if target == reference else different)("structure", "a named set")
        return self.values(reference, answer)


def _all(decisions: Any) -> Decision:
    """Returns the conjunction: the first difference, else undecided if any is, else the last."""
    unsure: Decision | None = None
    last = equal("structure", "no parts")
    for decision in decisions:
        if decision.same is False:
            return different(decision.tier, decision.why)
        if decision.same is None:
            unsure = decision
        last = decision
    return unsure or equal(last.tier, "all parts agree")


_RULES: list[tuple[Any, Callable[[Comparer, Any, Node], Decision]]] = [
    (BaseNum, Comparer.base_number),
    (Quantity, Comparer.quantity),
    (Congruence, Comparer.families),
    (Quantifier, Comparer.families),
    (BigO, Comparer.asymptotics),
    (Matrix, Comparer.matrices),
    (Labelled, Comparer.labelled),
    (Ratio, Comparer.ratios),
    (Cases, Comparer.piecewise),
    (Rel, Comparer.relation),
    (Const, Comparer.named_set),
    (SetOp | Builder, Comparer.collection),
    (Listing | PlusMinus, Comparer.collection),
    (Seq, Comparer.sequence),
]


def _unlabel(node: Node) -> Node:
    """Returns the node without wrappers that say nothing: a group of one, an implied set."""
    if isinstance(node, Listing) and len(node.items) == 1:
        return node.items[0]
    return node


def _kind_name(node: Node) -> str:
    names = {
        Num: "number", Rel: "relation", Seq: "sequence", Listing: "list", SetOp: "set", Builder: "set",
        Matrix: "matrix", Const: "constant", Labelled: "labelled list", Ratio: "ratio", PlusMinus: "±",
        Quantity: "value with a unit", Congruence: "congruence", Quantifier: "family", BigO: "class of growth",
    }  # fmt: skip
    return names.get(type(node), "value")


def _is_name(node: Node) -> bool:
    """Returns True for what stands left of an assignment: x, f(x), ∠ABC, AB."""
    match node:
        case Sym() | Apply():
            return True
        case Mul(factors):
            return len(factors) <= 3 and all(isinstance(f, Sym) and f.name[:1].isupper() for f in factors)
        case Call("abs" | "det" | "norm" | "conj", (inner,)):
            return _is_name(inner)
        case _:
            return False


def _is_periodic(node: Rel) -> bool:
    """Returns True for x = ±π/3 + 2kπ without "k ∈ ℤ": a family by its look."""
    names = free_symbols(node.sides[-1])
    if node.ops != ("=",) or not isinstance(node.sides[0], Sym) or len(names) != 1 or not names <= frozenset("knml"):
        return False
    return _mentions(node.sides[-1], Const("pi")) or any(_is_angle(n) for n in walk(node.sides[-1]))


def _is_definition(node: Rel) -> bool:
    head = node.sides[0]
    return isinstance(head, Apply) and node.ops[-1] == "=" and all(isinstance(a, Sym) for a in head.args)


def _same_subject(reference: Rel, answer: Rel) -> bool:
    left, right = reference.sides[0], answer.sides[0]
    return left == right or not (isinstance(left, Sym | Seq) and isinstance(right, Sym | Seq))


def _last_side(node: Node, *, keep: Callable[[Node], Node | None] = lambda _: None) -> Node:
    """Returns what an equation gives its left side: the value of `S = {1, 2}`, of `(a, b) = (1, 2)`."""
    kept = keep(node)
    if kept is not None:
        return kept
    if isinstance(node, Rel) and node.ops[-1] in ("=", "in") and len(node.sides) >= 2:
        return node.sides[-1]
    if isinstance(node, Quantifier):
        return _last_side(node.body)
    return node


def _same_variable_values(node: Node) -> Node | None:
    """Returns the values of `x = 2 or x = -5`, `x = -5, 2`, without the name."""
    if not isinstance(node, Listing):
        return None
    names, values = set[Node](), list[Node]()
    for item in node.items:
        if isinstance(item, Rel) and item.ops == ("=",) and _is_name(item.sides[0]):
            names.add(item.sides[0])
            values.append(item.sides[1])
        else:
            values.append(item)
    return Listing(tuple(values), node.joins) if len(names) == 1 else None


def _assignments(items: Sequence[Node]) -> dict[str, Node] | None:
    """Returns name → value if every item is an assignment to a name of its own."""
    named = dict[str, Node]()
    for item in items:
        if not (isinstance(item, Rel) and len(item.sides) == 2 and item.ops == ("=",) and isinstance(item.sides[0], Sym)):
            return None
        if item.sides[0].name in named:
            return None
        named[item.sides[0].name] = item.sides[1]
    return named if len(named) > 1 else None


def _members(node: Node) -> list[Node] | None:
    """Returns the values of an unordered collection, ± expanded, or None."""
    match node:
        case Seq(items, "{", _) | Listing(items, _):
            named = _same_variable_values(node)
            source = named.items if isinstance(named, Listing) else items
            found = list[Node]()
            for item in source:
                value = item.sides[1] if isinstance(item, Rel) and item.ops == ("=",) and isinstance(item.sides[0], Sym) and named else item
                found += expand_plus_minus(value)
            return found if len(found) <= MAX_ITEMS else None
        case Rel((left, right), ("=",)) if _is_name(left):
            return _members(right)
        case Builder(body, conditions):
            return _roster(body, conditions)
        case SetOp("cup", parts):
            found = []
            for part in parts:
                inner = _members(part)
                if inner is None or not isinstance(part, Seq):
                    return None
                found += inner
            return found
        case _ if contains(node, (PlusMinus,)) and not isinstance(node, Seq):
            return expand_plus_minus(node)
        case Seq() | Rel() | SetOp() | Const() | Matrix() | Labelled():
            return None
        case _:
            return [node]


def _whole_solutions(body: Node, conditions: Sequence[Node]) -> list[Node] | None:
    """Returns the members of {n ∈ ℤ : |n| ≤ 2}, if they are whole numbers between -500 and 500."""
    if isinstance(body, Rel) and body.ops == ("in",) and isinstance(body.sides[0], Sym):
        conditions, domain = (*conditions, body), body.sides[0]
    elif isinstance(body, Sym):
        domain = body
    else:
        return None
    ranges = [c for c in conditions if isinstance(c, Rel) and c.ops == ("in",) and c.sides[0] == domain]
    rest = [c for c in conditions if c not in ranges]
    if not ranges or any(c.sides[1] not in (Const("Z"), Const("N"), Sym("Z+"), Sym("Z^+")) for c in ranges) or not rest:
        return None
    low = -500 if all(c.sides[1] == Const("Z") for c in ranges) else 1
    found = list[Node]()
    try:
        for value in range(low, 501):
            evaluator = Evaluator({domain.name: value})
            if all(evaluator.holds(c) for c in rest):
                found.append(Num(value))
    except (UndefinedValueError, UnsupportedError, TooLargeError):
        return None
    return None if found and found[-1] == Num(500) or len(found) > MAX_ITEMS else found


def _roster(body: Node, conditions: Sequence[Node]) -> list[Node] | None:
    """Returns the members of {2n : n = 1, 2, 3}, {n ∈ ℤ : 1 ≤ n ≤ 4}."""
    whole = _whole_solutions(body, conditions)
    if whole is not None:
        return whole
    head = conditions[0]
    names = free_symbols(body)
    if len(names) != 1:
        return None
    variable = Sym(next(iter(names)))
    values: list[Node] = []
    if isinstance(head, Rel) and head.ops == ("=",) and head.sides[0] == variable:
        values = [head.sides[1], *conditions[1:]]
    elif isinstance(head, Rel) and head.ops == ("in",) and isinstance(head.sides[1], Seq) and head.sides[1].opening == "{":
        values = list(head.sides[1].items)
    if any(isinstance(v, Ellipsis) for v in values):
        filled = _fill(values, Comparer())
        values = filled if filled is not None else []
    if not values or len(values) > MAX_ITEMS or any(isinstance(v, Rel) for v in values):
        return None
    return [replace(body, {variable: value}) for value in values]


def _without_repeats(values: list[Node], comparer: Comparer) -> list[Node]:
    kept, seen = list[Node](), set[Any]()
    for value in values:
        scalar = comparer.scalar(value) if isinstance(value, _VALUES) else None
        key = scalar.exact if scalar is not None and scalar.exact is not None else value
        if key not in seen:
            seen.add(key)
            kept.append(value)
    return kept


def _interval_like(node: Seq) -> bool:
    return len(node.items) == 2 and (node.opening, node.closing) != ("(", ")")


def _has_ellipsis(node: Node) -> bool:
    return isinstance(node, Seq | Listing) and any(isinstance(i, Ellipsis) for i in node.items)


def _sequence_items(node: Node) -> list[Node] | None:
    return list(node.items) if isinstance(node, Seq | Listing) else None


def _split_at_dots(items: list[Node]) -> tuple[list[Node] | None, list[Node]]:
    places = [i for i, item in enumerate(items) if isinstance(item, Ellipsis)]
    if not places:
        return None, []
    return items[: places[0]], items[places[-1] + 1 :]


def _fill(items: list[Node], comparer: Comparer) -> list[Node] | None:
    """Returns the list with its dots written out, if it is a closed arithmetic progression."""
    if not any(isinstance(i, Ellipsis) for i in items):
        return items
    head, tail = _split_at_dots(items)
    if head is None or len(head) < 2 or not tail:
        return None
    start = [comparer.scalar(n).exact for n in head]
    ends = [comparer.scalar(n).exact for n in tail]
    if any(v is None for v in (*start, *ends)):
        return None
    values = [Fraction(v) for v in start if v is not None]
    step, last = values[1] - values[0], Fraction(ends[0] or 0)
    if step == 0 or any(b - a != step for a, b in zip(values, values[1:], strict=False)):
        return None
    count = (last - values[0]) / step
    if count.denominator != 1 or not 0 < count <= MAX_ITEMS:
        return None
    filled: list[Node] = [Num(v if v.denominator != 1 else v.numerator) for v in (values[0] + k * step for k in range(int(count) + 1))]
    return [*filled, *tail[1:]]


def _subject(node: Node) -> tuple[str, Node]:
    """Returns the unknown of a statement about a set and the set: x ∈ A, E = A, x > 2."""
    if isinstance(node, Rel) and len(node.sides) == 2 and isinstance(node.sides[0], Sym):
        if node.ops[0] in ("in", "=") and isinstance(node.sides[1], Seq | SetOp | Const | Builder):
            return node.sides[0].name, node.sides[1]
    names = free_symbols(node)
    return (next(iter(names)) if len(names) == 1 else ""), node


def _difference(node: Rel) -> Node:
    return Add((node.sides[0], Neg(node.sides[1])))


def _constant_name(node: Node) -> str:
    """Returns the name of a constant of integration: a last term C beside an expression in another symbol."""
    if isinstance(node, Add):
        for term in node.terms:
            if isinstance(term, Sym) and term.name in _CONSTANTS_OF_INTEGRATION and len(free_symbols(node)) > 1:
                return term.name
    return ""


def _determinants(node: Node) -> bool:
    return any(isinstance(n, Call) and n.name == "det" for n in walk(node))


def _is_angle(node: Node) -> bool:
    return isinstance(node, Quantity) and parse_unit(node.unit).dimension == (("A", 1),)


def _in_base_units(node: Node, unit: Unit) -> Node:
    factors: list[Node] = [node, Num(unit.factor if unit.factor.denominator != 1 else unit.factor.numerator)]
    if unit.pi_power:
        factors.append(Pow(Const("pi"), Num(unit.pi_power)))
    scaled: Node = Mul(tuple(factors))
    return Add((scaled, Num(unit.offset))) if unit.offset else scaled


def _same_noun(left: str, right: str) -> bool:
    a, b = set(left.split()), set(right.split())
    return a <= b or b <= a


def _read_symbol_as_unit(node: Node) -> Node:
    """Returns `15 m` with its bare letters read as a unit: the reference has a unit, so the answer may."""
    if isinstance(node, Div):
        top, bottom = _read_symbol_as_unit(node.top), node.bottom
        if isinstance(top, Quantity) and isinstance(bottom, Sym):
            return Quantity(top.body, f"{top.unit}/{bottom.name}")
        return node
    if not isinstance(node, Mul):
        return node
    words, rest = list[str](), [f for n in node.factors for f in (n.factors if isinstance(n, Mul) else (n,))]
    while len(rest) > 1 and (word := _unit_symbol(rest[-1])):
        words.insert(0, word)
        rest.pop()
    if not words or any(free_symbols(f) for f in rest):
        return node
    return Quantity(rest[0] if len(rest) == 1 else Mul(tuple(rest)), " ".join(words))


def _unit_symbol(node: Node) -> str:
    match node:
        case Sym(name) if len(name) == 1:
            return name
        case Pow(Sym(name), Num(power)) if len(name) == 1 and isinstance(power, int):
            return f"{name}^{power}"
        case Pow(Sym(name), Neg(Num(power))) if len(name) == 1 and isinstance(power, int):
            return f"{name}^-{power}"
        case _:
            return ""


def _unit_vector_coordinates(node: Node) -> list[Node] | None:
    """Returns the coordinates of 3i − 4j written with unit vectors."""
    units = [Const("unit:i"), Const("unit:j"), Const("unit:k")]
    used = [u for u in units if _mentions(node, u)]
    if not used:
        return None
    count = 3 if units[2] in used else 2
    return [
        replace(node, {u: Num(1 if i == index else 0) for i, u in enumerate(units)}) for index in range(count)
    ]


def _mentions(node: Node, target: Node) -> bool:
    return node == target or any(_mentions(inner, target) for inner in children(node))


def _value_of(answer: Node, reference: Node, comparer: Comparer) -> "Node | Decision":
    """Returns the value that an answer commits to: the last side of a true chain of equalities."""
    if isinstance(answer, Quantifier):
        answer = answer.body
    if isinstance(answer, Apply) and len(answer.args) == 2 and answer.name in ("C", "P", "A"):
        return Call("binom" if answer.name == "C" else "permutations", answer.args)
    if isinstance(answer, Pow) and isinstance(answer.base, Sym) and answer.base.name[:2] == "C_" and answer.base.name[2:].isdigit():
        return Call("binom", (Num(int(answer.base.name[2:8])), answer.exponent))
    if not isinstance(answer, Rel):
        return answer
    if any(op not in ("=", "~", "=>") for op in answer.ops):
        return different("structure", "a relation where a value was asked for")
    sides = list(answer.sides)
    if sides[0] == sides[-1]:
        return different("chain", "an identity")
    if len(sides) == 2 and _is_name(sides[1]) and not free_symbols(sides[0]):
        sides.reverse()
    exact = sides
    if "~" in answer.ops:
        cut = answer.ops.index("~") + 1
        exact = sides[:cut] if not isinstance(sides[0], Sym) or cut > 1 else sides
        if _wants_decimal(reference) and not any(is_literal(s) for s in exact[-1:]):
            exact = sides
    if len(exact) > 1:
        broken = _broken_chain(exact, comparer)
        if broken is not None:
            return broken
    value = exact[-1]
    if len(exact) == len(sides) and "~" in answer.ops and answer.ops[-1] == "~":
        value = Call("approx", (value,))
    return value


def _wants_decimal(reference: Node) -> bool:
    return isinstance(reference, Num) and reference.places is not None


def _broken_chain(sides: list[Node], comparer: Comparer) -> Decision | None:
    """Returns why a chain of equalities is no answer: it is false, or its left side is an unsolved equation."""
    closed = [s for s in sides if not free_symbols(s) and isinstance(s, (*_VALUES, Const, Quantity))]
    for a, b in zip(closed, closed[1:], strict=False):
        if comparer.compare(a, b).same is False and comparer.compare(b, a).same is False:
            return different("chain", "a chain of equalities that is false")
    first = sides[0]
    names = free_symbols(first)
    if len(names) == 1 and not _is_name(first) and not isinstance(first, Apply) and _is_unsolved(first, next(iter(names))):
        return different("chain", "an equation that is not solved")
    if len(sides) == 2 and names and free_symbols(sides[1]) >= names and isinstance(first, Sym):
        return different("chain", "an equation that is not solved")
    return None


def _is_unsolved(node: Node, name: str) -> bool:
    """Returns True if the left side is a·x + b: the equation asks for x, and its right side is not x."""
    try:
        values = [Evaluator({name: k}).value(node) for k in (0, 1, 2, 3)]
    except (UndefinedValueError, UnsupportedError, TooLargeError):
        return False
    steps = [b - a for a, b in zip(values, values[1:], strict=False)]
    linear = abs(steps[0] - steps[1]) < 1e-20 and abs(steps[1] - steps[2]) < 1e-20
    return bool(linear and not (abs(steps[0] - 1) < 1e-20 and abs(values[0]) < 1e-20))


def is_unevaluated(reference: Node, answer: Node) -> bool:
    """Returns True if a plain number was asked for and the answer is the task itself: 37 × 43, a sum, an integral."""
    if isinstance(reference, Quantity):
        reference = reference.body
    if not is_literal(reference):
        return False
    value = answer.sides[-1] if isinstance(answer, Rel) else answer
    if isinstance(value, Quantity):
        value = value.body
    return contains(value, (BigOp,)) or (isinstance(value, Add | Mul) and _plain_arithmetic(value))


def _plain_arithmetic(node: Node) -> bool:
    match node:
        case Num(value, places):
            return isinstance(value, int) or places is not None
        case Neg(body):
            return _plain_arithmetic(body)
        case Add(parts) | Mul(parts):
            return all(_plain_arithmetic(p) for p in parts)
        case _:
            return False
