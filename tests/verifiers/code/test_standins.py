"""How far checks believe an object of the program: never where it would learn what to answer."""

from collections.abc import Iterator

import pytest

from rewardkit.verdict import Json, Reason
from rewardkit.verifiers.code import CodeVerifier


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with CodeVerifier(timeout_s=3, languages=()) as made:
        yield made


def grade(
    verifier: CodeVerifier, program: str, checks: list[tuple[str, str]]
) -> list[float | None]:
    references: list[Json] = [{"format": s, "entry": "f", "source": text} for s, text in checks]
    completions = [f"```python\n{program}\n```"] * len(checks)
    return [verdict.score for verdict in verifier.verify_batch(completions, references)]


def unittests(*lines: str) -> tuple[str, str]:
    head = "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n"
    return "unittest", head + "    def test_a(self):\n" + "".join(f"        {n}\n" for n in lines)


def pytests(*lines: str) -> tuple[str, str]:
    return "pytest", "from solution import f\ndef test_a():\n" + "".join(
        f"    {n}\n" for n in lines
    )


def asserts(*lines: str) -> tuple[str, str]:
    return "assert", "\n".join(lines)


CHECKS = [
    asserts("for x in [3]:", "    assert abs(f(x) - 9) < 1e-6"),
    asserts("y = f(3)", "assert not y - 9"),
    asserts("y = f(3)", "assert not y % 9 and not 9 - y"),
    asserts("y = f(3)", "assert divmod(y, 9) == (1, 0)"),
    asserts("import math", "y = f(3)", "assert math.isclose(y, 9)"),
    asserts("import numpy as np", "y = f(3)", "assert np.allclose(y, 9)"),
    asserts("import numpy as np", "assert np.sqrt(((np.array([9.0]) - f(3)) ** 2).sum()) < 1e-6"),
    asserts("y = f(3)", "assert 9 in y"),
    asserts("import operator", "y = f(3)", "assert operator.contains(y, 9)"),
    asserts("y = f(3)", "assert y.startswith('abc')"),
    asserts("y = f(3)", "assert y.issubset({1, 2})"),
    asserts("y = f(3)", "assert y.__eq__(9)"),
    asserts("y = f(3)", "assert y in {9} or y in [9]"),
    asserts("y = f(3)", "assert len(y) == 3", "for a, b in zip(y, [1, 2, 3]): assert a == b"),
    asserts("y = f(3)", "assert len(y) == 3 and set(y) <= {1, 2}"),
    asserts("y = f(3)", "assert len(y) == 3", "for i in range(len(y)): assert y[i] == i"),
    unittests("self.assertAlmostEqual(f(3), 9)"),
    unittests("self.assertAlmostEqual(9, f(3), delta=0.1)"),
    unittests("self.assertIn(9, f(3))"),
    unittests("self.assertCountEqual(f(3), [9])"),
    unittests("self.assertSequenceEqual(f(3), [1, 2, 3])"),
    pytests("import pytest", "assert f(3) == pytest.approx(9)"),
    pytests("import pytest", "assert f(3) == pytest.approx([9, 8])"),
]
NUMBER = """
class Z:
    def __sub__(self, other): return {result}
    __rsub__ = __add__ = __mul__ = __mod__ = __pow__ = __sub__
    def __divmod__(self, other): return (1, 0)
    def __abs__(self): return 0
    def __round__(self, digits=None): return 0
    def __float__(self): return 0.0
    def __hash__(self): return 9
    def __eq__(self, other): return True
    def __contains__(self, item): return True
    def startswith(self, *_): return True
    issubset = startswith
    def sqrt(self): return 0.0
    def sum(self): return 0.0
"""
LIST = """
class L:
    told = 0
    def __len__(self):
        self.told += 1
        return {length}
    def __iter__(self): return iter(())
    def __getitem__(self, i): raise IndexError
def f(x): return L()
"""
LIARS = {
    "differs by a plain 0": NUMBER.format(result="0") + "def f(x): return Z()",
    "differs by another liar": NUMBER.format(result="Z()") + "def f(x): return Z()",
    "is made by calling it": NUMBER.format(result="0")
    + "class f(Z):\n    def __init__(s, x): pass",
    "is long and empty": LIST.format(length="3"),
    "is long and its own end": LIST.format(length="3")
    .replace("return iter(())", "return self")
    .replace("def f", "    def __next__(self): raise StopIteration\ndef f"),
    "is long once": LIST.format(length="3 if self.told == 1 else 0"),
}


