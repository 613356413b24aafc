"""Atoms and factors of the grammar: numbers, symbols, words, powers."""

from fractions import Fraction

from rewardkit.verifiers.math._brackets import BracketParser
from rewardkit.verifiers.math._functions import FunctionParser
from rewardkit.verifiers.math._lexer import Token
from rewardkit.verifiers.math._limits import MAX_DEPTH, NotMathError, TooLargeError
from rewardkit.verifiers.math._nodes import (
    Apply,
    BigO,
    Call,
    Const,
    Div,
    Ellipsis,
    Matrix,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Seq,
    SetOp,
    Sym,
)
from rewardkit.verifiers.math._rewrite import plus_scaled
from rewardkit.verifiers.math._symbols import CONSTANT_NAMES, FUNCTIONS, GREEK

__all__ = ["AtomParser"]

_BIG_OPERATORS = {"sum": "sum", "prod": "prod", "int": "int", "lim": "lim"}
_CURRENCIES = frozenset("usd eur gbp jpy cny inr cad aud chf rs".split())
_HALF_LINES: dict[tuple[str, ...], tuple[str, bool]] = {
    ("+",): ("(", False),
    ("-",): ("(", True),
    (">", "0"): ("(", False),
    ("<", "0"): ("(", True),
    ("geq", "0"): ("[", False),
    ("leq", "0"): ("[", True),
}
_TRANSPOSES = (
    ("T",),
    ("top",),
    ("{", "T", "}"),
    ("{", "top", "}"),
    ("{", "{", "T", "}", "}"),
)
_INVERSES = ("f^-1", "g^-1", "h^-1")
_NAMED_SETS = {"R": "R", "Q": "Q", "Z": "Z", "N": "N", "C": "C"}
_DECORATIONS = frozenset(
    "hat vec bar tilde widehat widetilde dot ddot overline overrightarrow".split()
)
_SPLIT_NAMES = sorted(
    [
        n
        for n in (*FUNCTIONS, *GREEK, "pi", "infty")
        if len(n) > 1 and n not in ("Re", "Im", "arg", "min", "max", "det")
    ],
    key=len,
    reverse=True,
)
_STARTING_COMMANDS = frozenset(
    "imath jmath frac binom lfloor lceil langle ldots angle triangle".split()
).union(_BIG_OPERATORS, _DECORATIONS, FUNCTIONS, GREEK, CONSTANT_NAMES)


