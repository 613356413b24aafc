"""Checks that are code: what of them ran, what they may believe, what they may not be told."""

from collections.abc import Iterator

import pytest

from rewardkit.errors import EngineMissingError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.code import CodeVerifier

UNITTEST = "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n"
PYTEST = "from solution import f\n"
IDENTITY = "def f(x): return x"


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with CodeVerifier(timeout_s=3, languages=()) as made:
        yield made


def grade(verifier: CodeVerifier, program: str, style: str, source: str) -> Verdict:
    reference: Json = {"format": style, "entry": "f", "source": source}
    return verifier.verify(f"```python\n{program}\n```", reference)


UNCALLED = [
    ("assert", "for x in []:\n    assert f(x) == 1"),
    ("unittest", UNITTEST + "    def test_a(self): pass"),
    ("pytest", PYTEST + "def test_a(): pass"),
    ("pytest", "def test_a(): assert True"),
]


@pytest.mark.parametrize(("style", "source"), UNCALLED)
def test_checks_that_never_call_the_program_prove_nothing(
    verifier: CodeVerifier, style: str, source: str
) -> None:
    verdict = grade(verifier, IDENTITY, style, source)
    assert (verdict.score, verdict.reason) == (0.0, Reason.UNPROVED), verdict


def test_a_plain_value_of_the_program_counts_as_a_call(verifier: CodeVerifier) -> None:
    source = "from solution import answer\ndef test_a(): assert answer == 42"
    assert grade(verifier, "answer = 42", "pytest", source).passed
    assert grade(verifier, "answer = 41", "pytest", source).score == 0.0


FIXTURES = (
    "import unittest\nfrom solution import f\n"
    "def setUpModule():\n    global y\n    y = 4\n"
    "class T(unittest.TestCase):\n"
    "    @classmethod\n    def setUpClass(cls): cls.x = 3\n"
    "    def test_a(self): self.assertEqual([f(self.x), f(y)], [3, 4])\n"
)


def test_classes_and_modules_are_prepared_as_unittest_does(verifier: CodeVerifier) -> None:
    verdict = grade(verifier, IDENTITY, "unittest", FIXTURES)
    assert verdict.passed, verdict
    assert verdict.parts == {"passed": 1.0, "test_0": 1.0}
    assert grade(verifier, "def f(x): return 3", "unittest", FIXTURES).score == 0.0


def test_asynchronous_tests_run(verifier: CodeVerifier) -> None:
    source = (
        "import unittest\nfrom solution import f\nclass T(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_a(self): self.assertEqual(await f(3), 3)"
    )
    assert grade(verifier, "async def f(x): return x", "unittest", source).passed
    assert grade(verifier, "async def f(x): return 4", "unittest", source).score == 0.0


FAILING = "    @classmethod\n    def {}(cls): assert f(1) == 2\n    def test_a(self): f(3)"
UNPROVED_SUITES = {
    "class set-up fails": UNITTEST + FAILING.format("setUpClass"),
    "class tear-down fails": UNITTEST + FAILING.format("tearDownClass"),
    "module set-up fails": UNITTEST + "    def test_a(self): f(3)\n"
    "def setUpModule(): assert f(1) == 2",
    "module set-up skips": UNITTEST + "    def test_a(self): f(3)\n"
    "def setUpModule():\n    f(1)\n    raise unittest.SkipTest('no')",
    "a skip without a word": UNITTEST + "    def test_a(self): f(3)\n"
    "    @unittest.skip('')\n    def test_b(self): f(3)",
    "an expected failure": UNITTEST + "    def test_a(self): f(3)\n"
    "    @unittest.expectedFailure\n    def test_b(self): assert f(3) == 4",
    "an unexpected success": UNITTEST + "    def test_a(self): f(3)\n"
    "    @unittest.expectedFailure\n    def test_b(self): f(3)",
    "a part fails": UNITTEST + "    def test_a(self):\n"
    "        with self.subTest('first'): assert f(3) == 4\n",
}


@pytest.mark.parametrize("name", UNPROVED_SUITES)
def test_what_did_not_run_to_its_end_has_not_passed(verifier: CodeVerifier, name: str) -> None:
    verdict = grade(verifier, IDENTITY, "unittest", UNPROVED_SUITES[name])
    assert verdict.score == 0.0, verdict


STARRED = [
    ("assert", "from solution import *\nassert all(f(x) == x * x for x in range(5))"),
    (
        "unittest",
        "import unittest\nfrom solution import *\nclass T(unittest.TestCase):\n"
        "    def test_a(self): self.assertTrue(all([f(x) == x * x for x in range(5)]))",
    ),
    (
        "pytest",
        "from math import isclose\nfrom solution import *\n"
        "def test_a():\n    for x in range(5): assert isclose(f(x), x * x)",
    ),
]


@pytest.mark.parametrize(("style", "source"), STARRED)
def test_a_star_import_replaces_nothing_that_the_checks_have(
    verifier: CodeVerifier, style: str, source: str
) -> None:
    own = "import unittest\ndef all(x): return True\ndef isclose(a, b): return True\n"
    assert grade(verifier, own + IDENTITY, style, source).score == 0.0
    assert grade(verifier, own + "def f(x): return x * x", style, source).passed


