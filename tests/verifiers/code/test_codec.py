"""Values cross as plain data, and nothing else does."""

import json
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.code._inside.codec import CodecError, decode, encode, pack, unpack

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS | st.binary() | st.complex_numbers(allow_nan=False) | st.fractions(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.integers() | st.text())
        | st.lists(inner).map(deque)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_plain_values_come_back_equal_and_of_exact_types(value: object) -> None:
    back = decode(unpack(pack(encode(value))))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        Counter("aab"),
        OrderedDict(a=1),
        frozenset({1}),
        Decimal("1.50"),
        Fraction(1, 3),
        date(2024, 2, 29),
        datetime(2024, 1, 1, 12),
        timedelta(1, 2, 3),
        range(1, 9, 2),
        float("inf"),
        int,
        2**60,
        -(2**70),
    ],
)
def test_library_values_keep_their_meaning(value: object) -> None:
    assert decode(unpack(pack(encode(value)))) == value


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__

    def __index__(self) -> int:
        return 99

    __int__ = __index__


class FloatLiar(float):
    def __float__(self) -> float:
        return 99.0

    __eq__ = Liar.__eq__
    __hash__ = float.__hash__


def test_subclasses_are_taken_at_their_built_in_value() -> None:
    for liar, value in ((Liar(5), 5), (FloatLiar(5.5), 5.5)):
        back = decode(encode(liar))
        assert type(back) in {int, float}
        assert back == value


def test_a_named_tuple_is_a_tuple_for_the_host() -> None:
    point = namedtuple("point", "x y")
    assert decode(encode(point(1, 2))) == (1, 2)


def test_objects_without_plain_form_raise() -> None:
    for value in (object(), print, lambda: 0, iter([])):
        with pytest.raises(CodecError):
            encode(value)


def test_iterators_are_drained_only_so_far() -> None:
    assert decode(encode((i for i in range(3)), drain=True)) == [0, 1, 2]
    with pytest.raises(CodecError):
        encode(iter(int, 1), drain=True)


def test_deep_and_endless_values_raise() -> None:
    endless: list[object] = []
    endless.append(endless)
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(CodecError):
            encode(value)


MALFORMED = [
    {"zz": 1},
    {"i": 5},
    {"i": "x"},
    {"f": "one"},
    {"t": 5},
    {"d": [[1]]},
    {"d": [[[1], 2]]},
    {"s": [[]]},
    {"F": [1, 0]},
    {"M": "x" * 100_000},
    {"M": "nonsense"},
    {"D": ["date", "nonsense"]},
    {"D": ["__class__", "x"]},
    {"y": "eval"},
    {"y": ["int"]},
    {"r": ["a", 1, 1]},
    {"b": "zz"},
    {"h": {"id": 1}},
    {"u": 1},
    {},
    {"t": [], "s": []},
    {"c": [1]},
    {"N": ["a", ["b"]]},
    {"n": 1},
]


@pytest.mark.parametrize("form", MALFORMED, ids=json.dumps)
def test_malformed_forms_raise_one_error(form: object) -> None:
    with pytest.raises(CodecError):
        decode(form)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*"iftszbcdCOqrFMDnNghuy", "id"]), inner, max_size=2)
    ),
    max_leaves=15,
)


@given(JSON)
def test_any_message_is_a_value_or_an_error(form: object) -> None:
    try:
        decode(form)
    except CodecError:
        return


@given(st.binary(max_size=100))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    try:
        unpack(data)
    except CodecError:
        return


def test_keys_made_to_collide_are_refused() -> None:
    modulus = 2**61 - 1
    form = {"s": [{"i": hex(modulus * i)} for i in range(1, 5000)]}
    with pytest.raises(CodecError, match="collide"):
        decode(form)


def test_nesting_beyond_reason_is_refused() -> None:
    with pytest.raises(CodecError):
        decode(unpack(b"[" * 500 + b"]" * 500))
    with pytest.raises(CodecError):
        unpack(b"[" * 1_000_000)


def test_a_message_of_too_many_values_is_not_read() -> None:
    with pytest.raises(CodecError, match="values"):
        unpack(b"[" + b"[]," * 900_000 + b"[]]")
    text = "," * 900_000
    assert unpack(pack({"v": text})) == {"v": text}


@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity"])
def test_what_is_not_json_is_not_read(word: bytes) -> None:
    with pytest.raises(CodecError):
        unpack(b'{"v":' + word + b"}")
