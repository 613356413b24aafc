"""The grammar of answers: recursive descent over the tokens.

Linear in their number, bounded in depth.

listing   relation, relation; relation and relation or relation relation  set = set < set … (also ∈,
≡ … (mod m), ≈) set       ratio ∪ ratio ∩ ratio ∖ ratio ratio     sum : sum sum       term + term −
term ± term term      factor · factor / factor   (also by juxtaposition; a unit phrase ends a term)
factor    atom ^ exponent ! % °
"""

from fractions import Fraction

from rewardkit.verifiers.math._atoms import AtomParser
from rewardkit.verifiers.math._conditions import (
    CONDITIONS,
    ConditionParser,
    attach_conditions,
)
from rewardkit.verifiers.math._lexer import Reading, tokenize
from rewardkit.verifiers.math._limits import MAX_FACTORS, MAX_ITEMS, NotMathError, TooLargeError
from rewardkit.verifiers.math._nodes import (
    Add,
    Call,
    Congruence,
    Div,
    Listing,
    Matrix,
    Mul,
    Neg,
    Node,
    Num,
    PlusMinus,
    Quantifier,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
)
from rewardkit.verifiers.math._rewrite import plus_scaled
from rewardkit.verifiers.math._symbols import FUNCTIONS, RELATIONS, SCALES, SYMBOL_UNITS
from rewardkit.verifiers.math._units import is_unit_word, parse_unit

__all__ = ["parse"]

_SET_OPERATORS = {"cup": "cup", "cap": "cap", "setminus": "minus", "bigcup": "cup"}
_UNITS_TOO = ("min", "sec", "arg")
_COPULAS = frozenset(["is", "are"])
_NEVER_UNITS = ("and", "or", "to", "mod", "otherwise")
_JOINING = {
    **dict.fromkeys(("oder", "ou", "或", "или", "o", "lub"), "or"),
    **dict.fromkeys(("und", "et", "y", "和", "и", "e"), "and"),
}


def parse(text: str, reading: Reading) -> Node:
    """Returns the tree of a cleaned text.

    Raises:
        NotMathError: the text is not an expression of the grammar.
        TooLargeError: it is longer or deeper than the limits allow.
    """
    parser = _Parser(tokenize(text, reading))
    return parser.whole()


