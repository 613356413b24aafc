"""How much a program's answer may make the host compute."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import datetime
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

from rewardkit.verifiers.code._inside.codec import CodecError, check_collisions

__all__ = ["check_bounded", "check_keys", "check_sum"]

MAX_NODES = 200_000
_MAX_RANGE = 100_000
_MAX_DECIMAL = 10_000
_MAX_FRACTION_BITS = 1 << 16
_MAX_SUMMED_BITS = 1 << 16
_MAX_JOINED = 1000
_LEAVES = (
    *(bool, int, float, complex, str, bytes, type(None), type),
    *(datetime.datetime, datetime.date, datetime.timedelta),
)
_SEQUENCES = (list, tuple, set, frozenset, deque)
_DICTS = (dict, Counter, OrderedDict)


def check_bounded(value: Any) -> None:
    """Raises CodecError unless computing with `value` takes time in proportion to its own size.

    A range counts as its items, at most 100 000; a Decimal has at most 10 000 digits and an
    exponent within 10 000 of zero; the fractions of a value have at most 65 536 bits in all, since
    their sum has about as many. At most MAX_NODES items in all.
    """
    nodes, fraction_bits = 1, 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind in _SEQUENCES:
            nodes += len(item)
            waiting.extend(item)
        elif kind in _DICTS:
            nodes += 2 * len(item)
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif kind is range:
            nodes += _range_length(item)
        elif kind is Decimal:
            _check_decimal(item)
        elif kind is Fraction:
            fraction_bits += item.numerator.bit_length() + item.denominator.bit_length()
        elif kind not in _LEAVES:
            raise CodecError(f"a {kind.__name__} is nothing to compute with")
        if nodes > MAX_NODES or fraction_bits > _MAX_FRACTION_BITS:
            raise CodecError("a value too large to compute with")


def check_keys(function: Any, items: Any) -> None:
    """Raises CodecError if `function`, set or dict, would build a table of colliding keys."""
    if isinstance(items, list | tuple | deque | range):
        entries: list[Any] = list(items)
        check_collisions([entry[0] for entry in entries] if function is dict else entries)


def check_sum(items: Any) -> None:
    """Raises CodecError if the sum of `items` would copy a long intermediate value many times."""
    joined = 0
    for item in items:
        if isinstance(item, int) and item.bit_length() > _MAX_SUMMED_BITS:
            raise CodecError("a number too long to add up")
        joined += isinstance(item, list | tuple | deque)
    if joined > _MAX_JOINED:
        raise CodecError("too many lists to join")


def _range_length(value: range) -> int:
    try:
        length = len(value)
    except OverflowError:
        length = _MAX_RANGE + 1
    if length > _MAX_RANGE:
        raise CodecError("a range too long to go through")
    return length


def _check_decimal(value: Decimal) -> None:
    _, digits, exponent = value.as_tuple()
    if len(digits) > _MAX_DECIMAL or (isinstance(exponent, int) and abs(exponent) > _MAX_DECIMAL):
        raise CodecError("a decimal too long to compute with")
