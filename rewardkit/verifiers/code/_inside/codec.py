"""Python values as JSON and back: sized, depth-limited, to exact built-in types and nothing else.

Plain values stand for themselves; everything else is an object with one key:

    i  int beyond 53 bits, in hexadecimal      f  nan, inf, -inf      c  complex [real, imaginary]
    t  tuple     s  set     z  frozenset       q  deque               b  bytes, in hexadecimal
    d  dict      C  Counter     O  OrderedDict, each as pairs         r  range
    F  Fraction     M  Decimal                 D  date or time [kind, text or numbers]
    n  numpy array [dtype, nested lists]       N  named tuple [name, fields, values]
    g  an iterator, drained                    y  a built-in type, by name
    h  an object that stays where it is: a handle, described by the one who owns it
    u  the same, owned by the one who receives it: the handle's number
"""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import collections
import datetime
import decimal
import fractions
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

__all__ = [
    "MAX_FRAME_BYTES",
    "CodecError",
    "check_collisions",
    "decode",
    "encode",
    "pack",
    "unpack",
]

MAX_FRAME_BYTES = 8 << 20
MAX_DEPTH = 200
MAX_NODES = 400_000
MAX_DRAINED = 100_000
_MAX_COLLISIONS = 64
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_MAX_DIGITS = 20_000

_BUILTIN_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(bool, int, float, complex, str, bytes, bytearray, list, tuple),
        *(dict, set, frozenset, range, type, object, type(None)),
    )
}

Describe = Callable[[object], Any]
Resolve = Callable[[Any], object]


class CodecError(Exception):
    """A value without plain form, too large or too deep, or an unreadable message."""


def pack(message: Any) -> bytes:
    """Returns a message as bytes; raises CodecError beyond MAX_FRAME_BYTES."""
    data = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
    if len(data) > MAX_FRAME_BYTES:
        raise CodecError(f"a value of {len(data)} bytes; at most {MAX_FRAME_BYTES} are carried")
    return data


def unpack(data: bytes) -> Any:
    """Returns the message that `data` holds; raises CodecError if there is none, or too much."""
    # Reading costs a reader some hundred times the bytes of what is written as `[],[],`.
    if data.count(b",") > 2 * MAX_NODES and _TEXT.sub(b"", data).count(b",") > 2 * MAX_NODES:
        raise CodecError(f"a message of more than {2 * MAX_NODES} values")
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"unreadable message: {type(error).__name__}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise CodecError(f"{name} is not JSON")


def encode(value: object, describe: Describe | None = None, *, drain: bool = False) -> Any:
    """Returns `value` in JSON form.

    Args:
        value: anything. Subclasses of built-in types are taken at their built-in value.
        describe: returns the form of an object that is not plain; without it such an object raises.
        drain: turn iterators into lists, of at most MAX_DRAINED items.

    Raises:
        CodecError: no plain form, too deep, or too large.
    """
    return _Encoder(describe, drain).encode(value, 0)


def decode(form: Any, resolve: Resolve | None = None, *, nan: float = math.nan) -> Any:
    """Returns the value that `encode` described, built from exact built-in types.

    Args:
        form: what `encode` returned, or anything.
        resolve: returns the object that a handle names; without it a handle raises.
        nan: stands for "not a number".

    Raises:
        CodecError: the form is malformed, too deep, or made to be slow.
    """
    try:
        return _Decoder(resolve, nan).decode(form, 0)
    except CodecError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as error:
        raise CodecError(f"malformed value: {type(error).__name__}") from None


