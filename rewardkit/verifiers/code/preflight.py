"""Tries tasks before training: gold must pass, programs that do nothing must fail."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import DataError, InvalidReferenceError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers.code.reference import Task, read_reference, row_reference
from rewardkit.verifiers.code.verifier import CodeVerifier

__all__ = ["Preflight", "TaskProblem", "null_programs", "preflight"]

_SOLUTION_COLUMNS = ("solution", "gold", "code", "canonical_solution")
_CONSTANTS = ("None", "0", "1", "''", "[]", "True", "False")


@dataclass(frozen=True, slots=True)
class TaskProblem:
    """A task that must not be trained on as it is."""

    index: int
    """Row of the task, from 0."""
    name: str
    kind: str
    """"unreadable", "gold fails", "null passes", or "undecided"."""
    detail: str


@dataclass(slots=True)
class Preflight:
    """What a preflight found."""

    tasks: int = 0
    problems: list[TaskProblem] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True if there is at least one task and no problem."""
        return self.tasks > 0 and not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Returns counts and problems as plain JSON data."""
        kinds = [problem.kind for problem in self.problems]
        return {
            "tasks": self.tasks,
            "problems": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
            "rows": [
                {"index": p.index, "name": p.name, "kind": p.kind, "detail": p.detail}
                for p in self.problems
            ],
        }


@dataclass(frozen=True, slots=True)
class _Attempt:
    index: int
    name: str
    what: str
    completion: str
    reference: Json


def preflight(
    verifier: CodeVerifier,
    rows: Iterable[Mapping[str, Any]],
    *,
    reference_column: str = "reference",
    solution_column: str | None = None,
) -> Preflight:
    """Returns the tasks whose gold solution fails or whose null solutions pass.

    Args:
        verifier: as it will be used in training.
        rows: each with a solution, and a reference in its column (or a HumanEval or MBPP row).
        reference_column: column of the reference; a row without it is taken as the reference.
        solution_column: column of the gold solution; by default the first of `solution`, `gold`,
            `code`, `canonical_solution` that a row has.

    Raises:
        DataError: a row has no solution.
    """
    found = Preflight()
    attempts: list[_Attempt] = []
    for index, row in enumerate(rows):
        found.tasks += 1
        name = str(row.get("task_id", row.get("id", index)))
        own = reference_column in row
        reference: Any = row[reference_column] if own else row_reference(row)
        solution = _solution(row, solution_column, index)
        try:
            task = read_reference(reference)
        except InvalidReferenceError as error:
            found.problems.append(TaskProblem(index, name, "unreadable", str(error)))
            continue
        attempts.append(_Attempt(index, name, "gold", _fenced(solution, task), reference))
        attempts += [
            _Attempt(index, name, what, _fenced(program, task), reference)
            for what, program in null_programs(task)
        ]
    verdicts = verifier.verify_batch(
        [a.completion for a in attempts], [a.reference for a in attempts]
    )
    found.problems += _problems(attempts, verdicts)
    found.problems.sort(key=lambda problem: problem.index)
    return found


def null_programs(task: Task) -> list[tuple[str, str]]:
    """Returns programs that do no work, each with a word on what it does."""
    if task.format != "stdio":
        if not task.entry:
            return [("an empty program", "pass\n")]
        programs = [("an empty program", "pass\n")]
        programs += [
            (f"always {value}", f"def {task.entry}(*args, **kwargs):\n    return {value}\n")
            for value in _CONSTANTS
        ]
        echo = f"def {task.entry}(*args, **kwargs):\n    return args[0] if args else None\n"
        return [*programs, ("its first argument", echo)]
    if task.language != "python":
        return []
    return [
        ("no output", "pass\n"),
        ("its input", "import sys\nsys.stdout.write(sys.stdin.read())\n"),
        *[(f"always {value}", f"print({value!r})\n") for value in ("0", "1", "YES", "NO", "-1")],
    ]


def _problems(attempts: Sequence[_Attempt], verdicts: Sequence[Verdict]) -> list[TaskProblem]:
    problems = []
    for attempt, verdict in zip(attempts, verdicts, strict=True):
        place = (attempt.index, attempt.name)
        if verdict.abstained:
            problems.append(TaskProblem(*place, "undecided", verdict.detail))
        elif attempt.what == "gold" and not verdict.passed:
            problems.append(
                TaskProblem(*place, "gold fails", f"{verdict.reason}: {verdict.detail}")
            )
        elif attempt.what != "gold" and verdict.passed:
            problems.append(TaskProblem(*place, "null passes", attempt.what))
    return problems


def _solution(row: Mapping[str, Any], column: str | None, index: int) -> str:
    columns = (column,) if column else _SOLUTION_COLUMNS
    for name in columns:
        if isinstance(row.get(name), str):
            start = str(row.get("prompt", "")) if name == "canonical_solution" else ""
            return start + str(row[name])
    raise DataError(f"row {index} has no solution: none of the columns {', '.join(columns)}")


def _fenced(program: str, task: Task) -> str:
    if "```" in program and program.lstrip().startswith("```"):
        return program
    runs = [len(line.strip()) for line in program.split("\n") if set(line.strip()) == {"`"}]
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}{task.language}\n{program}\n{fence}"