class _Parser(AtomParser, ConditionParser):
    def whole(self) -> Node:
        if self.peek.kind == "prose" and self.peek.value.lower() in ("all", "any", "every"):
            self.quantifying_words()  # all integers n with n ≡ 1 (mod 4)
        node = self.listing()
        while self.at_op(".") or self.at_cmd("newline") or self.at_op(","):
            self.take()
        if self.peek.kind != "end":
            raise NotMathError(f"unexpected {self.peek.value!r}")
        return node

    def separator(self) -> str | None:
        """Takes a separator between items, if one stands here.

        A comma before `and` belongs to it.
        """
        token = self.peek
        word = token.value.lower() if token.kind in ("word", "prose", "cmd") else ""
        if token.kind == "prose":
            word = _JOINING.get(word, word)
        if word in ("and", "or"):
            self.take()
            return word
        if self.at_op(",") or self.at_op(";") or self.at_cmd("newline"):
            value = "," if token.kind == "cmd" else token.value
            self.take()
            if self.peek.kind in ("word", "prose", "cmd") and self.peek.value.lower() in (
                "and",
                "or",
            ):
                return self.take().value.lower()
            return value
        if self.at_op("&") and not self.cells:
            self.take()
            return "and"
        return None

    def listing(self) -> Node:
        items, joins, conditions = [self.item()], list[str](), list[Node]()
        while True:
            mark = self.at
            if len(items) > MAX_ITEMS:
                raise TooLargeError(f"more than {MAX_ITEMS} items")
            join = self.separator()
            if join is None:
                break
            if self.closes_here():
                self.at = mark if join in ("and", "or") else self.at
                break
            if join in (",", ";") and self.at_condition():
                conditions += self.conditions()
                continue
            following = self.item()
            if (
                join == "and"
                and isinstance(items[-1], Quantity)
                and isinstance(following, Quantity)
            ):
                merged = _merged(items[-1], following)
                if merged is not None:
                    items[-1] = merged
                    continue
            joins.append(join)
            items.append(following)
        shared = _shared_modulus(items) if joins else None
        if shared is not None:
            items, joins = [shared], []
        return attach_conditions(items, joins, conditions)

    def closes_here(self) -> bool:
        token = self.peek
        return token.kind in ("end", "end_env") or (
            token.kind == "op" and token.value in (")", "]", "}", "}set", ".")
        )

    def item(self) -> Node:
        node = self.relation()
        conditions = self.conditions()
        return Quantifier(node, tuple(conditions)) if conditions else node

    def relation(self) -> Node:
        sides, ops = [self.set_expression()], list[str]()
        while True:
            token = self.peek
            op = RELATIONS.get(token.value) if token.kind in ("op", "cmd") else None
            if op is None and token.kind == "word" and token.value == "in" and not self.integrals:
                op = "in"
            if op is None:
                break
            self.take()
            ops.append(op)
            sides.append(self.set_expression())
        if not ops:
            modulus = self.modulus()
            return sides[0] if modulus is None else Congruence(Sym("?"), sides[0], modulus)
        modulus = self.modulus() if ops[-1] in ("equiv", "=") else None
        if modulus is not None and len(sides) == 2:
            return Congruence(sides[0], sides[1], modulus)
        if "equiv" in ops:
            ops = ["=" if op == "equiv" else op for op in ops]
        return Rel(tuple(sides), tuple(ops))

    def modulus(self) -> Node | None:
        r"""Takes `\pmod 7`, `\pmod{7}`, `(mod 7)`, `\bmod 7` after a congruence."""
        if self.at_cmd("pmod") or self.at_cmd("bmod") or self.at_cmd("mod") or self.at_word("mod"):
            self.take()
            return self.factor()
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else self.peek
        if self.at_op("(") and after.value in ("mod", "bmod"):
            self.take()
            self.take()
            node = self.sum()
            self.expect(")")
            return node
        return None

    def set_expression(self) -> Node:
        node = self.ratio()
        while True:
            op = _SET_OPERATORS.get(self.peek.value) if self.peek.kind == "cmd" else None
            if (
                op is None
                and self.peek.value in ("U", "u", "∪", "union")
                and isinstance(node, Seq | SetOp)
            ):
                op = "cup"
            if op is None:
                return node
            self.take()
            right = self.ratio()
            same = isinstance(node, SetOp) and node.op == op and op != "minus"
            left = node.parts if same and isinstance(node, SetOp) else (node,)
            node = SetOp(op, (*left, right))

    def ratio(self) -> Node:
        node = self.sum()
        parts = [node]
        while (self.at_op(":") and not self.builders) or self.at_word("to") or self.at_is_to():
            if self.take().value == "is":
                self.take()
            parts.append(self.sum())
        return Ratio(tuple(parts)) if len(parts) > 1 else node

    def at_is_to(self) -> bool:
        return self.at_word("is") and self.tokens[self.at + 1].value == "to"

    def sum(self) -> Node:
        terms, result = list[Node](), None
        sign = self.sign()
        while True:
            if sign in ("pm", "mp"):
                first = result if not terms else _add([result, *terms] if result else terms)
                result = PlusMinus(first, self.term(), flipped=sign == "mp")
                terms = []
            else:
                term = self.term()
                terms.append(Neg(term) if sign == "-" else term)
            sign = self.sign()
            if not sign:
                break
        if result is None:
            return _add(terms)
        return result if not terms else _add([result, *terms])

    def sign(self) -> str:
        """Takes a run of signs; returns '+', '-', 'pm', 'mp', or '' where none stands."""
        sign = ""
        while True:
            if self.at_op("+"):
                self.take()
                sign = sign or "+"
            elif self.at_op("-"):
                self.take()
                sign = "+" if sign == "-" else "-"
            elif self.at_cmd("pm") or self.at_cmd("mp"):
                return self.take().value
            else:
                return sign

    def term(self) -> Node:
        node = self.factor()
        last_is_integer = (
            isinstance(node, Num) and node.places is None and isinstance(node.value, int)
        )
        while True:
            if self.at_op("*"):
                self.take()
                node = _multiply(node, self.signed_factor())
            elif self.at_op("/"):
                self.take()
                node = Div(node, self.signed_factor())
            elif self.at_cmd("bmod") or self.at_cmd("mod") or self.at_word("mod"):
                if self.inside_congruence():
                    return node
                self.take()
                node = Call("mod", (node, self.signed_factor()))
            elif isinstance(node, Quantity) and self.peek.kind == "num":
                node = _joined(node, self.term())
            elif self.unit_starts(node):
                node = self.quantity(node)
            elif (
                last_is_integer
                and isinstance(node, Num)
                and (mixed := self.mixed_number(node)) is not None
            ):
                node = mixed
            elif self.starts_factor():
                right = self.factor()
                node = _multiply(node, right)
            else:
                return node
            last_is_integer = False

    def inside_congruence(self) -> bool:
        return any(t.value == "equiv" for t in self.tokens[max(0, self.at - 40) : self.at])

    def signed_factor(self) -> Node:
        sign = self.sign()
        if sign in ("pm", "mp"):
            return PlusMinus(None, self.factor(), flipped=sign == "mp")
        node = self.factor()
        return Neg(node) if sign == "-" else node

    def mixed_number(self, whole: Num) -> Node | None:
        r"""Takes the fraction of a mixed number (3½ as `3\frac12` or `3 1/2`).

        If one stands here.
        """
        mark = self.at
        if self.at_cmd("frac"):
            part = self.atom()
            value = _proper(part)
            if value is not None:
                return self.postfix(Num(whole.value + value))
            return _multiply(whole, self.postfix(part))
        if self.peek.kind == "num" and self.peek.spaced:
            top = self.take().node
            if self.at_op("/") and self.tokens[self.at + 1].kind == "num":
                self.take()
                bottom = self.take().node
                value = _proper(Div(top, bottom)) if top and bottom else None
                if value is not None:
                    return self.postfix(Num(whole.value + value))
            raise NotMathError("two numbers side by side")
        self.at = mark
        return None

    def unit_starts(self, node: Node) -> bool:
        """Returns True if a unit phrase begins here.

        Prose after a value, or a bare word that names a unit.
        """
        token = self.peek
        if token.kind == "op" and token.value in SYMBOL_UNITS:
            return not isinstance(node, Quantity)
        if token.kind == "prose":
            word = token.value.lower()
            if word in FUNCTIONS and word not in _UNITS_TOO:
                return False
            if self.at_is_to():
                return False
            if word in _COPULAS and self.names_parameter(self.tokens[self.at + 1].value.lower()):
                return False  # k is an integer
            return word not in CONDITIONS and _JOINING.get(word, word) not in _NEVER_UNITS
        if token.kind == "word":
            word = token.value
            if word == "in" and self.tokens[self.at + 1].kind not in ("end", "num"):
                return False
            numeric = (
                isinstance(node, Num) or self.tokens[self.at - 1].kind == "num" or token.spaced
            )
            return numeric and (word in SCALES or (is_unit_word(word) and not self.integrals))
        return False

    def quantity(self, node: Node) -> Node:
        """Takes a unit phrase: `cm^2`, `km per hour`, `square units`, `million dollars`, `%`."""
        if self.peek.kind == "op":
            return Quantity(node, SYMBOL_UNITS[self.take().value])
        words = list[str]()
        if self.peek.value == "of" and self.tokens[self.at + 1].kind in ("num", "op", "cmd"):
            self.take()
            return _multiply(node, self.signed_factor())
        while len(words) < 12:
            token = self.peek
            word = token.value.lower()
            if token.kind in ("prose", "word"):
                if _JOINING.get(word, word) in _NEVER_UNITS or word in CONDITIONS:
                    break
                if token.kind == "word" and not (
                    is_unit_word(token.value) or word in SCALES or words
                ):
                    break
                self.take()
                if word in SCALES and not words:
                    node = _scaled(node, SCALES[word])
                elif word in ("percent", "pct") and not words:
                    return self.percent_of(node)
                else:
                    words.append(token.value)
            elif (
                token.kind == "op"
                and token.value == "/"
                and words
                and self.tokens[self.at + 1].kind in ("prose", "word")
            ):
                self.take()
                words.append("/")
            elif (
                token.kind == "op"
                and token.value == "*"
                and words
                and self.tokens[self.at + 1].kind == "prose"
            ):
                self.take()
            elif token.kind == "op" and token.value == "^" and words:
                self.take()
                words[-1] += "^" + self.unit_power()
            elif (
                token.kind == "op"
                and token.value == "."
                and words
                and self.tokens[self.at + 1].kind in ("prose", "word")
            ):
                self.take()  # a.m., sq. ft.
            else:
                break
        if words and isinstance(node, Quantity):
            return node  # $18 per day, $42 each: the currency is the unit.
        return Quantity(node, " ".join(words)) if words else node

    def unit_power(self) -> str:
        grouped = self.at_op("{")
        if grouped:
            self.take()
        sign = "-" if self.at_op("-") else ""
        if sign:
            self.take()
        token = self.take()
        if token.kind != "num" or not isinstance(token.node, Num):
            raise NotMathError("a unit's power is a whole number")
        if grouped:
            self.expect("}")
        return f"{sign}{token.node.value}"