class _Encoder:
    def __init__(self, describe: Describe | None, drain: bool) -> None:
        self.describe = describe
        self.drain = drain
        self.nodes = 0

    def encode(self, value: object, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise CodecError("a value too deep or too large to carry")
        if value is None or value is True or value is False:
            return value
        if isinstance(value, int):
            return _encode_int(int.__add__(value, 0))
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else {"f": repr(number)}
        if isinstance(value, str):
            text = str.__str__(value)
            if len(text) > MAX_FRAME_BYTES:
                raise CodecError(f"a text of {len(text)} characters")
            return text
        return self._encode_other(value, depth + 1)

    def _encode_other(self, value: Any, depth: int) -> Any:
        if isinstance(value, bytes | bytearray):
            return {"b": bytes(memoryview(value)).hex()}
        if isinstance(value, complex):
            parts = (complex.real.__get__(value), complex.imag.__get__(value))
            return {"c": [self.encode(part, depth) for part in parts]}
        if isinstance(value, list):
            return self._items(list.__iter__(value), depth)
        if isinstance(value, tuple):
            return self._encode_tuple(value, depth)
        if isinstance(value, dict):
            return self._encode_dict(value, depth)
        if isinstance(value, set):
            return {"s": self._items(set.__iter__(value), depth)}
        if isinstance(value, frozenset):
            return {"z": self._items(frozenset.__iter__(value), depth)}
        if isinstance(value, collections.deque):
            return {"q": self._items(collections.deque.__iter__(value), depth)}
        if isinstance(value, range):
            return {"r": [_encode_int(n) for n in (value.start, value.stop, value.step)]}
        if isinstance(value, fractions.Fraction) and type(value) is fractions.Fraction:
            return {"F": [_encode_int(value.numerator), _encode_int(value.denominator)]}
        if isinstance(value, decimal.Decimal):
            return {"M": decimal.Decimal.__str__(value)}
        return self._encode_library(value, depth)

    def _encode_tuple(self, value: tuple[Any, ...], depth: int) -> Any:
        items = self._items(tuple.__iter__(value), depth)
        fields = getattr(type(value), "_fields", None)
        if type(value) is not tuple and isinstance(fields, tuple) and len(fields) == len(items):
            return {"N": [type(value).__name__, [str(name) for name in fields], items]}
        return {"t": items}

    def _encode_dict(self, value: dict[Any, Any], depth: int) -> Any:
        pairs = [[self.encode(k, depth), self.encode(v, depth)] for k, v in dict.items(value)]
        if isinstance(value, collections.Counter):
            return {"C": pairs}
        return {"O" if isinstance(value, collections.OrderedDict) else "d": pairs}

    def _encode_library(self, value: Any, depth: int) -> Any:
        if isinstance(value, datetime.datetime):
            return {"D": ["datetime", datetime.datetime.isoformat(value)]}
        if isinstance(value, datetime.date):
            return {"D": ["date", datetime.date.isoformat(value)]}
        if isinstance(value, datetime.timedelta):
            return {"D": ["timedelta", [value.days, value.seconds, value.microseconds]]}
        if type(value).__module__ == "numpy":
            if hasattr(value, "dtype") and not getattr(value, "shape", None):
                return self.encode(value.item(), depth)
            if type(value).__name__ == "ndarray" and value.dtype.kind in "biufcUS":
                return {"n": [value.dtype.str, self.encode(value.tolist(), depth)]}
        if isinstance(value, type) and _BUILTIN_TYPES.get(value.__name__) is value:
            return {"y": value.__name__}
        if self.drain and hasattr(type(value), "__next__"):
            return {"g": self._drain(value, depth)}
        if self.drain and isinstance(value, type({}.keys()) | type({}.values()) | type({}.items())):
            return self._items(iter(value), depth)
        if self.describe is None:
            raise CodecError(f"a {type(value).__name__} is not plain data")
        return self.describe(value)

    def _drain(self, value: Any, depth: int) -> list[Any]:
        items: list[Any] = []
        for item in value:
            if len(items) >= MAX_DRAINED:
                raise CodecError(f"an iterator of more than {MAX_DRAINED} items")
            items.append(self.encode(item, depth))
        return items

    def _items(self, items: Iterable[Any], depth: int) -> list[Any]:
        return [self.encode(item, depth) for item in items]


def _encode_int(number: int) -> Any:
    if number.bit_length() > 4 * MAX_FRAME_BYTES:
        raise CodecError(f"an integer of {number.bit_length()} bits")
    return number if -(1 << 53) < number < (1 << 53) else {"i": hex(number)}


class _Decoder:
    def __init__(self, resolve: Resolve | None, nan: float) -> None:
        self.resolve = resolve
        self.nan = nan

    def decode(self, form: Any, depth: int) -> Any:
        if depth > MAX_DEPTH + 8:
            raise CodecError("a value too deep to read")
        if isinstance(form, list):
            return [self.decode(item, depth + 1) for item in form]
        if not isinstance(form, dict):
            return form
        if len(form) != 1:
            raise CodecError("malformed value: not one key")
        ((key, body),) = form.items()
        return self._decode_tagged(key, body, depth + 1)

    def _decode_tagged(self, key: str, body: Any, depth: int) -> Any:
        if key in {"h", "u"}:
            if self.resolve is None:
                raise CodecError("an object where plain data is asked for")
            return self.resolve(form_of(key, body))
        if key == "f" and body == "nan":
            return self.nan
        if key in _SIMPLE:
            return _SIMPLE[key](body)
        if key in {"d", "C", "O"}:
            pairs = [(_hashable(self.decode(k, depth)), self.decode(v, depth)) for k, v in body]
            check_collisions([k for k, _ in pairs])
            return _DICTS[key](pairs)
        if key == "n":
            return self._decode_array(body, depth)
        if key == "N":
            return self._decode_named(body, depth)
        items = [self.decode(item, depth) for item in body]
        if key in {"s", "z"}:
            check_collisions(items)
        return _CONTAINERS[key](items)

    def _decode_array(self, body: Any, depth: int) -> Any:
        dtype, nested = body
        values = self.decode(nested, depth)
        if self.resolve is None:
            return values
        try:
            import numpy as np
        except ImportError:
            raise CodecError("an array, and numpy is not installed") from None
        return np.array(values, dtype=str(dtype))

    def _decode_named(self, body: Any, depth: int) -> Any:
        name, fields, forms = body
        items = [self.decode(item, depth) for item in forms]
        if self.resolve is None:
            return tuple(items)
        return collections.namedtuple(str(name), [str(f) for f in fields])(*items)


def form_of(key: str, body: Any) -> dict[str, Any]:
    """Returns a one-key form, checked to carry an integer handle."""
    number = body if key == "u" else body["id"]
    if type(number) is not int:
        raise CodecError("malformed handle")
    return {key: body}


def _hashable(key: Any) -> Any:
    hash(key)
    return key


def check_collisions(keys: list[Any]) -> None:
    """Raises CodecError if many keys share a hash: their table takes quadratic time to build."""
    if len(keys) > _MAX_COLLISIONS:
        same, last = 0, None
        for value in sorted(hash(key) for key in keys):
            same = same + 1 if value == last else 0
            last = value
            if same > _MAX_COLLISIONS:
                raise CodecError("keys made to collide")


def _decode_hex_int(text: str) -> int:
    return int(text, 16)


def _decode_float(text: str) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text]


