"""Comparison on the host: plain values and program output against what is expected."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import math
from collections import Counter, OrderedDict, deque
from typing import Any

__all__ = ["COMPARE_MODES", "outputs_match", "shorten", "values_match"]

COMPARE_MODES = ("lines", "exact", "tokens", "float", "unordered")
_SHOWN = 80


def values_match(got: object, expected: object, *, tolerance: float = 1e-6) -> bool:
    """Returns whether a value equals the expected one.

    Python's equality over plain values, with three leniencies that JSON references need: a tuple
    (or deque, or array) equals a list of the same items, an integer key equals its decimal text,
    and where a float is expected numbers within `tolerance`, relative or absolute, are equal. NaN
    equals NaN when it is expected.

    Args:
        got: exact built-in types, as `decode` builds them.
        expected: JSON data, or the value of a Python literal.
        tolerance: 0 for exact equality.
    """
    try:
        return _match(got, expected, tolerance)
    except (RecursionError, TypeError, ValueError, ArithmeticError, MemoryError):
        return False


def _match(got: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, float) and not isinstance(got, bool):
        return _numbers_match(got, expected, tolerance)
    if isinstance(expected, list | tuple | deque):
        if not isinstance(got, list | tuple | deque) or len(got) != len(expected):
            return False
        return all(_match(g, e, tolerance) for g, e in zip(got, expected, strict=True))
    if isinstance(expected, dict):
        return isinstance(got, dict) and _dicts_match(got, expected, tolerance)
    if isinstance(got, list | tuple | dict | deque):
        return False
    return bool(got == expected)


def _numbers_match(got: Any, expected: float, tolerance: float) -> bool:
    if not isinstance(got, int | float):
        return bool(got == expected)
    if math.isnan(expected):
        return isinstance(got, float) and math.isnan(got)
    if math.isinf(expected) or (isinstance(got, float) and not math.isfinite(got)):
        return got == expected
    try:
        return got == expected or math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:
        return False


def _dicts_match(got: dict[Any, Any], expected: dict[Any, Any], tolerance: float) -> bool:
    if len(got) != len(expected):
        return False
    by_text = {str(key): key for key in got if type(key) is int and -(10**18) < key < 10**18}
    used = set()
    for key, value in expected.items():
        if key in got:
            own = key
        elif isinstance(key, str) and key in by_text:
            own = by_text[key]
        else:
            return False
        used.add(own)
        if not _match(got[own], value, tolerance):
            return False
    return len(used) == len(expected)


def outputs_match(got: bytes, expected: str, *, mode: str, tolerance: float = 1e-6) -> bool:
    """Returns whether a program's output is the expected one.

    Args:
        got: standard output, as bytes; what is not UTF-8 never matches.
        expected: the expected text.
        mode: "lines" forgives blanks at line ends, line-end style and empty lines at the end;
            "exact" forgives nothing; "tokens" compares what stands between blanks; "float" the
            same, numbers within `tolerance`;
            "unordered" compares lines in any order.
        tolerance: relative or absolute.
    """
    if mode == "exact":
        return got == expected.encode()
    try:
        text = got.decode()
    except UnicodeDecodeError:
        return False
    if mode in {"tokens", "float"}:
        ours, theirs = text.split(), expected.split()
        if len(ours) != len(theirs):
            return False
        slack = tolerance if mode == "float" else None
        return all(_tokens_match(a, b, slack) for a, b in zip(ours, theirs, strict=True))
    if mode == "unordered":
        return sorted(_lines(text)) == sorted(_lines(expected))
    return _lines(text) == _lines(expected)


def _lines(text: str) -> list[str]:
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _tokens_match(got: str, expected: str, tolerance: float | None) -> bool:
    if got == expected:
        return True
    if tolerance is None or len(got) > 400 or not got.isascii() or "_" in got:
        return False
    try:
        return _numbers_match(float(got), float(expected), tolerance)
    except ValueError:
        return False


def shorten(value: object) -> str:
    """Returns a short text of a plain value, whatever its size."""
    if isinstance(value, str | bytes):
        text = repr(value[:_SHOWN])
    elif isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    elif isinstance(value, list | tuple | set | frozenset | dict | deque | Counter | OrderedDict):
        return _shorten_container(value)
    else:
        try:
            text = repr(value)
        except (ValueError, RecursionError):
            text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _shorten_container(value: Any) -> str:
    if len(value) > 8 or any(isinstance(v, list | tuple | set | dict | str) for v in value):
        return f"a {type(value).__name__} of {len(value)}"
    return "[" + ", ".join(shorten(item) for item in value) + "]"
