"""The verifier as a caller sees it: formats, policies, reasons, batches."""

# ruff: noqa: E501 - the programs are one-liners

import asyncio
import gzip
import json
import os
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.errors import ConfigError, EngineMissingError, InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.code.outcome import Outcome
from rewardkit.verifiers.code.reference import read_reference
from rewardkit.verifiers.code.settings import Settings
from tests._needs import needs

SQUARE = "```python\ndef f(x):\n    return x * x\n```"
CALL: Json = {
    "format": "call",
    "entry": "f",
    "cases": [{"args": [2], "expected": 4}, {"args": [3], "expected": 9}],
}
ECHO: Json = {"format": "stdio", "cases": [{"input": "a\n", "output": "a\n"}]}


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with CodeVerifier(timeout_s=3, languages=()) as made:
        yield made


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


def test_a_right_program_has_every_test_in_its_parts(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(SQUARE, CALL)
    assert verdict.passed
    assert verdict.parts == {"passed": 1.0, "test_0": 1.0, "test_1": 1.0}
    assert verdict.evidence["isolation"] == "namespaces"
    assert verdict.answer == "def f(x):\n    return x * x\n"
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_half_a_program_is_worth_nothing_or_half(verifier: CodeVerifier) -> None:
    program = fenced("def f(x): return 4")
    verdict = verifier.verify(program, CALL)
    assert (verdict.score, verdict.reason, verdict.parts["passed"]) == (0.0, Reason.MISMATCH, 0.5)
    with CodeVerifier(policy="fraction", languages=()) as lenient:
        verdict = lenient.verify(program, CALL)
    assert (verdict.score, verdict.reason) == (0.5, Reason.PARTIAL)


HANGS_AT_1 = "def f(x):\n    while x == 1: pass\n    return x"
COUNT: Json = {
    "format": "call",
    "entry": "f",
    "cases": [{"args": [x], "expected": x} for x in range(4)],
}
COUNT_STDIO: Json = {
    "format": "stdio",
    "cases": [{"input": f"{x}\n", "output": f"{x}\n"} for x in range(4)],
}


@pytest.mark.parametrize("reference", [COUNT, COUNT_STDIO], ids=["call", "stdio"])
def test_a_time_out_settles_the_verdict_where_every_test_has_to_pass(reference: Any) -> None:
    calls = "" if reference is COUNT else "\nprint(f(int(input())))"
    program = fenced(HANGS_AT_1 + calls)
    with CodeVerifier(timeout_s=0.5, languages=()) as strict:
        verdict = strict.verify(program, reference)
    assert (verdict.score, verdict.reason) == (0.0, Reason.TIMEOUT)
    assert verdict.parts == {
        "passed": 0.25, "test_0": 1.0, "test_1": 0.0, "test_2": 0.0, "test_3": 0.0,
    }  # fmt: skip
    assert "1/4 tests passed, 2 not run; test 1" in verdict.detail


@pytest.mark.parametrize(
    ("policy", "reason", "settled"),
    [
        ("all", Reason.TIMEOUT, True),
        ("all", Reason.MISMATCH, False),
        ("first_failure", Reason.MISMATCH, True),
        ("first_failure", Reason.ENGINE_FAILURE, False),
        ("fraction", Reason.TIMEOUT, False),
        ("fraction", Reason.MISMATCH, False),
    ],
)
def test_what_settles_a_verdict(policy: str, reason: Reason, settled: bool) -> None:
    settings = Settings(policy=policy)
    assert settings.settles(Outcome(False, reason)) is settled
    assert not settings.settles(Outcome(True, Reason.MATCH))


def test_other_failures_do_not_end_the_tests(verifier: CodeVerifier) -> None:
    verdict = verifier.verify(fenced("def f(x):\n    return x if x != 1 else 1 / 0"), COUNT)
    assert verdict.parts["passed"] == 0.75


def test_after_the_first_failure_nothing_runs_if_asked() -> None:
    with CodeVerifier(policy="first_failure", languages=()) as verifier:
        verdict = verifier.verify(fenced("def f(x): return x * 3"), CALL)
    assert (verdict.score, verdict.parts) == (0.0, {"passed": 0.0, "test_0": 0.0, "test_1": 0.0})


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def f(x): return x", Reason.MISMATCH),
        ("def g(x): return x", Reason.CRASH),
        ("def f(x:", Reason.CRASH),
        ("def f(x): return 1 // 0", Reason.CRASH),
        ("def f(x):\n    while True: pass", Reason.TIMEOUT),
        ("def f(x): return bytearray(1 << 40)", Reason.MEMORY),
        ("def f(x): return object()", Reason.MISMATCH),
        ("def f(x): print('x' * (1 << 25)); return x * x", Reason.OUTPUT_LIMIT),
        ("import os\ndef f(x): os._exit(0)", Reason.CRASH),
        ("import os\ndef f(x): os.abort()", Reason.CRASH),
    ],
)
def test_each_failure_has_its_reason(verifier: CodeVerifier, program: str, reason: Reason) -> None:
    verdict = verifier.verify(fenced(program), CALL)
    assert (verdict.score, verdict.reason) == (0.0, reason), verdict


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        ("", Reason.NO_ANSWER),
        (None, Reason.NO_ANSWER),
        ("```rust\nfn main() {}\n```", Reason.NO_ANSWER),
        ("<think>hmm", Reason.TRUNCATED),
        ("```python\ndef f(x):", Reason.TRUNCATED),
        ("I cannot solve this, sorry.", Reason.CRASH),
        ("```python\n" + "x" * 2_000_000 + "\n```", Reason.SIZE_LIMIT),
        ("```python\n\ud800\n```", Reason.CRASH),
        ("```python\n\0\n```", Reason.CRASH),
        ("```python\n" + "(" * 50_000 + "\n```", Reason.CRASH),
    ],
)
def test_any_completion_gets_a_verdict(
    verifier: CodeVerifier, completion: str | None, reason: Reason
) -> None:
    verdict = verifier.verify(completion, CALL)
    assert (verdict.score, verdict.reason) == (0.0, reason), verdict.detail
    assert len(verdict.detail) < 1000