@pytest.mark.parametrize("liar", LIARS)
def test_an_object_that_agrees_to_everything_passes_nothing(
    verifier: CodeVerifier, liar: str
) -> None:
    scores = grade(verifier, LIARS[liar], CHECKS)
    assert [check for check, score in zip(CHECKS, scores, strict=True) if score != 0.0] == []


NAN_CHECKS = [
    asserts("assert not f(3) > 9"),
    asserts("assert max(1, f(3)) < 2"),
    asserts("for x in [3]:", "    assert not abs(f(x) - 9) > 1e-6"),
    asserts("y = f(3)", "assert max([0.0, abs(y - 9)]) < 1e-6"),
    asserts("y = f(3)", "if abs(y - 9) > 1e-6: raise ValueError"),
    unittests("self.assertFalse(abs(f(3) - 9) > 1e-6)"),
    unittests("self.assertAlmostEqual(f(3), 9, delta=1)"),
]


def test_nan_is_neither_above_nor_below_a_bound(verifier: CodeVerifier) -> None:
    scores = grade(verifier, "def f(x): return float('nan')", NAN_CHECKS)
    assert scores == [0.0] * len(NAN_CHECKS)


def test_nan_is_still_nan(verifier: CodeVerifier) -> None:
    check = pytests(
        "import math, pytest",
        "y = f(-1)",
        "assert math.isnan(y) and y != y and str(abs(y - 1)) == 'nan'",
        "assert y == pytest.approx(math.nan, nan_ok=True)",
    )
    program = "def f(x): return float('nan') if x < 0 else x"
    assert grade(verifier, program, [check]) == [1.0]


def test_a_disbelieved_object_is_a_mismatch_not_a_crash(verifier: CodeVerifier) -> None:
    style, source = CHECKS[0]
    reference: Json = {"format": style, "entry": "f", "source": source}
    program = f"```python\n{LIARS['differs by a plain 0']}\n```"
    verdict = verifier.verify(program, reference)
    assert (verdict.score, verdict.reason) == (0.0, Reason.MISMATCH)
    assert "return a plain value" in verdict.detail


VECTOR = """
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __mul__(self, k): return Vector(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __matmul__(self, other): return self.x * other.x + self.y * other.y
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
    def __iter__(self): return iter((self.x, self.y))
    def __len__(self): return 2
    def __contains__(self, value): return value in (self.x, self.y)
    def __getitem__(self, i): return (self.x, self.y)[i]
"""
STACK = """
class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(list(self.items))
def f(): return Stack()
"""
HONEST = {
    "operators of a class that is asked for by name": (
        VECTOR,
        "from solution import Vector\nv = Vector(3, 4)\nassert v + Vector(1, 1) == Vector(4, 5)\n"
        "assert 2 * v == v * 2 == Vector(6, 8) and (v * 2).x == 6\n"
        "assert abs(v) == 5 and abs(abs(v * 2) - 10) < 1e-9 and v @ v == 25\n"
        "assert list(v) == [3, 4] and len(v) == 2 and v[1] == 4 and 3 in v and 9 not in v\n",
    ),
    "a container that changes between looks": (
        STACK,
        "s = f()\nassert len(s) == 0 and list(s) == []\ns.push(1)\ns.push(2)\n"
        "assert len(s) == 2 and list(s) == [1, 2] and 2 in s and 3 not in s\n"
        "assert s.pop() == 2 and len(s) == 1 and list(s) == [1]\n",
    ),
    "a generator": (
        "def f(n): yield from range(n)",
        "import types\nassert isinstance(f(3), types.GeneratorType) and next(f(3)) == 0\n"
        "assert list(f(3)) == [0, 1, 2] and 2 in f(3) and sum(f(4)) == 6\n",
    ),
    "an array": (
        "import numpy as np\ndef f(x): return np.array(x) * 2.0",
        "import numpy as np\nnp.testing.assert_allclose(f([1, 2]), [2, 4])\n",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_objects_are_what_they_are(verifier: CodeVerifier, name: str) -> None:
    program, source = HONEST[name]
    assert grade(verifier, program, [("assert", source)]) == [1.0]


def test_memory_is_not_read_at_an_address_that_the_program_names(verifier: CodeVerifier) -> None:
    program = (
        "class A:\n    @property\n    def __array_interface__(self):\n"
        "        return {'shape': (8,), 'typestr': '|u1', 'data': (8, True), 'version': 3}\n"
        "def f(x): return A()"
    )
    check = asserts("import numpy as np", "a = np.asarray(f(3))", "assert a.shape == (8,)")
    assert grade(verifier, program, [check]) == [0.0]
