"""Rewards that run what the model wrote: tasks with a right and a wrong program, and tricks."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rewardkit.audit._formal_tricks import formal_tricks
from rewardkit.audit._task_tricks import (
    CODE_TRICKS,
    PROLOG_TRICKS,
    SPARQL_TRICKS,
    SQL_TRICKS,
    Trick,
)

__all__ = ["LAYOUTS", "TASKS", "Task", "tricks_of"]


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
    write: Callable[[str], Any] = str
    """How what is asked becomes a reference, for tricks that come with what they are asked."""
    respelled: tuple[str, ...] = ()
    """Right programs of other forms."""


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

_GRAPH = "@prefix : <http://x/> . :oslo :in :norway . :bergen :in :norway . :riga :in :latvia ."
_ASK = "PREFIX : <http://x/> SELECT ?c {{ ?c {} }}"

_PROOFS = {
    "lean": ("theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := by sorry",
             "theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := fun h => ⟨h.2, h.1⟩",
             "theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := by\n  exact h",
             ("theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := by\n  intro h\n  exact ⟨h.2, h.1⟩",
              "theorem other (p q : Prop) : p ∧ q → q := fun h => h.2\n\n"
              "theorem p_swap (p q : Prop) : p ∧ q → q ∧ p := fun h => ⟨other p q h, h.1⟩")),
    "dafny": ("method Max(a: int, b: int) returns (m: int)\n  ensures m >= a && m >= b\n  ensures m == a || m == b\n",
              "method Max(a: int, b: int) returns (m: int)\n  ensures m >= a && m >= b\n  ensures m == a || m == b\n"
              "{ if a < b { m := b; } else { m := a; } }",
              "method Max(a: int, b: int) returns (m: int)\n  ensures m >= a && m >= b\n  ensures m == a || m == b\n{ m := b; }", ()),
    "rocq": ("Theorem plus_comm_two : forall n : nat, n + 2 = 2 + n.",
             "Theorem plus_comm_two : forall n : nat, n + 2 = 2 + n.\n"
             "Proof. induction n as [|n IH]; [reflexivity|]. simpl. rewrite IH. reflexivity. Qed.",
             "Theorem plus_comm_two : forall n : nat, n + 2 = 2 + n.\nProof. intro n. exact I. Qed.", ()),
}  # fmt: skip
"""By system: what is asked, a right proof, a wrong one, right ones of other forms."""

_WRITINGS: dict[str, Callable[[str], Any]] = {
    "statement": lambda s: {"statement": s},
    "statement alone": str,
    "formal statement": lambda s: {"formal_statement": s},
    "statement up to its proof": lambda s: s.replace(" := by sorry", " :=").rstrip(),
    "theorem": lambda s: {"theorem": s},
}


def _formal_tasks(system: str) -> tuple[Task, ...]:
    statement, right, wrong, respelled = _PROOFS[system]
    return tuple(
        Task(name, write(statement), right, wrong, "", (), write=write, respelled=respelled)
        for name, write in _WRITINGS.items()
    )


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
    "sparql": (
        Task(
            "graph and query",
            {"graph": _GRAPH, "sparql": _ASK.format(":in :norway")},
            _ASK.format(":in :norway"),
            _ASK.format(":in :latvia"),
            "",
            (),
        ),
        Task(
            "graph and answers",
            {"graph": _GRAPH, "answers": ["http://x/oslo", "http://x/bergen"]},
            _ASK.format(":in :norway"),
            _ASK.format(":in :latvia"),
            "",
            (),
        ),
    ),
    "lean": _formal_tasks("lean"),
    "dafny": _formal_tasks("dafny"),
    "rocq": _formal_tasks("rocq"),
}
"""By kind, the shapes of references that are tried in turn."""

_LANGUAGE = {
    "code": "python", "sql": "sql", "prolog": "prolog", "lean": "lean4", "dafny": "dafny", "rocq": "coq", "sparql": "sparql",
}  # fmt: skip

LAYOUTS: dict[str, Callable[[str, str], str]] = {
    "fenced with its language": lambda kind, p: f"Here it is.\n```{_LANGUAGE[kind]}\n{p}\n```\n",
    "bare": lambda kind, p: p,
    "fenced": lambda kind, p: f"Here it is.\n```\n{p}\n```\n",
    "answer tag": lambda kind, p: f"<think>\nLet us see.\n</think>\n<answer>{p}</answer>",
    "fenced in a tag": lambda kind, p: f"<think>\nLet us see.\n</think>\n<answer>\n```{_LANGUAGE[kind]}\n{p}\n```\n</answer>",
}  # fmt: skip
"""How a completion holds its program."""


def tricks_of(kind: str) -> tuple[Trick, ...]:
    """Returns the programs of a kind that must not be paid."""
    known = {
        "code": CODE_TRICKS,
        "sql": SQL_TRICKS,
        "prolog": PROLOG_TRICKS,
        "sparql": SPARQL_TRICKS,
    }
    return known[kind] if kind in known else formal_tricks(kind)