STYLES = {
    "class Solution": "class Solution:\n    def f(self, x): return x * x",
    "coroutine": "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x * x",
    "lambda": "f = lambda x: x * x",
    "recursion": "def f(x, n=900): return f(x, n - 1) if n else x * x",
    "threads": "from concurrent.futures import ThreadPoolExecutor as P\n"
    "def f(x):\n    with P(3) as p: return list(p.map(lambda y: y * y, [x] * 3))[0]",
    "numpy": "import numpy as np\ndef f(x): return np.square(np.array([x]))[0]",
    "prints": "def f(x):\n    print('debugging', x)\n    return x * x",
    "class with state": "class F:\n    def __call__(self, x): return x * x\nf = F()",
}


@pytest.mark.parametrize("style", STYLES)
def test_programs_of_every_style_pass(verifier: CodeVerifier, style: str) -> None:
    if style == "numpy":
        needs("numpy")
    verdict = verifier.verify(fenced(STYLES[style]), CALL)
    assert verdict.passed, verdict


def test_a_generator_matches_the_list_of_its_items(verifier: CodeVerifier) -> None:
    reference = {"format": "call", "entry": "f", "cases": [{"args": [3], "expected": [0, 1, 2]}]}
    assert verifier.verify(fenced("def f(n): yield from range(n)"), reference).passed


def test_keyword_arguments_are_passed(verifier: CodeVerifier) -> None:
    cases = [{"args": [1], "kwargs": {"b": 2}, "expected": [1, 2]}]
    reference = {"format": "call", "entry": "f", "cases": cases}
    assert verifier.verify(fenced("def f(a, *, b): return a, b"), reference).passed


def test_a_crash_costs_one_test_and_the_rest_still_run(verifier: CodeVerifier) -> None:
    program = "import os\ndef f(x):\n    if x == 2: os._exit(3)\n    return x * x"
    verdict = verifier.verify(fenced(program), CALL)
    assert verdict.parts == {"passed": 0.5, "test_0": 0.0, "test_1": 1.0}


