"""Brackets of every kind: groups, tuples, intervals, sets, bars, matrices, cases."""

from rewardkit.verifiers.math._base_parser import BaseParser
from rewardkit.verifiers.math._limits import MAX_ITEMS, NotMathError, TooLargeError
from rewardkit.verifiers.math._nodes import (
    Builder,
    Call,
    Cases,
    Const,
    Div,
    Listing,
    Matrix,
    Mul,
    Node,
    Num,
    Quantity,
    Rel,
    Seq,
)
from rewardkit.verifiers.math._symbols import SCALES, SYMBOL_UNITS

__all__ = ["BracketParser"]

_MATRICES = frozenset(
    ["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "psmallmatrix", "array", "vmatrix"]
)
_ALIGNED = frozenset(["aligned", "align", "gathered", "split", "equation", "gather", "alignat"])


_IF_WORDS = ("if", "when", "for", "where")


class BracketParser(BaseParser):
    """Reads what stands between brackets."""

    def group(self) -> Node:
        r"""Takes `{…}`: a group, an unescaped set, or the two sides of \over and \choose."""
        self.expect("{")
        if self.at_op("}"):
            self.take()
            return self.prescript()
        if self.at_differential():
            self.differential = self.take().value[1:]
            node: Node = Num(1)
        else:
            node = self.listing()
        if self.at_differential():
            self.differential = self.take().value[1:]
        for command, name in (("over", ""), ("choose", "binom")):
            if self.at_cmd(command):
                self.take()
                below = self.listing()
                node = Call(name, (node, below)) if name else Div(node, below)
        self.expect("}")
        if isinstance(node, Listing) and all(j == "," for j in node.joins):
            return Seq(node.items, "{", "}")
        return node

    def prescript(self) -> Node:
        """Takes the rest of `{}_{10}C_{4}` or `^{10}C_4`, or the factor after an empty group."""
        if self.at_op("_") or self.at_op("^"):
            self.take()
            upper = self.exponent()
            token = self.take()
            if token.value not in ("C", "P"):
                raise NotMathError("an index before a letter")
            if self.at_op("_"):
                self.take()
            return Call("binom" if token.value == "C" else "permutations", (upper, self.exponent()))
        return self.factor()

    def bracket(self, value: str) -> Node:
        if value in ("(", "["):
            return self.parenthesis(value)
        if value == "]":
            return self.parenthesis("(")
        if value == "{":
            self.at -= 1
            return self.group()
        if value == "^":
            self.at -= 1
            return self.prescript()
        if value == "{set":
            return self.set_braces()
        if value == "|":
            return self.bars_of("|", "abs")
        if value == "norm":
            return self.bars_of("norm", "norm")
        if value in SYMBOL_UNITS:
            amount = self.factor()
            if self.peek.kind in ("word", "prose") and self.peek.value in SCALES:
                scale = SCALES[self.take().value]
                amount = (
                    Num(amount.value * scale)
                    if isinstance(amount, Num)
                    else Mul((amount, Num(scale)))
                )
            return Quantity(amount, SYMBOL_UNITS[value])
        raise NotMathError(f"unexpected {value!r}")

    def bars_of(self, mark: str, name: str) -> Node:
        self.bars += 1
        body = self.sum()
        self.bars -= 1
        self.expect(mark)
        return Call("det" if isinstance(body, Matrix) else name, (body,))

    def parenthesis(self, opening: str) -> Node:
        """Takes what follows an opening bracket: a group, a tuple, an interval (also ]1, 5[)."""
        bars, self.bars, builders, self.builders = self.bars, 0, self.builders, 0
        cells, self.cells = self.cells, 0
        if self.at_op(")") or self.at_op("]"):
            closing = self.take().value
            node: Node = Seq((), opening, closing)
        else:
            node = self.bracket_body(opening)
        self.bars, self.builders, self.cells = bars, builders, cells
        return node

    def bracket_body(self, opening: str) -> Node:
        body = self.listing()
        token = self.take()
        closing = {"[": ")", ")": ")", "]": "]"}.get(token.value, "") if token.kind == "op" else ""
        if not closing:
            raise NotMathError(f"an unclosed {opening!r}")
        if isinstance(body, Listing) and all(j in (",", ";") for j in body.joins):
            if len(body.items) > MAX_ITEMS:
                raise TooLargeError(f"more than {MAX_ITEMS} items")
            return Seq(body.items, opening, closing)
        if isinstance(body, Matrix) or (opening == "(" and closing == ")"):
            return body
        return Seq((body,), opening, closing)

    def set_braces(self) -> Node:
        if self.at_op("}set") or self.at_op("}"):
            self.take()
            return Const("empty")
        bars, self.bars, self.builders = self.bars, 0, self.builders + 1
        body = self.listing()
        conditions: Node | None = None
        if self.at_op("|") or self.at_op(":"):
            self.take()
            self.builders -= 1
            conditions = self.listing()
            self.builders += 1
        self.bars, self.builders = bars, self.builders - 1
        if not (self.at_op("}set") or self.at_op("}")):
            raise NotMathError("an unclosed set")
        self.take()
        if conditions is not None:
            items = conditions.items if isinstance(conditions, Listing) else (conditions,)
            return Builder(body, items)
        items = body.items if isinstance(body, Listing) else (body,)
        if len(items) > MAX_ITEMS:
            raise TooLargeError(f"more than {MAX_ITEMS} items")
        return Seq(items, "{", "}")

    def enclosed(self, name: str, closing: str) -> Node:
        body = self.sum()
        if not self.at_cmd(closing):
            raise NotMathError(f"an unclosed {name}")
        self.take()
        return Call(name, (body,))

    def angle_bracket(self) -> Node:
        node = self.listing()
        if not self.at_cmd("rangle"):
            raise NotMathError("an unclosed angle bracket")
        self.take()
        items = node.items if isinstance(node, Listing) else (node,)
        return Seq(items, "<", ">")

    def environment(self, name: str) -> Node:
        if name == "array" and self.at_op("{"):
            while not self.at_op("}"):
                if self.take().kind == "end":
                    raise NotMathError("an unclosed array")
            self.take()
        if name in _MATRICES:
            self.cells += 1
            rows = self.matrix_rows()
            self.cells -= 1
            matrix = Matrix(tuple(rows))
            return Call("det", (matrix,)) if name == "vmatrix" else matrix
        if name in ("cases", "dcases", "rcases"):
            return self.cases()
        if name in _ALIGNED:
            self.drop_alignment()
            node = self.listing()
            self.end_environment()
            return node
        raise NotMathError(f"an environment outside the grammar: {name}")

    def drop_alignment(self) -> None:
        """Removes the alignment marks of `x &= 3` up to the end of the environment."""
        stop = next(
            (i for i in range(self.at, len(self.tokens)) if self.tokens[i].kind == "end_env"),
            self.at,
        )
        marks = [t for t in self.tokens[self.at : stop] if (t.kind, t.value) != ("op", "&")]
        self.tokens[self.at : stop] = marks

    def end_environment(self) -> None:
        if self.take().kind != "end_env":
            raise NotMathError("an unclosed environment")

    def matrix_rows(self) -> list[tuple[Node, ...]]:
        rows, row, count = list[tuple[Node, ...]](), list[Node](), 0
        while self.peek.kind != "end_env":
            row.append(self.item())
            count += 1
            if count > MAX_ITEMS:
                raise TooLargeError(f"more than {MAX_ITEMS} entries")
            if self.at_op("&"):
                self.take()
                continue
            rows.append(tuple(row))
            row = []
            if self.at_cmd("newline"):
                self.take()
        self.end_environment()
        if not rows or len({len(r) for r in rows}) != 1:
            raise NotMathError("a matrix with rows of different length")
        return rows

    def cases(self) -> Node:
        self.cells += 1
        rows = list[tuple[Node, Node | None]]()
        while self.peek.kind != "end_env":
            value = self.relation()
            while self.at_op(",") or self.at_op("&") or self.at_any_word(_IF_WORDS):
                self.take()
            condition: Node | None = None
            if self.peek.kind in ("prose", "word") and self.peek.value.lower() in (
                "otherwise",
                "else",
            ):
                self.take()
            elif self.peek.kind != "end_env" and not self.at_cmd("newline"):
                condition = self.listing_in_cell()
            rows.append((value, condition))
            while self.at_op(",") or self.at_op(".") or self.at_cmd("newline"):
                self.take()
            if len(rows) > 64:
                raise TooLargeError("more than 64 cases")
        self.cells -= 1
        self.end_environment()
        if not rows:
            raise NotMathError("a case list without cases")
        if all(isinstance(value, Rel) and condition is None for value, condition in rows):
            return Listing(tuple(value for value, _ in rows), (",",) * (len(rows) - 1))  # a system
        return Cases(tuple(rows))

    def listing_in_cell(self) -> Node:
        items, joins = [self.relation()], list[str]()
        while self.peek.value in ("and", "or") and self.peek.kind in ("prose", "word", "cmd"):
            joins.append(self.take().value)
            items.append(self.relation())
        return items[0] if not joins else Listing(tuple(items), tuple(joins))