def _decode_plain_int(form: Any) -> int:
    number = _decode_hex_int(form["i"]) if isinstance(form, dict) else form
    if type(number) is not int:
        raise CodecError("malformed integer")
    return number


def _decode_fraction(body: Any) -> fractions.Fraction:
    numerator, denominator = (_decode_plain_int(part) for part in body)
    if max(numerator.bit_length(), denominator.bit_length()) > 4 * _MAX_DIGITS:
        raise CodecError("a fraction too long to reduce")
    return fractions.Fraction(numerator, denominator)


def _decode_decimal(text: str) -> decimal.Decimal:
    if len(text) > _MAX_DIGITS:
        raise CodecError("a decimal too long to read")
    return decimal.Decimal(text)


def _decode_complex(body: Any) -> complex:
    real, imaginary = (_decode_float(p["f"]) if isinstance(p, dict) else p for p in body)
    return complex(real, imaginary)


def _decode_time(body: Any) -> Any:
    kind, value = body
    if kind == "timedelta":
        return datetime.timedelta(*value)
    kinds = {"datetime": datetime.datetime, "date": datetime.date}
    return kinds[kind].fromisoformat(value)


def _decode_range(body: Any) -> range:
    return range(*(_decode_plain_int(part) for part in body))


_SIMPLE: dict[str, Callable[[Any], Any]] = {
    "i": _decode_hex_int,
    "f": _decode_float,
    "b": bytes.fromhex,
    "c": _decode_complex,
    "r": _decode_range,
    "F": _decode_fraction,
    "M": _decode_decimal,
    "D": _decode_time,
    "y": _BUILTIN_TYPES.__getitem__,
}
_DICTS: dict[str, Callable[[Any], Any]] = {
    "d": dict,
    "C": lambda pairs: collections.Counter(dict(pairs)),
    "O": collections.OrderedDict,
}
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "t": tuple,
    "s": set,
    "z": frozenset,
    "q": collections.deque,
    "g": list,
}
