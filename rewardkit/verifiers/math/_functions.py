r"""Functions and big operators: \sin 2x, \sqrt[3]{x}, \sum, \int, \lim."""

from rewardkit.verifiers.math._base_parser import BaseParser
from rewardkit.verifiers.math._limits import NotMathError
from rewardkit.verifiers.math._nodes import (
    BigOp,
    Call,
    Const,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Rel,
    Seq,
    Sym,
)
from rewardkit.verifiers.math._rewrite import replace
from rewardkit.verifiers.math._symbols import FUNCTIONS

__all__ = ["FunctionParser"]

_BIG_OPERATORS = {"sum": "sum", "prod": "prod", "int": "int", "lim": "lim"}
_TRIGONOMETRIC = frozenset("sin cos tan cot sec csc sinh cosh tanh coth sech csch".split())


class FunctionParser(BaseParser):
    """Reads functions with their arguments."""

    def function(self, name: str) -> Node:
        if self.at_op("="):
            return Sym(f"word {name}")  # max = 42 names its value.
        if name == "sqrt":
            return self.root()
        power: Node | None = None
        base: Node | None = None
        while self.at_op("^") or self.at_op("_"):
            if self.take().value == "^":
                power = self.bound()
            else:
                base = self.bound()
        if power == Neg(Num(1)) and name in _TRIGONOMETRIC:
            name, power = "arc" + name, None
        args = self.function_arguments()
        if name == "log":
            node: Node = Call("logb", (args[0], base)) if base is not None else Call("log", args)
        elif name == "log10":
            node = Call("logb", (args[0], Num(10)))
        elif name == "exp":
            node = Pow(Const("e"), args[0])
        elif name == "cbrt":
            node = Call("root", (args[0], Num(3)))
        else:
            node = Call(name, args)
        return node if power is None else Pow(node, power)

    def function_arguments(self) -> tuple[Node, ...]:
        if self.at_op("(") or self.at_op("[") or self.at_op("{set") or self.at_op("{"):
            inside = self.atom()
            items = inside.items if isinstance(inside, Seq) else (inside,)
            if not items:
                raise NotMathError("a function without an argument")
            return items
        node = self.factor()
        while (
            self.starts_factor()
            and not self.starts_function()
            and not self.at_op("(")
            and self.peek.kind != "begin"
        ):
            right = self.factor()
            node = Mul((*node.factors, right)) if isinstance(node, Mul) else Mul((node, right))
        return (node,)

    def starts_function(self) -> bool:
        token = self.peek
        return (token.kind in ("cmd", "word") and token.value in FUNCTIONS) or (
            token.kind == "cmd" and token.value in _BIG_OPERATORS
        )

    def root(self) -> Node:
        degree: Node | None = None
        if self.at_op("["):
            self.take()
            degree = self.sum()
            self.expect("]")
        body = self.group() if self.at_op("{") else self.atom()
        return Call("sqrt", (body,)) if degree is None else Call("root", (body, degree))

    def big_operator(self, name: str) -> Node:
        if name == "lim":
            return self.limit()
        low: Node | None = None
        high: Node | None = None
        while self.at_op("_") or self.at_op("^"):
            if self.take().value == "_":
                low = self.bound()
            else:
                high = self.bound()
        if name == "int":
            return self.integral(low, high)
        body = self.term()
        variable, low, high = _index_range(low, high)
        if isinstance(variable, Const) and variable.name == "i":
            variable, body = Sym("i"), replace(body, {Const("i"): Sym("i")})
        if isinstance(variable, Sym):
            return BigOp(name, body, variable.name, low, high)
        raise NotMathError(f"\\{name} without a range")

    def limit(self) -> Node:
        self.expect("_")
        self.expect("{")
        variable = self.take()
        if variable.kind not in ("word", "cmd") or not self.at_cmd("to"):
            raise NotMathError("a limit without a point")
        self.take()
        point = self.sum()
        side: Node | None = None
        if self.at_op("^"):
            self.take()
            grouped = self.at_op("{")
            if grouped:
                self.take()
            side = Num(1 if self.take().value == "+" else -1)
            if grouped:
                self.expect("}")
        self.expect("}")
        return BigOp("lim", self.term(), variable.value, point, side)

    def integral(self, low: Node | None, high: Node | None) -> Node:
        self.integrals += 1
        outer, self.differential = self.differential, ""
        body = Num(1) if self.at_differential() else self.sum()
        inner, self.differential = self.differential, outer
        self.integrals -= 1
        if inner:
            return BigOp("int", body, inner, low, high)
        token = self.take()
        if token.kind == "word" and len(token.value) == 2 and token.value[0] == "d":
            return BigOp("int", body, token.value[1], low, high)
        if (token.kind == "cmd" and token.value == "diff") or token.value == "d":
            return BigOp("int", body, self.take().value, low, high)
        raise NotMathError("an integral without its differential")


def _index_range(
    low: Node | None, high: Node | None
) -> tuple[Node | None, Node | None, Node | None]:
    r"""Returns the index of a sum or product and its first and last value; no index if unknown.

    k=1 with a bound above, k\ge 1 up to infinity, 1\le k\le n.
    """
    match low:
        case Rel((index, first), ("=",)):
            return index, first, high
        case Rel((index, first), (">=",)) if high is None:
            return index, first, Const("inf")
        case Rel((first, index, last), ("<=", "<=")) if high is None:
            return index, first, last
    return None, low, high
