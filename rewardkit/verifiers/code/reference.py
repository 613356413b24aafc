"""What a task asks: a reference, read and checked once."""

import ast
import builtins
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.code.compare import COMPARE_MODES
from rewardkit.verifiers.code.literals import LiteralCheck, literal_checks

__all__ = ["FORMATS", "CallCase", "StdioCase", "Task", "read_reference", "row_reference"]

FORMATS = ("call", "stdio", "assert", "unittest", "pytest")
_TEST_FORMATS = ("assert", "unittest", "pytest")
_KEYS = (
    *("format", "entry", "cases", "source", "language", "compare", "tolerance"),
    *("ignore_exit_code", "module", "prelude"),
)
_HUMANEVAL = (
    *("task_id", "prompt", "entry_point", "canonical_solution", "test"),
    *("declaration", "example_test", "contract", "base_input", "plus_input", "atol"),
)
_MBPP = (
    *("task_id", "text", "prompt", "code", "entry", "test_list", "test_setup_code"),
    *("test_imports", "challenge_test_list", "source_file"),
)


@dataclass(frozen=True, slots=True)
class CallCase:
    """One call and what it returns."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any = None
    check: LiteralCheck | None = None
    """Decides instead of `expected` where an assert was turned into data."""


@dataclass(frozen=True, slots=True)
class StdioCase:
    """One input and what the program prints."""

    input: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A reference in readable form."""

    format: str
    entry: str = ""
    language: str = "python"
    calls: tuple[CallCase, ...] = ()
    stdio: tuple[StdioCase, ...] = ()
    compare: str = "lines"
    tolerance: float = 1e-6
    ignore_exit_code: bool = False
    source: str = ""
    module: str = "solution"
    names: tuple[str, ...] = ()
    """Names that the check code takes from the program."""
    prelude: str = ""
    """Put before a program that does not define `entry` (a prompt that it completes)."""
    key: str = field(default="", compare=False)
    """Identifies the task: equal references have equal keys."""

    @property
    def count(self) -> int:
        """Number of tests known before the run; 0 if the check code decides."""
        return len(self.calls) or len(self.stdio)


def read_reference(reference: Json) -> Task:
    """Returns the task that a reference describes.

    HumanEval rows (`prompt`, `test`, `entry_point`) and MBPP rows (`test_list`, `code` or `entry`)
    are read as they are.

    Raises:
        InvalidReferenceError: a key is missing or has another shape than documented; it is named.
    """
    if not isinstance(reference, Mapping):
        raise InvalidReferenceError(
            f"a code reference is an object with `format`, not {type(reference).__name__}"
        )
    key = json.dumps(reference, sort_keys=True, default=str)
    if "format" not in reference:
        reference = _from_row(reference)
    check_keys("a code reference", reference, _KEYS)
    kind = reference.get("format")
    if kind not in FORMATS:
        raise InvalidReferenceError(f"`format` is one of {', '.join(FORMATS)}, not {kind!r}")
    options = _read_options(reference, key)
    if kind == "stdio":
        return Task(format="stdio", stdio=_read_stdio(reference), **options)
    if options["language"] != "python":
        raise InvalidReferenceError(
            f"the {kind} format runs Python; {options['language']} programs take format stdio"
        )
    if kind == "call":
        return Task(
            format="call", entry=_text(reference, "entry"), calls=_read_calls(reference), **options
        )
    return _read_source(str(kind), reference, options)