def _proper(part: Node) -> Fraction | None:
    """Returns a fraction of whole literals below one, as in a mixed number."""
    if isinstance(part, Div) and isinstance(part.top, Num) and isinstance(part.bottom, Num):
        top, bottom = part.top, part.bottom
        if (
            top.places is None
            and bottom.places is None
            and isinstance(top.value, int)
            and isinstance(bottom.value, int)
        ) and 0 < top.value < bottom.value:
            return Fraction(top.value, bottom.value)
    return None


def _joined(first: Quantity, second: Node) -> Node:
    """Returns 1 hour 45 minutes, 5 ft 3 in as one quantity in the first unit."""
    if isinstance(second, Quantity):
        large, small = parse_unit(first.unit), parse_unit(second.unit)
        if (
            large.dimension
            and large.dimension == small.dimension
            and large.pi_power == small.pi_power
        ):
            return Quantity(
                plus_scaled(first.body, second.body, small.factor / large.factor), first.unit
            )
    raise NotMathError("two values side by side")


def _merged(first: Quantity, second: Quantity) -> Node | None:
    """Returns `1 hour and 45 minutes` as one quantity; `3 cm and 5 cm` are two."""
    if first.unit == second.unit:
        return None
    try:
        return _joined(first, second)
    except NotMathError:
        return None


