"""A "not a number" that has no place in an order, and says so."""

import math
from collections.abc import Callable
from typing import NoReturn

__all__ = ["NAN"]


class _NotANumber(float):
    """NaN, and what is computed from it.

    Nothing is above or below NaN, so a check written as `not abs(f(x) - y) > tolerance`, or as
    `max(errors) < tolerance`, would hold of it. Here such a question is an error.
    """

    def _refuse(self, _other: object) -> NoReturn:
        raise ArithmeticError("the program returned NaN, which has no place in an order")

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = float.__hash__


def _keeping(name: str) -> Callable[..., object]:
    compute = getattr(float, name)

    def method(self: float, *others: object) -> object:
        result = compute(self, *others)
        return NAN if isinstance(result, float) and math.isnan(result) else result

    return method


for _name in (
    *("__neg__", "__pos__", "__abs__", "__round__"),
    *(
        f"__{prefix}{name}__"
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
        for prefix in ("", "r")
    ),
):
    setattr(_NotANumber, _name, _keeping(_name))

NAN = _NotANumber("nan")
