"""Rewards that run what the model wrote: tasks with a right and a wrong program, and tricks."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rewardkit.audit._task_tricks import CODE_TRICKS, PROLOG_TRICKS, SQL_TRICKS, Trick

__all__ = ["LAYOUTS", "TASKS", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """One shape in which references come, with programs for it."""

    name: str
    reference: Any
    right: str
    wrong: str
    partial: str
    """Right for the first test alone; empty if there is no such program."""
    nothing: tuple[Any, ...]
    """References without a test."""
    printing: bool = False
    """True if what the program prints is graded."""


_CALL = "def add(a, b):\n    return a + b\n\nf = solve = solution = candidate = add"
_CALL_WRONG = "def add(a, b):\n    return a - b + 77\n\nf = solve = solution = candidate = add"
_CALL_FIRST = "def add(a, b):\n    return 5\n\nf = solve = solution = candidate = add"
_PRINT = "a, b = map(int, input().split())\nprint(a + b)"
_PRINT_WRONG = "a, b = map(int, input().split())\nprint(a - b + 77)"
_PRINT_FIRST = "input()\nprint(5)"
_ASSERTS = ["assert add(2, 3) == 5", "assert add(10, -4) == 6"]
_ROWS = [([2, 3], 5), ([10, -4], 6)]
_LINES = [("2 3\n", "5\n"), ("10 -4\n", "6\n")]


def _call(name: str, reference: Any, *nothing: Any) -> Task:
    return Task(name, reference, _CALL, _CALL_WRONG, _CALL_FIRST, nothing)


def _stdio(name: str, reference: Any, *nothing: Any) -> Task:
    return Task(name, reference, _PRINT, _PRINT_WRONG, _PRINT_FIRST, nothing, printing=True)


def _code_tasks() -> tuple[Task, ...]:
    check = "def check(candidate):\n" + "".join(f"    {a}\n" for a in _ASSERTS).replace(
        "add(", "candidate("
    )
    columns = {"inputs": [a for a, _ in _ROWS], "outputs": [e for _, e in _ROWS]}
    lines = {"inputs": [i for i, _ in _LINES], "outputs": [o for _, o in _LINES]}
    plain = [
        _call("asserts", _ASSERTS, []),
        _call("asserts as one text", "\n".join(_ASSERTS), "", "\n"),
        _call("input and output", [{"input": a, "output": e} for a, e in _ROWS], []),
        _call("args and expected", [{"args": a, "expected": e} for a, e in _ROWS], []),
        _call("inputs and expected", [{"input": a, "expected": e} for a, e in _ROWS], []),
        _call("inputs and expected outputs", [{"input": a, "expected_output": e} for a, e in _ROWS], []),
        _call("pairs", [[a, e] for a, e in _ROWS], []),
        _call("function and columns", {"fn_name": "add", **columns}, {"fn_name": "add", "inputs": [], "outputs": []}),
        _call("entry point and columns", {"entry_point": "add", **columns}, {"entry_point": "add", "inputs": [], "outputs": []}),
        _call("entry and cases", {"format": "call", "entry": "add", "cases": [{"args": a, "expected": e} for a, e in _ROWS]}),
        _call("entry point and tests", {"entry_point": "add", "tests": [{"args": a, "expected": e} for a, e in _ROWS]}, {"entry_point": "add", "tests": []}),
        _call("check function", f"{check}\ncheck(add)"),
        _call("check function alone", check),
        _stdio("lines in columns", lines, {"inputs": [], "outputs": []}),
        _stdio("lines in rows", [{"input": i, "output": o} for i, o in _LINES], []),
        _stdio("lines in pairs", [[i, o] for i, o in _LINES], []),
        _stdio("lines and expected", [{"stdin": i, "expected": o} for i, o in _LINES], []),
        _stdio("lines and stdout", [{"stdin": i, "stdout": o} for i, o in _LINES], []),
        Task("expected output", "5", "print(2 + 3)", "print(2 - 3)", "", (), printing=True),
        Task("value of answer", 5, "answer = result = 2 + 3", "answer = result = 2 - 3", "", ()),
    ]  # fmt: skip
    texts = [
        Task(f"{t.name}, as JSON", json.dumps(t.reference), t.right, t.wrong, t.partial,
             tuple(json.dumps(n) for n in t.nothing), t.printing)
        for t in plain if not isinstance(t.reference, str | int)
    ]  # fmt: skip
    return (*plain, *texts)


_TABLE = "CREATE TABLE t(n INTEGER, m TEXT)"
_SQL = Task("schema and query", {"schema": _TABLE, "sql": "SELECT n FROM t WHERE n >= 5"},
            "SELECT n FROM t WHERE n >= 5", "SELECT n FROM t WHERE n > 50", "", ())  # fmt: skip
_PROLOG = Task(
    "program and queries",
    {"query": "total(X)", "expect": {"type": "answer", "value": 5}},
    "total(X) :- X is 2 + 3.", "total(X) :- X is 2 - 3.", "", (),
)  # fmt: skip

TASKS: dict[str, tuple[Task, ...]] = {
    "code": _code_tasks(),
    "sql": (
        _SQL,
        Task("query alone", "SELECT n FROM t WHERE n >= 5", _SQL.right, _SQL.wrong, "", ()),
    ),
    "prolog": (
        _PROLOG,
        Task("value alone", "5", _PROLOG.right, _PROLOG.wrong, "", ()),
    ),
}
"""By kind, the shapes of references that are tried in turn."""

_LANGUAGE = {"code": "python", "sql": "sql", "prolog": "prolog"}

LAYOUTS: dict[str, Callable[[str, str], str]] = {
    "fenced with its language": lambda kind, p: f"Here it is.\n```{_LANGUAGE[kind]}\n{p}\n```\n",
    "bare": lambda kind, p: p,
    "fenced": lambda kind, p: f"Here it is.\n```\n{p}\n```\n",
    "answer tag": lambda kind, p: f"<think>\nLet us see.\n</think>\n<answer>{p}</answer>",
    "fenced in a tag": lambda kind, p: f"<think>\nLet us see.\n</think>\n<answer>\n```{_LANGUAGE[kind]}\n{p}\n```\n</answer>",
}  # fmt: skip
"""How a completion holds its program."""


TRICKS: dict[str, tuple[Trick, ...]] = {
    "code": CODE_TRICKS,
    "sql": SQL_TRICKS,
    "prolog": PROLOG_TRICKS,
}
"""By kind, programs that must not be paid."""