def row_reference(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the reference that a data set's row is itself, without its other columns.

    >>> row_reference({"test_list": ["assert f(1) == 2"], "difficulty": 3})
    {'test_list': ['assert f(1) == 2']}
    """
    known = _KEYS if "format" in row else _HUMANEVAL if "entry_point" in row else _MBPP
    return {name: value for name, value in row.items() if name in known}


def _read_options(reference: Mapping[str, Any], key: str) -> dict[str, Any]:
    language = reference.get("language", "python")
    compare = reference.get("compare", "lines")
    tolerance = reference.get("tolerance", 1e-6)
    if compare not in COMPARE_MODES:
        raise InvalidReferenceError(f"`compare` is one of {', '.join(COMPARE_MODES)}: {compare!r}")
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise InvalidReferenceError(f"`tolerance` is a number in [0, 1), not {tolerance!r}")
    return {
        "language": str(language),
        "compare": str(compare),
        "tolerance": float(tolerance),
        "ignore_exit_code": bool(reference.get("ignore_exit_code", False)),
        "module": str(reference.get("module", "solution")),
        "prelude": str(reference.get("prelude", "")),
        "key": key,
    }


def _text(reference: Mapping[str, Any], name: str) -> str:
    value = reference.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidReferenceError(f"`{name}` is a non-empty string, not {value!r}")
    return value


def _cases(reference: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cases = reference.get("cases")
    if not isinstance(cases, list) or not cases:
        raise InvalidReferenceError("`cases` is a non-empty list: without a test nothing is proved")
    for index, case in enumerate(cases):
        if not isinstance(case, Mapping):
            raise InvalidReferenceError(f"`cases[{index}]` is an object, not {case!r}")
    return cases


def _read_stdio(reference: Mapping[str, Any]) -> tuple[StdioCase, ...]:
    read = []
    for index, case in enumerate(_cases(reference)):
        names = ("input", "output")
        whole = all(name in case for name in names)
        check_keys(f"`cases[{index}]` of format stdio", case, names, strict=not whole)
        given, wanted = case.get("input", ""), case.get("output")
        if not isinstance(given, str) or not isinstance(wanted, str):
            raise InvalidReferenceError(f"`cases[{index}]` has strings `input` and `output`")
        read.append(StdioCase(given, wanted))
    return tuple(read)


def _read_calls(reference: Mapping[str, Any]) -> tuple[CallCase, ...]:
    read = []
    for index, case in enumerate(_cases(reference)):
        names = ("args", "kwargs", "expected")
        whole = "args" in case or "kwargs" in case
        check_keys(f"`cases[{index}]` of format call", case, names, strict=not whole)
        args, kwargs = case.get("args", []), case.get("kwargs", {})
        if not isinstance(args, list) or not isinstance(kwargs, dict) or "expected" not in case:
            raise InvalidReferenceError(
                f"`cases[{index}]` has `expected`, and `args` as a list, `kwargs` as an object"
            )
        read.append(CallCase(tuple(args), dict(kwargs), case["expected"]))
    return tuple(read)


def _read_source(kind: str, reference: Mapping[str, Any], options: dict[str, Any]) -> Task:
    source = _text(reference, "source")
    entry = str(reference.get("entry", "") or "")
    try:
        tree = ast.parse(source)
        if kind == "assert" and _needs_check_call(tree):
            if not entry:
                raise InvalidReferenceError("`entry` says which function `check` is called with")
            source += f"\ncheck({entry})\n"
        checks = literal_checks(source, entry) if kind == "assert" and entry else None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidReferenceError(
            f"`source` is not Python: {type(error).__name__}: {error}"
        ) from None
    if checks is not None:
        calls = tuple(CallCase(c.args, c.kwargs, check=c) for c in checks)
        return Task(format="call", entry=entry, calls=calls, **options)
    if not _has_checks(tree):
        raise InvalidReferenceError("`source` checks nothing: no assert and no test function")
    names = tuple(dict.fromkeys([*filter(None, [entry]), *_free_names(ast.parse(source))]))
    return Task(format=kind, entry=entry, source=source, names=names, **options)


def _needs_check_call(tree: ast.Module) -> bool:
    defined = any(isinstance(n, ast.FunctionDef) and n.name == "check" for n in tree.body)
    called = any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "check"
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef)
        for n in ast.walk(statement)
    )
    return defined and not called


def _has_checks(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Assert | ast.Raise)
        or (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith(("test", "runTest"))
        )
        or (isinstance(node, ast.Call) and _last_name(node.func).startswith("assert"))
        for node in ast.walk(tree)
    )


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _free_names(tree: ast.Module) -> tuple[str, ...]:
    loaded: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return tuple(sorted(n for n in loaded - bound if not hasattr(builtins, n)))


def _from_row(row: Mapping[str, Any]) -> dict[str, Any]:
    if "test" in row and "entry_point" in row:
        check_keys("a HumanEval row", row, _HUMANEVAL)
        prompt = str(row.get("prompt", ""))
        entry = _text(row, "entry_point")
        source = _trusted_helpers(prompt, entry) + _text(row, "test")
        return {"format": "assert", "entry": entry, "source": source, "prelude": prompt}
    if isinstance(row.get("test_list"), list) and row["test_list"]:
        check_keys("an MBPP row", row, _MBPP)
        tests = [str(test) for test in row["test_list"]]
        setup = str(row.get("test_setup_code", "") or "")
        entry = str(row.get("entry", "") or _tested_name(tests))
        return {"format": "assert", "entry": entry, "source": "\n".join([setup, *tests])}
    raise InvalidReferenceError(
        "a code reference has `format`, or is a HumanEval row (`test`, `entry_point`) or an MBPP "
        "row (`test_list`)"
    )


def _trusted_helpers(prompt: str, entry: str) -> str:
    """Returns a prompt's imports and helpers: the checks use these, not the program's."""
    try:
        tree = ast.parse(prompt)
    except SyntaxError:
        return ""
    kept = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.FunctionDef) and node.name != entry)
    ]
    return "".join(ast.unparse(node) + "\n" for node in kept)


def _tested_name(tests: list[str]) -> str:
    called = []
    for test in tests:
        try:
            nodes = list(ast.walk(ast.parse(test)))
        except SyntaxError:
            continue
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        called += [function.id for function in calls if isinstance(function, ast.Name)]
    # A program may well be asked to define its own `sum`.
    own = [name for name in called if not hasattr(builtins, name)]
    return next(iter([*own, *called]), "")