class AtomParser(BracketParser, FunctionParser):
    """The lower half of the parser; the upper half supplies sums and lists."""

    def starts_factor(self) -> bool:
        kind, value = self.peek.kind, self.peek.value
        if kind == "num":
            return self.tokens[self.at - 1].kind != "num"
        if kind == "word":
            if value in (
                "and",
                "or",
                "to",
                "mod",
                "if",
                "for",
                "where",
                "when",
                "with",
                "such",
                "in",
                "is",
                "are",
            ) or (
                value in ("U", "u", "union")
                and self.tokens[self.at - 1].value in (")", "]", "}set")
            ):
                return False
            return not (self.integrals and len(value) == 2 and value[0] == "d")
        if kind == "prose":  # \operatorname{cis}
            return value in FUNCTIONS and len(value) > 2 and value not in ("min", "sec", "arg")
        if kind == "begin":
            return True
        if kind == "op":
            after = self.tokens[self.at + 1]
            if value == "|":
                return self.bars == 0 and self.builders == 0
            if value == "(":
                return after.value not in ("mod", "bmod") and not self.at_membership()
            if value == "[":  # It closes [1, 5[ where no operand follows.
                return (
                    after.kind in ("num", "word", "begin")
                    or after.value in FUNCTIONS
                    or after.value == "frac"
                )
            return value in ("{", "{set")
        if kind == "cmd":
            return value in _STARTING_COMMANDS or value.startswith(("mathbb:", "mathcal:", "unit:"))
        return False

    def factor(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLargeError(f"nested more than {MAX_DEPTH} deep")
        node = self.postfix(self.atom())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        """Takes what may follow an atom: !, %, ^."""
        while True:
            if self.at_op("!"):
                self.take()
                double = self.at_op("!") and not self.peek.spaced
                if double:
                    self.take()
                node = Call("factorial2" if double else "factorial", (node,))
            elif self.at_op("%"):
                self.take()
                node = self.percent_of(node)
            elif self.at_op("^") and not self.marks_side():
                self.take()
                node = self.power_of(node)
            elif self.at_cmd("circ"):
                node = self.degrees(node)
            else:
                return node

    def marks_side(self) -> bool:
        """Returns True at the sign of a one-sided limit, 0^+ or 0^{-}."""
        values = [t.value for t in self.tokens[self.at + 1 : self.at + 5]]
        return values[:2] in (["+", "}"], ["-", "}"]) or values in (
            ["{", "+", "}", "}"],
            ["{", "-", "}", "}"],
        )

    def percent_of(self, node: Node) -> Node:
        return Percent(node)

    def transposed(self, node: Seq | Matrix) -> Node | None:
        r"""Takes the T of (1, 2, 3)^T or A^{\top}, and returns the column or the rows turned."""
        ahead = tuple(t.value for t in self.tokens[self.at : self.at + 5])
        for form in _TRANSPOSES:
            if ahead[: len(form)] == form:
                self.at += len(form)
                if isinstance(node, Matrix):
                    return Matrix(tuple(zip(*node.rows, strict=True)))
                return Matrix(tuple((item,) for item in node.items))
        return None

    def power_of(self, node: Node) -> Node:
        if isinstance(node, Seq | Matrix) and (turned := self.transposed(node)) is not None:
            return turned
        if self.at_cmd("circ") or (self.at_op("{") and self.tokens[self.at + 1].value == "circ"):
            return self.degrees(node)
        if self.at_cmd("prime"):
            self.take()
            return node if not isinstance(node, Sym) else Sym(node.name + "'")
        if (
            self.at_op("{")
            and self.tokens[self.at + 1].kind in ("prose", "word")
            and self.tokens[self.at + 1].value in ("th", "st", "nd", "rd")
        ):
            self.at += 2
            self.expect("}")
            return node
        if node == Const("R") and self.at_op("*"):
            self.take()
            return SetOp("minus", (node, Seq((Num(0),), "{", "}")))
        if node == Const("R") and (half_line := self.half_line()):
            return half_line
        if (
            isinstance(node, Const)
            and node.name in _NAMED_SETS
            and self.peek.value in ("+", "-", "*")
        ):
            return Sym(f"{node.name}{self.take().value}")
        power = self.exponent()
        if isinstance(node, Sym) and node.name in ("C", "P", "A") and self.at_op("_"):
            self.take()
            return Call("binom" if node.name == "C" else "permutations", (self.bound(), power))
        return Pow(node, power)

    def half_line(self) -> Node | None:
        r"""Takes the sign of \mathbb{R}^+, \mathbb{R}^{-}, \mathbb{R}_{>0}, \mathbb{R}_{\ge 0}."""
        values = [t.value for t in self.tokens[self.at : self.at + 4]]
        for sign, (opening, down) in _HALF_LINES.items():
            for form in (sign, ("{", *sign, "}")):
                if tuple(values[: len(form)]) == form:
                    self.at += len(form)
                    infinity: Node = Const("inf")
                    ends = (Neg(infinity), Num(0)) if down else (Num(0), infinity)
                    closing = ")" if not down or opening == "(" else "]"
                    return Seq(ends, "(" if down else opening, closing)
        return None

    def degrees(self, node: Node) -> Node:
        r"""Takes the rest of 30^\circ 15' 20'', 25^\circ C."""
        if self.at_op("{"):
            self.take()
            self.take()
            self.expect("}")
        else:
            self.take()
        if self.peek.kind in ("prose", "word") and self.peek.value in ("C", "F"):
            return Quantity(node, "deg" + self.take().value)
        total: Node = Quantity(node, "deg")
        marks = (("'", "arcmin"), ("''", "arcsec"))
        parts = [total]
        for mark, unit in marks:
            if self.peek.kind != "num":
                break
            ahead = self.tokens[self.at + 1 : self.at + 1 + len(mark)]
            if [t.value for t in ahead] != list(mark):
                break
            number = self.take().node
            self.at += len(mark)
            if number is not None:
                parts.append(Quantity(number, unit))
        if len(parts) == 1:
            return total
        degrees: Node = node
        for part, scale in zip(parts[1:], (60, 3600), strict=False):
            if isinstance(part, Quantity):
                degrees = plus_scaled(degrees, part.body, Fraction(1, scale))
        return Quantity(degrees, "deg")

    def exponent(self) -> Node:
        if self.at_op("-") or self.at_op("+"):
            sign = self.take().value
            body = self.exponent()
            return Neg(body) if sign == "-" else body
        if self.at_op("{"):
            return self.group()
        token = self.peek
        if (
            token.kind == "word"
            and len(token.value) > 1
            and token.value not in FUNCTIONS
            and token.value not in GREEK
            and token.value != "pi"
        ):
            self.split_word(first_letter=True)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLargeError(f"nested more than {MAX_DEPTH} deep")
        node = self.atom()
        if self.at_op("!"):
            self.take()
            node = Call("factorial", (node,))
        if self.at_op("^"):
            self.take()
            node = self.power_of(node)
        self.depth -= 1
        return node

    def bound(self) -> Node:
        """Takes an index or a limit, of which a following `^` is not a part."""
        if self.at_op("-"):
            self.take()
            return Neg(self.bound())
        return self.argument()

    def argument(self) -> Node:
        r"""Takes one argument of \frac and its like: a group, or one character (\frac12)."""
        if self.at_op("{"):
            return self.group()
        token = self.peek
        if token.kind == "num" and token.value.isdigit() and len(token.value) > 1:
            head, rest = token.value[0], token.value[1:]
            self.tokens[self.at] = Token("num", rest, spaced=False, node=Num(int(rest[:4000])))
            return Num(int(head))
        if token.kind == "word" and len(token.value) > 1 and token.value not in FUNCTIONS:
            self.split_word(first_letter=True)
        if self.peek.kind == "word" and len(self.peek.value) == 1:
            letter = self.take().value  # A digit behind it is the next argument, not an index.
            return Const(letter) if letter in "ei" else Sym(letter)
        return self.atom()

    def atom(self) -> Node:
        token = self.take()
        kind, value = token.kind, token.value
        if kind == "num" and token.node is not None:
            return self.number(token.node)
        if kind == "word":
            return self.word(value)
        if kind == "prose":
            return self.prose(value)
        if kind == "cmd":
            return self.command(value)
        if kind == "begin":
            return self.environment(value)
        if kind == "op":
            return self.bracket(value)
        raise NotMathError("an operand is missing")

    def number(self, node: Node) -> Node:
        letter = self.peek
        if (
            letter.kind == "word"
            and letter.value in ("C", "P")
            and self.tokens[self.at + 1].kind == "num"
            and not letter.spaced
        ):
            self.take()
            below = self.take().node
            if below is not None:
                return Call("binom" if letter.value == "C" else "permutations", (node, below))
        return node

    def prose(self, value: str) -> Node:
        if len(value) == 1:
            return self.symbol(value)
        lower = value.lower()
        if lower == "rs" and self.at_op("."):
            self.take()
        if lower in _CURRENCIES and self.peek.kind == "num":
            return Quantity(self.factor(), "INR" if lower == "rs" else value.upper())
        if lower in ("constant", "const"):
            return Sym("const")
        if self.names_value():
            return Sym(f"word {lower}")
        if lower in ("approximately", "approx", "about", "roughly", "around", "nearly"):
            return Call("approx", (self.factor(),))
        if value in ("Theta", "Omega"):
            return self.symbol(value)
        if lower in FUNCTIONS:
            return self.function(FUNCTIONS[lower])
        if lower in CONSTANT_NAMES:
            return Const(CONSTANT_NAMES[lower])
        raise NotMathError(f"a word where a value belongs: {value!r}")

    def names_value(self) -> bool:
        """Takes the rest of a name in words before an equals sign, as in `Total area = 42`."""
        at = self.at
        while self.tokens[at].kind == "prose" and at - self.at < 4:
            at += 1
        if self.tokens[at].kind != "op" or self.tokens[at].value != "=":
            return False
        self.at = at
        return True

    def word(self, value: str) -> Node:
        if value.lower() in _CURRENCIES and self.peek.kind == "num":
            return Quantity(self.factor(), value.upper())
        if value in FUNCTIONS and (len(value) > 2 or value in ("ln", "lg", "tg", "Re", "Im")):
            return self.function(FUNCTIONS[value])
        if len(value) > 2 and value.lower() in FUNCTIONS and self.at_op("("):
            return self.function(FUNCTIONS[value.lower()])
        if value in ("approximately", "approx", "about", "roughly"):
            return Call("approx", (self.factor(),))
        if value.lower() in CONSTANT_NAMES:
            return Const(CONSTANT_NAMES[value.lower()])
        if value in GREEK:
            return self.symbol(value)
        if len(value) == 1:
            return self.symbol(value)
        if value in ("Theta", "Omega"):
            return self.symbol(value)
        self.at -= 1
        self.split_word()
        return self.atom()

    def split_word(self, *, first_letter: bool = False) -> None:
        """Replaces a run of letters by the names and letters that it is a product of."""
        token = self.peek
        value, at, pieces, run = token.value, 0, list[str](), 0
        while at < len(value):
            name = (
                next((n for n in _SPLIT_NAMES if value.startswith(n, at)), value[at])
                if not first_letter
                else value[at]
            )
            run = run + 1 if len(name) == 1 else 0
            if run > 3 and not first_letter:
                raise NotMathError(f"a word where a value belongs: {value!r}")
            pieces.append(name)
            at += len(name)
            if first_letter and at < len(value):
                pieces.append(value[at:])
                break
        kept = [
            Token("word", piece, spaced=i == 0 and token.spaced) for i, piece in enumerate(pieces)
        ]
        self.tokens[self.at : self.at + 1] = kept

    def symbol(self, name: str) -> Node:
        if name == "e" and not self.at_op("_"):
            return Const("e")
        if name == "i" and not self.at_op("_"):
            return Const("i")
        if name in ("O", "o", "Theta", "Omega") and self.at_op("("):
            return self.big_o(name)
        if name in ("Gamma", "zeta") and self.at_op("("):
            inside = self.atom()
            return Call(name.lower(), inside.items if isinstance(inside, Seq) else (inside,))
        while self.at_op("'"):
            self.take()
            name += "'"
        if self.at_op("_"):
            self.take()
            name += "_" + self.subscript()
            while self.at_op("'"):
                self.take()
                name += "'"
        elif len(name) == 1 and self.index_follows():
            name += "_" + self.take().value
        if name in ("f", "g", "h") and self.at_inverse():
            self.at += 5
            name += "^-1"
        if self.at_op("(") and not self.peek.spaced:
            return self.application(name)
        return Sym(name)

    def at_inverse(self) -> bool:
        """Returns True at the exponent of f^{-1}(x)."""
        ahead = [t.value for t in self.tokens[self.at : self.at + 6]]
        return ahead == ["^", "{", "-", "1", "}", "("]

    def defines(self) -> bool:
        """Returns True at the bracket of `p(x) = …`: a definition, not a product."""
        before = self.tokens[self.at - 2] if self.at > 1 else None
        ahead = [t.value for t in self.tokens[self.at + 2 : self.at + 6]]
        argument = self.tokens[self.at + 1]
        begins = before is None or before.value in (",", ";", "and", "or", "newline")
        simple = argument.kind in ("word", "num") and len(argument.value) == 1
        return (
            begins
            and simple
            and (ahead[:2] == [")", "="] or (ahead[0] == "," and ahead[2:] == [")", "="]))
        )

    def index_follows(self) -> bool:
        """Returns True if x1 is written for x_1: a few digits right behind a bare letter."""
        index = self.peek
        digits = index.kind == "num" and not index.spaced and index.value.isdigit()
        return digits and len(index.value) < 4 and self.tokens[self.at - 1].kind == "word"

    def subscript(self) -> str:
        """Takes an index and returns its text: `1`, `n-1`, `max`."""
        if not self.at_op("{"):
            token = self.take()
            if token.kind in ("num", "word", "prose", "cmd"):
                return token.value
            raise NotMathError("an index is missing")
        self.take()
        parts, level = list[str](), 1
        while level:
            token = self.take()
            if token.kind == "end":
                raise NotMathError("an unclosed index")
            level += (token.value == "{") - (token.value == "}") if token.kind == "op" else 0
            if level:
                parts.append(token.value)
        return "".join(parts)

    def application(self, name: str) -> Node:
        """Takes `f(x)`, `P(1, 2)`, `C(7, 3)`; a letter before a bracketed sum is a factor."""
        base = name.split("_")[0].rstrip("'")
        upper = len(base) == 1 and base.isupper()
        if base not in ("f", "g", "h", *_INVERSES) and not upper and not self.defines():
            return Sym(name)
        inside = self.atom()
        if isinstance(inside, Seq) and inside.opening == "(" and inside.closing == ")":
            return Apply(name, inside.items)
        simple = isinstance(inside, Sym | Num) or (
            isinstance(inside, Neg) and isinstance(inside.body, Num)
        )
        if base in ("f", "g") or simple:
            return Apply(name, (inside,))
        while self.at_op("^"):  # A product: what follows the bracket belongs to it.
            self.take()
            inside = self.power_of(inside)
        return Mul((Sym(name), inside))

    def big_o(self, name: str) -> Node:
        inside = self.atom()
        if isinstance(inside, Seq):
            return Apply(name, inside.items)
        return BigO(name, inside)

    def command(self, value: str) -> Node:
        if value in FUNCTIONS and value != "binom":
            return self.function(FUNCTIONS[value])
        if value in CONSTANT_NAMES:
            return Const(CONSTANT_NAMES[value])
        if value in GREEK:
            return self.symbol(value)
        if value == "frac":
            top = self.argument()
            return Div(top, self.argument())
        if value == "binom":
            top = self.argument()
            return Call("binom", (top, self.argument()))
        if value in _BIG_OPERATORS:
            return self.big_operator(value)
        if value in ("lfloor", "lceil"):
            return self.enclosed("floor" if value == "lfloor" else "ceil", "r" + value[1:])
        if value == "langle":
            return self.angle_bracket()
        if value == "ldots":
            return Ellipsis()
        if value == "approx":
            return Call("approx", (self.factor(),))
        if value in ("angle", "triangle", "measuredangle"):
            name = self.take()
            if name.kind not in ("word", "prose", "cmd"):
                raise NotMathError("a name is missing")
            return Sym(f"{value} {name.value}")
        if value in _DECORATIONS:
            return self.decorated(value)
        if value.startswith("unit:"):
            return Const(value)
        if value.startswith("mathbb:"):
            letter = value[7:]
            if letter == "R" and self.at_op("_"):
                self.take()
                return self.half_line() or Const("R")
            return Const(letter) if letter in _NAMED_SETS else Sym(letter)
        if value in _NAMED_SETS:
            return Const(value)
        if value.startswith("mathcal:"):
            return self.symbol(value[8:9] or "?")
        if value in ("imath", "jmath"):
            return self.symbol(value[0])
        if value == "arcmin":
            return self.factor()
        raise NotMathError(f"a command outside the grammar: \\{value}")

    def decorated(self, value: str) -> Node:
        inside = self.argument()
        if isinstance(inside, Const) and inside.name == "i":
            return Const("unit:i")
        if (
            isinstance(inside, Sym)
            and inside.name in ("j", "k")
            and value in ("hat", "vec", "widehat")
        ):
            return Const(f"unit:{inside.name}")
        if isinstance(inside, Sym):
            return Sym(f"{inside.name}{value}") if value != "overline" else inside
        if value in ("overline", "bar"):
            return Call("conj", (inside,)) if not isinstance(inside, Mul) else inside
        raise NotMathError(f"\\{value} of an expression")