def test_fresh_processes_share_no_state() -> None:
    program = fenced("n = 0\ndef f(x):\n    global n\n    n += 1\n    return n")
    cases = [{"args": [0], "expected": 1}] * 3
    reference: Json = {"format": "call", "entry": "f", "cases": cases}
    with CodeVerifier(fresh_process=True, languages=()) as verifier:
        assert verifier.verify(program, reference).passed


def test_stdio_needs_a_clean_exit_unless_told_otherwise(verifier: CodeVerifier) -> None:
    program = fenced("print(input())\nraise SystemExit(3)")
    assert verifier.verify(program, ECHO).reason is Reason.CRASH
    lenient = {**ECHO, "ignore_exit_code": True}  # type: ignore[dict-item]
    assert verifier.verify(program, lenient).passed


@pytest.mark.parametrize(
    ("compare", "output"),
    [("exact", "2 1\n"), ("tokens", "2\n1"), ("float", "2.0000001 1"), ("unordered", "2 1")],
)
def test_comparison_modes(verifier: CodeVerifier, compare: str, output: str) -> None:
    cases = [{"input": "", "output": "2 1\n"}]
    reference: Json = {"format": "stdio", "cases": cases, "compare": compare}
    assert verifier.verify(fenced(f"print({output!r}, end='')"), reference).passed


CHECKS = {
    "assert": "xs = [3, 1]\nassert f(xs) is None\nassert xs == [1, 3]",
    "unittest": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n"
    "    def test_a(self):\n        xs = [3, 1]\n        f(xs)\n        self.assertEqual(xs, [1, 3])\n"
    "unittest.main()",
    "pytest": "from solution import f\ndef test_a():\n    xs = [3, 1]\n    f(xs)\n    assert xs == [1, 3]",
}


@pytest.mark.parametrize("style", CHECKS)
def test_checks_call_the_program_through_stand_ins(verifier: CodeVerifier, style: str) -> None:
    reference: Json = {"format": style, "entry": "f", "source": CHECKS[style]}
    assert verifier.verify(fenced("def f(xs): xs.sort()"), reference).passed
    wrong = verifier.verify(fenced("def f(xs): xs.reverse()\nf([1])"), reference)
    assert wrong.passed  # two items: reversing sorts them
    assert verifier.verify(fenced("def f(xs): pass"), reference).score == 0.0
    assert verifier.verify(fenced("import os\ndef f(xs): os._exit(0)"), reference).score == 0.0


CHEATS = {
    "equal to everything": "class A:\n    def __eq__(s, o): return True\n    __lt__ = __gt__ = __le__ = __ge__ = __eq__\n"
    "    __hash__ = None\ndef f(x): return A()",
    "raises the test framework's skip": "import unittest\ndef f(x): raise unittest.SkipTest('no')",
    "raises what passes for success": "def f(x): raise SystemExit(0)",
    "leaves": "import os\ndef f(x): os._exit(0)",
    "writes to every descriptor": "import os\ndef f(x):\n    for d in range(3, 64):\n        try: os.write(d, b'\\x02\\0\\0\\0{}')\n        except OSError: pass",
    "closes its channel": "import os\ndef f(x): os.closerange(3, 64)",
    "answers ahead": "import os, json\nm = json.dumps({'v': 9}).encode()\nos.write(4, len(m).to_bytes(4, 'little') + m)\ndef f(x): return 0",
    "a string that claims": "class S(str):\n    def __eq__(s, o): return True\n    __hash__ = str.__hash__\ndef f(x): return S('?')",
    "an endless reply": "class A:\n    def __iter__(s): return s\n    def __next__(s): return 1\n    def __len__(s): return 9\ndef f(x): return A()",
}


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize(
    ("style", "source"),
    [
        ("call", ""),
        ("assert", "y = f(3)\nassert y == 9\nassert f(4) == 16"),
        ("assert", "y = [f(3)]\nassert 9 in y and y[0] > 8 and not y[0] != 9"),
        (
            "unittest",
            "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(s): s.assertEqual(f(3), 9)",
        ),
    ],
    ids=["call", "assert", "inside", "unittest"],
)
def test_cheats_fail_in_every_format(
    verifier: CodeVerifier, cheat: str, style: str, source: str
) -> None:
    reference = CALL if style == "call" else {"format": style, "entry": "f", "source": source}
    verdict = verifier.verify(fenced(CHEATS[cheat]), reference)
    assert verdict.score == 0.0, verdict