def _scaled(node: Node, scale: int) -> Node:
    return Num(node.value * scale) if isinstance(node, Num) else _multiply(node, Num(scale))


def _add(terms: list[Node] | list[Node | None]) -> Node:
    kept = [t for t in terms if t is not None]
    return kept[0] if len(kept) == 1 else Add(tuple(kept))


def _multiply(left: Node, right: Node) -> Node:
    factors = left.factors if isinstance(left, Mul) else (left,)
    if isinstance(right, Matrix) and not any(isinstance(f, Matrix) for f in factors):
        return Matrix(tuple(tuple(_multiply(left, cell) for cell in row) for row in right.rows))
    if isinstance(left, Mul):
        if len(left.factors) >= MAX_FACTORS:
            raise TooLargeError(f"more than {MAX_FACTORS:,} factors")
        return Mul((*left.factors, right))
    return Mul((left, right))


def _shared_modulus(items: list[Node]) -> Node | None:
    """Returns `x ≡ 1, 4 (mod 6)` as one congruence with several residues."""
    first, last = items[0], items[-1]
    if not (isinstance(first, Rel) and first.ops == ("=",) and isinstance(last, Congruence)):
        return None
    if last.left != Sym("?") or any(isinstance(i, Rel | Congruence) for i in items[1:-1]):
        return None
    residues = (first.sides[1], *items[1:-1], last.right)
    return Congruence(first.sides[0], Listing(residues, (",",) * (len(residues) - 1)), last.modulus)
