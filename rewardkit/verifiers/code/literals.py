"""Turns literal asserts into data, so that the checks need no process of their own."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rewardkit.verifiers.code._inside.codec import CodecError
from rewardkit.verifiers.code.bounds import check_bounded, check_keys, check_sum

__all__ = ["LiteralCheck", "literal_checks"]

_MISSING = object()
_MAX_INT_BITS = 1 << 16
_MAX_NUMBER_CHARS = 4000
_MAX_ROUNDED_DIGITS = 400


@dataclass(frozen=True, slots=True)
class LiteralCheck:
    """One assert around one call with literal arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expression: ast.expr
    """The asserted expression; the call is replaced by the name `_`."""
    label: str

    def holds(self, value: Any) -> bool:
        """Returns whether the assert holds when the call gave `value`, a plain value.

        A value that would cost the host more than its own size to compute with does not.
        """
        try:
            check_bounded(value)
            return bool(_Evaluator(value).evaluate(self.expression))
        except (
            *(TypeError, ValueError, ArithmeticError, RecursionError, LookupError),
            *(MemoryError, NotImplementedError, CodecError),
        ):
            return False


def literal_checks(source: str, entry: str) -> list[LiteralCheck] | None:
    """Returns the checks of a source of literal asserts on `entry`; None if it holds more.

    Understood are asserts in the module, or in a function `check(candidate)` that is called with
    the entry, around exactly one call, with comparisons, arithmetic and the functions of
    `_FUNCTIONS`; imports, docstrings and literal assignments beside them are passed over. Raises
    SyntaxError.
    """
    tree = ast.parse(source)
    found = _Collector(entry)
    if not found.collect(tree.body, entry) or not found.checks:
        return None
    return found.checks


@dataclass(slots=True)
class _Collector:
    entry: str
    checks: list[LiteralCheck] = field(default_factory=list)

    def collect(self, body: list[ast.stmt], name: str) -> bool:
        for node in body:
            if isinstance(node, ast.Assert):
                check = self._check(node, name)
                if check is None:
                    return False
                self.checks.append(check)
            elif isinstance(node, ast.FunctionDef) and node.name == "check":
                if len(node.args.args) != 1 or not self.collect(node.body, node.args.args[0].arg):
                    return False
            elif not _is_harmless(node, self.entry):
                return False
        return True

    def _check(self, node: ast.Assert, name: str) -> LiteralCheck | None:
        finder = _CallFinder(name)
        expression = finder.visit(node.test)
        if finder.found is None or finder.count != 1 or not _is_understood(expression):
            return None
        try:
            args = tuple(ast.literal_eval(a) for a in finder.found.args)
            kwargs = {str(k.arg): ast.literal_eval(k.value) for k in finder.found.keywords if k.arg}
        except (ValueError, TypeError, RecursionError):
            return None
        if len(kwargs) != len(finder.found.keywords):
            return None
        return LiteralCheck(args, kwargs, expression, f"line {node.lineno}")


class _CallFinder(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self.name = name
        self.found: ast.Call | None = None
        self.count = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == self.name:
            self.count += 1
            self.found = node
            return ast.copy_location(ast.Name("_", ast.Load()), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self.name:
            self.count += 100
        return node


def _is_harmless(node: ast.stmt, entry: str) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Constant):
            return True
        call = node.value
        return (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "check"
            and len(call.args) == 1
            and isinstance(call.args[0], ast.Name)
            and call.args[0].id == entry
        )
    if isinstance(node, ast.Assign):
        return all(isinstance(t, ast.Name) for t in node.targets) and _literal(node.value)
    return False


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "dict": dict,
    "float": float,
    "frozenset": frozenset,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "round": round,
    "set": set,
    "sorted": sorted,
    "sum": sum,
    "tuple": tuple,
    "math.isclose": math.isclose,
    "math.isnan": math.isnan,
    "math.isinf": math.isinf,
}
_ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SORTING = (max, min, sorted)
_VALUES: dict[str, Any] = {"math.pi": math.pi, "math.inf": math.inf, "math.e": math.e}
_IS_VALUES = (None, True, False)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _is_understood(node: ast.expr) -> bool:
    try:
        _Evaluator(0).evaluate(node)
    except NotImplementedError:
        return False
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return _names_understood(node)
    return _names_understood(node)