BAD_REFERENCES: list[Json] = [
    None,
    "f(1) == 1",
    {},
    {"format": "guess"},
    {"format": "call", "entry": "f", "cases": []},
    {"format": "call", "cases": [{"args": [], "expected": 1}]},
    {"format": "call", "entry": "f", "cases": [{"args": []}]},
    {"format": "call", "entry": "f", "cases": [{"args": 3, "expected": 1}]},
    {"format": "call", "entry": "f", "cases": [{"args": [], "expected": 1}], "language": "c"},
    {"format": "stdio", "cases": [{"input": 1, "output": ""}]},
    {"format": "stdio", "cases": [{"input": "", "output": ""}], "compare": "loosely"},
    {"format": "stdio", "cases": [{"input": "", "output": ""}], "tolerance": 2},
    {"format": "assert", "entry": "f", "source": "assert f("},
    {"format": "assert", "entry": "f", "source": "f(1)"},
    {"format": "assert", "source": "def check(c):\n    assert c(1)"},
    {"test_list": []},
]


@pytest.mark.parametrize("reference", BAD_REFERENCES, ids=lambda r: json.dumps(r)[:60])
def test_a_reference_that_cannot_be_read_raises(verifier: CodeVerifier, reference: Json) -> None:
    with pytest.raises(InvalidReferenceError):
        verifier.verify(SQUARE, reference)


def test_bad_options_are_refused() -> None:
    for options in (
        {"policy": "most"},
        {"timeout_s": 0},
        {"wall_s": -1},
        {"memory_bytes": 0},
        {"languages": ("cobol",)},
        {"workers": 0},
        {"isolation": "maybe"},
    ):
        with pytest.raises(ConfigError):
            CodeVerifier(**options)  # type: ignore[arg-type]


def test_a_batch_keeps_its_order_and_runs_equal_programs_once(verifier: CodeVerifier) -> None:
    stamp = fenced("import os\nprint(os.urandom(8).hex())")
    reference: Json = {"format": "stdio", "cases": [{"input": "", "output": "x"}]}
    completions = [SQUARE, stamp, "", stamp, fenced("def f(x): return 0"), stamp]
    references = [CALL, reference, CALL, reference, CALL, reference]
    verdicts = verifier.verify_batch(completions, references)
    assert [v.score for v in verdicts] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert len({verdicts[i].detail for i in (1, 3, 5)}) == 1


def test_the_verifier_is_async_picklable_and_reusable(verifier: CodeVerifier) -> None:
    assert asyncio.run(verifier.averify(SQUARE, CALL)).passed
    copy = pickle.loads(pickle.dumps(verifier))
    assert copy.verify(SQUARE, CALL).passed
    copy.close()
    assert copy.verify(SQUARE, CALL).passed
    copy.close()


def test_warnings_name_tasks_that_a_constant_solves(verifier: CodeVerifier) -> None:
    case = {"args": [1], "expected": 1}
    one: Json = {"format": "call", "entry": "f", "cases": [case]}
    same: Json = {"format": "call", "entry": "f", "cases": [case, {"args": [2], "expected": 1}]}
    assert verifier.check_reference(one)
    assert verifier.check_reference(same)
    assert verifier.check_reference(CALL) == []


@pytest.mark.parametrize(
    ("program", "signal"),
    [
        ("def f(x):\n    return {2: 4444, 3: 9999}[x]", "hard_coded"),
        ("open('conftest.py', 'w')\ndef f(x): return x", "test_tampering"),
        ("import sys\ndef f(x): return sys._getframe(1).f_locals", "introspection"),
        ("import os\nos._exit(0)", "early_exit"),
        (
            "class A:\n    def __eq__(self, o): return True\ndef f(x): return A()",
            "comparison_override",
        ),
        (
            "import socket\ntry: socket.socket()\nexcept OSError: pass\ndef f(x): return x",
            "denied_calls",
        ),
    ],
)
def test_signals_stand_beside_the_score(verifier: CodeVerifier, program: str, signal: str) -> None:
    cases = [{"args": [2], "expected": 4444}, {"args": [3], "expected": 9999}]
    reference: Json = {"format": "call", "entry": "f", "cases": cases}
    verdict = verifier.verify(fenced(program), reference)
    signals = verdict.evidence["signals"]
    assert isinstance(signals, list)
    assert signal in signals
    assert "signals" not in verifier.verify(SQUARE, CALL).evidence


