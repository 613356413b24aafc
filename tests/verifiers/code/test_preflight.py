"""Tasks are tried before training."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewardkit.cli import app
from rewardkit.errors import DataError
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.code.preflight import preflight

SOUND = {
    "id": "square",
    "solution": "def f(x): return x * x",
    "reference": {
        "format": "call",
        "entry": "f",
        "cases": [{"args": [2], "expected": 4}, {"args": [3], "expected": 9}],
    },
}
WRONG_GOLD = {**SOUND, "id": "wrong", "solution": "def f(x): return x + x"}
CONSTANT = {
    "id": "constant",
    "solution": "print('YES')",
    "reference": {"format": "stdio", "cases": [{"input": "1", "output": "YES\n"}]},
}
UNREADABLE = {"id": "unreadable", "solution": "", "reference": {"format": "call"}}
ROW = {
    "task_id": 2,
    "code": "def similar(a, b): return tuple(sorted(set(a) & set(b)))",
    "test_list": ["assert similar((3, 4), (4, 5)) == (4,)", "assert similar((1,), (2,)) == ()"],
}


def test_each_problem_is_named() -> None:
    with CodeVerifier(languages=()) as verifier:
        found = preflight(verifier, [SOUND, WRONG_GOLD, CONSTANT, UNREADABLE, ROW])
    assert found.tasks == 5
    assert [(p.index, p.name, p.kind) for p in found.problems] == [
        (1, "wrong", "gold fails"),
        (2, "constant", "null passes"),
        (3, "unreadable", "unreadable"),
    ]
    assert found.problems[1].detail == "always YES"
    assert not found.passed


def test_a_row_without_a_solution_is_the_callers_mistake() -> None:
    with CodeVerifier(languages=()) as verifier, pytest.raises(DataError, match="row 0"):
        preflight(verifier, [{"reference": SOUND["reference"]}])


@pytest.mark.parametrize(("rows", "code"), [([SOUND, ROW], 0), ([SOUND, WRONG_GOLD], 1)])
def test_the_command_prints_a_table_and_exits_with_the_verdict(
    tmp_path: Path, rows: list[object], code: int
) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = CliRunner().invoke(app, ["preflight", str(file)])
    assert plain.exit_code == code, plain.output
    assert ("gold fails" in plain.output) == (code == 1)
    counted = json.loads(CliRunner().invoke(app, ["preflight", str(file), "--json"]).stdout)
    assert (counted["tasks"], len(counted["rows"])) == (2, code)
