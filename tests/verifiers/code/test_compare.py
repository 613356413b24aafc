"""Comparison on the host."""

import math
from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.code.compare import outputs_match, shorten, values_match

EQUAL = [
    (13, 13),
    (13.0, 13),
    (True, 1),
    (1 + 1e-9, 1.0),
    ((1, 2), [1, 2]),
    (deque([1]), [1]),
    ({1: "a"}, {"1": "a"}),
    ({"x": (1, 2.0)}, {"x": [1, 2]}),
    (Counter("aab"), {"a": 2, "b": 1}),
    (math.nan, math.nan),
    (math.inf, math.inf),
    (None, None),
    ("", ""),
]
DIFFERENT = [
    ("13", 13),
    ([13], 13),
    (13, [13]),
    (13, "13"),
    (13.0000001, 13),
    (1.00001, 1.0),
    (math.nan, 1.0),
    (math.inf, 1e308),
    (1.0, math.nan),
    ([1, 2, 3], [1, 2]),
    ([1, 2], [1, 2, 3]),
    ({"a": 1, "b": 2}, {"a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({1: "a", "1": "b"}, {"1": "a"}),
    (set(), []),
    (None, 0),
    (10**400, 1.5),
    (b"a", "a"),
]


@pytest.mark.parametrize(("got", "expected"), EQUAL)
def test_equal_values(got: object, expected: object) -> None:
    assert values_match(got, expected)


@pytest.mark.parametrize(("got", "expected"), DIFFERENT)
def test_different_values(got: object, expected: object) -> None:
    assert not values_match(got, expected)


def test_deep_values_do_not_raise() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert not values_match(deep, [[1]])
    assert not values_match(deep, [*deep, 1])


@pytest.mark.parametrize(
    ("mode", "got", "expected", "matches"),
    [
        ("lines", b"1 \r\n2\n\n", "1\n2", True),
        ("lines", b"1 2\n", "1\n2\n", False),
        ("lines", b"1\n2\n3\n", "1\n2\n", False),
        ("lines", b"1\n", "1\n2\n", False),
        ("lines", b"\n1\n", "1\n", False),
        ("lines", b"1\x00\n", "1\n", False),
        ("lines", b"\xff\n", "\ufffd\n", False),
        ("lines", b"a\x0bb\n", "a\nb\n", False),
        ("exact", b"1\n", "1\n", True),
        ("exact", b"1", "1\n", False),
        ("tokens", b"1  2\n3", "1 2 3", True),
        ("tokens", b"1.0", "1", False),
        ("float", b"1.0000001 x", "1 x", True),
        ("float", b"1.01", "1", False),
        ("float", b"nan", "1", False),
        ("float", b"1e400", "1", False),
        ("unordered", b"b\na\n", "a\nb\n", True),
        ("unordered", b"a\na\nb\n", "a\nb\n", False),
    ],
)
def test_outputs(mode: str, got: bytes, expected: str, matches: bool) -> None:
    assert outputs_match(got, expected, mode=mode) is matches


@given(st.binary(max_size=200), st.text(max_size=50), st.sampled_from(["lines", "float", "tokens"]))
def test_any_output_gets_an_answer(got: bytes, expected: str, mode: str) -> None:
    outputs_match(got, expected, mode=mode)


@given(st.text(max_size=200).filter(lambda text: "\r" not in text))
def test_an_output_equals_itself(text: str) -> None:
    data = text.encode("utf-8", "replace")
    assert outputs_match(data, data.decode(), mode="lines")


def test_shown_values_are_short() -> None:
    for value in (10**5000, "x" * 10**6, list(range(10**5)), {"a": ["b"] * 999}):
        assert len(shorten(value)) <= 100


def test_a_key_of_none_stands_for_no_missing_key() -> None:
    assert not values_match({None: 1, 5: 1}, {"a": 1, "b": 1})
    assert not values_match({1: 1, 5: 1}, {1: 1, "1": 1})
    assert values_match({1: 1, None: 2}, {"1": 1, None: 2})