def test_checks_that_need_what_is_not_installed_are_the_installations_fault(
    verifier: CodeVerifier,
) -> None:
    source = "import no_such_module\nassert f(2) == no_such_module.four"
    reference: Json = {"format": "assert", "entry": "f", "source": source}
    with pytest.raises(EngineMissingError, match="no_such_module"):
        verifier.verify(SQUARE, reference)
    raising = fenced("def f(x): raise ModuleNotFoundError('math', name='math')")
    reference = {"format": "assert", "entry": "f", "source": "y = f(2)\nassert y == 4"}
    assert verifier.verify(raising, reference).score == 0.0


def test_an_entry_may_be_named_like_a_module(verifier: CodeVerifier) -> None:
    source = "y = copy([1])\nassert y == [1, 1]"
    reference: Json = {"format": "assert", "entry": "copy", "source": source}
    assert verifier.verify(fenced("def copy(xs): return xs * 2"), reference).passed


def test_a_list_made_to_collide_does_not_hold_up_the_judge(verifier: CodeVerifier) -> None:
    reference: Json = {"format": "assert", "entry": "f", "source": "assert set(f(1)) == {1}"}
    program = fenced("def f(x): return [(2**61 - 1) * i + 1 for i in range(100_000)]")
    assert verifier.verify(program, reference).score == 0.0


def test_a_program_made_for_slow_searches_does_not_hold_up_the_judge(
    verifier: CodeVerifier,
) -> None:
    for text in ("def __eq__(" * 20_000, "def __eq__(a):" + "\n" * 190_000, "sys.exit(" * 20_000):
        assert verifier.verify(fenced(text), CALL).score == 0.0


def test_a_helper_of_the_prompt_is_the_checks_own(verifier: CodeVerifier) -> None:
    row = {
        "prompt": "def twice(x):\n    return 2 * x\n\ndef half(x):\n    '''Undo twice.'''\n",
        "test": "def check(candidate):\n    for i in range(9):\n        assert twice(candidate(2 * i)) == 2 * i\n",
        "entry_point": "half",
    }
    assert verifier.verify(fenced("def half(x):\n    return x // 2"), row).passed
    cheat = "class Any:\n    def __eq__(s, o): return True\ndef twice(x): return Any()\ndef half(x): return 0"
    assert verifier.verify(fenced(cheat), row).score == 0.0


def shared_rows(name: str) -> list[dict[str, Any]]:
    root = Path(os.environ.get("REWARDKIT_SHARED", Path(__file__).parents[4] / "shared"))
    path = root / "data" / "code" / name
    if not path.exists():
        pytest.skip(f"{name} is not here; set REWARDKIT_SHARED")
    data = path.read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HumanEval.jsonl.gz", "mbpp.jsonl"])
def test_published_solutions_pass_and_altered_ones_fail(name: str) -> None:
    rows = shared_rows(name)
    programs = [row.get("code") or row["prompt"] + row["canonical_solution"] for row in rows]
    altered = [
        re.sub(r"^(\s+)return\b.*$", r'\1return "altered"', p, flags=re.MULTILINE) for p in programs
    ]
    with CodeVerifier(languages=()) as verifier:
        good = verifier.verify_batch([fenced(p) for p in programs], rows)
        assert [row["task_id"] for row, v in zip(rows, good, strict=True) if not v.passed] == []
        bad = verifier.verify_batch([fenced(p) for p in altered], rows)
    for row, program, other, verdict in zip(rows, programs, altered, bad, strict=True):
        assert program == other or verdict.score == 0.0, (row["task_id"], verdict)


def test_rows_are_read_as_they_are() -> None:
    task = read_reference({"test_list": ["assert f(1) == 2", "assert f(2) == (3, {4})"]})
    assert (task.format, task.entry, task.count) == ("call", "f", 2)