MISSING = [
    ("pytest", "import no_such_module\n" + PYTEST + "def test_a(): assert f(1) == 1"),
    ("pytest", PYTEST + "def test_a():\n    import no_such_module\n    assert f(1) == 1"),
    ("unittest", UNITTEST + "    def test_a(self):\n        import no_such_module\n        f(1)"),
]


@pytest.mark.parametrize(("style", "source"), MISSING)
def test_a_missing_module_of_the_checks_is_never_the_programs_fault(
    verifier: CodeVerifier, style: str, source: str
) -> None:
    with pytest.raises(EngineMissingError, match="no_such_module"):
        grade(verifier, IDENTITY, style, source)


def test_a_missing_module_of_the_program_is_its_own_fault(verifier: CodeVerifier) -> None:
    program = "def f(x):\n    import no_such_module"
    for style, source in [
        ("pytest", PYTEST + "def test_a(): assert f(1) == 1"),
        ("unittest", UNITTEST + "    def test_a(self): self.assertEqual(f(1), 1)"),
    ]:
        assert grade(verifier, program, style, source).score == 0.0


def test_a_set_of_the_programs_own_is_not_told_what_is_expected(verifier: CodeVerifier) -> None:
    cheat = (
        "class A:\n"
        "    def difference(self, other):\n        self.other = other\n        return set()\n"
        "    def __iter__(self): return iter(self.other)\n"
        "def f(x): return A()"
    )
    source = UNITTEST + "    def test_a(self): self.assertSetEqual(f(3), {9})"
    assert grade(verifier, cheat, "unittest", source).score == 0.0
    assert grade(verifier, "def f(x): return {x * x}", "unittest", source).passed


CAPTURED = {
    "capsys": (
        "import sys\ndef f(x):\n    print('hello', x)\n    print('oh', file=sys.stderr)",
        PYTEST + "def test_a(capsys):\n    f(3)\n    seen = capsys.readouterr()\n"
        "    assert (seen.out, seen.err) == ('hello 3\\n', 'oh\\n')",
    ),
    "redirect_stdout": (
        "def f(x): print('hello', x)",
        "import io\nfrom contextlib import redirect_stdout\n" + PYTEST + "def test_a():\n"
        "    with redirect_stdout(io.StringIO()) as seen: f(3)\n"
        "    assert seen.getvalue() == 'hello 3\\n'",
    ),
    "input": (
        "def f(): return int(input('a? ')) + int(input())",
        PYTEST + "def test_a(monkeypatch):\n    given = iter(['3', '4'])\n"
        "    monkeypatch.setattr('builtins.input', lambda prompt='': next(given))\n"
        "    assert f() == 7",
    ),
    "standard input": (
        "import sys\ndef f(): return [int(x) for x in sys.stdin], sys.stdin.read()",
        "import io\n" + PYTEST + "def test_a(monkeypatch):\n"
        "    monkeypatch.setattr('sys.stdin', io.StringIO('3\\n4\\n'))\n"
        "    assert f() == ([3, 4], '')",
    ),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_checks_see_what_is_printed_and_give_what_is_read(
    verifier: CodeVerifier, name: str
) -> None:
    program, source = CAPTURED[name]
    verdict = grade(verifier, program, "pytest", source)
    assert verdict.passed, verdict
    assert grade(verifier, "def f(*_): return 0", "pytest", source).score == 0.0


def test_a_flood_of_output_is_cut_off_and_harms_nobody(verifier: CodeVerifier) -> None:
    program = "def f(x):\n    for _ in range(99): print('y' * (1 << 20))\n    return x"
    assert grade(verifier, program, "pytest", PYTEST + "def test_a(): assert f(1) == 1").passed


def test_an_exit_may_be_expected_and_is_no_pass_otherwise(verifier: CodeVerifier) -> None:
    program = "import sys\ndef f(x):\n    if x < 0: sys.exit(2)\n    return x"
    expected = (
        "import pytest\n" + PYTEST + "def test_a():\n"
        "    with pytest.raises(SystemExit) as stop: f(-1)\n    assert stop.value.code == 2"
    )
    assert grade(verifier, program, "pytest", expected).passed
    for style, source in [
        ("assert", "f(-1)\nassert True"),
        ("unittest", UNITTEST + "    def test_a(self): f(-1)"),
        ("pytest", PYTEST + "def test_a(): f(-1)"),
        ("pytest", PYTEST + "f(-1)\ndef test_a(): assert f(1) == 1"),
    ]:
        assert grade(verifier, program, style, source).score == 0.0, source


def test_an_error_that_is_expected_counts_as_a_call(verifier: CodeVerifier) -> None:
    source = "import pytest\n" + PYTEST + "def test_a():\n    with pytest.raises(KeyError): f(1)"
    assert grade(verifier, "def f(x): return {}[x]", "pytest", source).passed
    assert grade(verifier, "def f(x): return x", "pytest", source).score == 0.0