def _names_understood(node: ast.expr) -> bool:
    functions = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in _FUNCTIONS and id(part) not in functions:
            return False
        if isinstance(part, ast.BinOp) and type(part.op) not in _BINARY:
            return False
        if isinstance(part, ast.Call) and _dotted(part.func) not in _FUNCTIONS:
            return False
        if isinstance(part, ast.Compare) and any(
            isinstance(op, ast.Is | ast.IsNot)
            and not (isinstance(c, ast.Constant) and c.value in _IS_VALUES)
            for op, c in zip(part.ops, part.comparators, strict=True)
        ):
            return False
        if isinstance(part, ast.Name) and part.id not in {"_", "math", *_FUNCTIONS}:
            return False
        if isinstance(part, _ALLOWED | ast.operator | ast.cmpop | ast.boolop | ast.unaryop):
            continue
        if isinstance(part, ast.expr_context | ast.keyword):
            continue
        return False
    return True


_ALLOWED = (
    ast.Name
    | ast.Constant
    | ast.Attribute
    | ast.Call
    | ast.Compare
    | ast.BinOp
    | ast.UnaryOp
    | ast.BoolOp
    | ast.List
    | ast.Tuple
    | ast.Set
    | ast.Dict
)


def _check_ordered(*values: Any) -> None:
    # Nothing is above or below NaN: `not f(x) > 9` and `max(f(x)) < 9` would hold of it.
    if any(value != value for value in values if isinstance(value, float | Decimal)):
        raise ValueError("NaN has no place in an order")


class _Evaluator:
    """Evaluates an expression over plain values; sizes are bounded beforehand."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def evaluate(self, node: ast.expr) -> Any:
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise NotImplementedError(type(node).__name__)
        return method(node)

    def _name(self, node: ast.Name) -> Any:
        if node.id != "_":
            raise NotImplementedError(node.id)
        return self.value

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _attribute(self, node: ast.Attribute) -> Any:
        value = _VALUES.get(_dotted(node), _MISSING)
        if value is _MISSING:
            raise NotImplementedError(_dotted(node))
        return value

    def _list(self, node: ast.List) -> Any:
        return [self.evaluate(item) for item in node.elts]

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.evaluate(item) for item in node.elts)

    def _set(self, node: ast.Set) -> Any:
        return {self.evaluate(item) for item in node.elts}

    def _dict(self, node: ast.Dict) -> Any:
        if any(key is None for key in node.keys):
            raise NotImplementedError("**")
        pairs = zip(node.keys, node.values, strict=True)
        return {self.evaluate(k): self.evaluate(v) for k, v in pairs if k is not None}

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, ast.USub):
            return -value
        raise NotImplementedError("unary")

    def _boolop(self, node: ast.BoolOp) -> Any:
        values = (self.evaluate(value) for value in node.values)
        return all(values) if isinstance(node.op, ast.And) else any(values)

    def _binop(self, node: ast.BinOp) -> Any:
        function = _BINARY.get(type(node.op))
        if function is None:
            raise NotImplementedError("operator")
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        for side in (left, right):
            if not isinstance(side, int | float | complex):
                raise TypeError("arithmetic on numbers only")
            if isinstance(side, int) and side.bit_length() > _MAX_INT_BITS:
                raise ValueError("a number too long to compute with")
        return function(left, right)

    def _compare(self, node: ast.Compare) -> Any:
        left = self.evaluate(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(comparator)
            if isinstance(op, _ORDERINGS):
                _check_ordered(left, right)
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _call(self, node: ast.Call) -> Any:
        function = _FUNCTIONS.get(_dotted(node.func))
        if function is None or any(keyword.arg is None for keyword in node.keywords):
            raise NotImplementedError("call")
        args = [self.evaluate(arg) for arg in node.args]
        kwargs = {str(k.arg): self.evaluate(k.value) for k in node.keywords}
        if any(isinstance(arg, int) and arg.bit_length() > _MAX_INT_BITS for arg in args):
            raise ValueError("a number too long to compute with")
        if function in {int, float} and any(
            isinstance(arg, str | bytes) and len(arg) > _MAX_NUMBER_CHARS for arg in args
        ):
            raise ValueError("a text too long to read as a number")
        if function is round and any(
            isinstance(digits, int) and abs(digits) > _MAX_ROUNDED_DIGITS
            for digits in (*args[1:], *kwargs.values())
        ):
            raise ValueError("too many digits to round to")
        if function in {set, frozenset, dict} and args:
            check_keys(function, args[0])
        if function is sum and args:
            check_sum(args[0])
        if function in _SORTING and args:
            _check_ordered(*(args if len(args) > 1 else args[0]))
        return function(*args, **kwargs)
