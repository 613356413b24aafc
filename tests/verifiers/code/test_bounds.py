"""An answer never makes the host compute more than the answer is long."""

from collections import deque
from decimal import Decimal
from fractions import Fraction

import pytest

from rewardkit.verifiers.code.literals import literal_checks

_PRIME = 2**61 - 1


def holds(expression: str, value: object) -> bool:
    checks = literal_checks(f"assert {expression}", "f")
    assert checks is not None
    return checks[0].holds(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sum(f(3)) != 6", range(3 * 10**8)),
        ("0.5 not in f(3)", range(10**12)),
        ("sorted(f(3)) != [1]", range(10**30)),
        ("int(f(3)) != 6", Decimal("1E+999999999999999")),
        ("round(f(3)) != 6", Decimal("1E+1000000")),
        ("set(f(3)) != {6}", deque(i * _PRIME for i in range(40_000))),
        ("set(f(3)) != {6}", range(0, 40_000 * _PRIME, _PRIME)),
        ("dict(f(3)) != {6: 6}", [(i * _PRIME, i) for i in range(40_000)]),
        ("sum(f(3)) != 6", [Fraction(1, 3**i) for i in range(1000)]),
        ("sum(f(3), []) != []", [[1]] * 90_000),
        ("sum(f(3)) != 6", [1 << 10_000_000, *range(90_000)]),
        ("round(5, f(3)) != 6", -(10**9)),
        ("len(f(3)) != 6", [0] * 300_000),
        ("f(3) != 6", object()),
    ],
)
def test_an_answer_made_to_be_slow_fails_the_check(expression: str, value: object) -> None:
    assert not holds(expression, value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sum(f(3)) == 4950", range(100)),
        ("list(f(3)) == [0, 1]", range(2)),
        ("int(f(3)) == 6", Decimal("6.5")),
        ("f(3) == 0.5", Fraction(1, 2)),
        ("set(f(3)) == {1, 2}", deque([1, 2, 1])),
        ("dict(f(3)) == {'a': 1}", [["a", 1]]),
        ("sum(f(3), []) == [1, 2]", [[1], [2]]),
        ("round(f(3), 2) == 1.23", 1.2345),
        ("len(f(3)) == 150000", [0] * 150_000),
        ("f(3) == {'a': [1, (2, None)], 'b': {3}}", {"a": [1, (2, None)], "b": {3}}),
    ],
)
def test_an_ordinary_answer_is_computed_with(expression: str, value: object) -> None:
    assert holds(expression, value)


def test_what_the_host_cannot_evaluate_is_left_to_the_sandbox() -> None:
    assert literal_checks("assert len(f(3)) == 2 and sorted(f(3), key=len) == []", "f") is None
    assert literal_checks("assert len(f(3)) % 2 == 0", "f") is None
