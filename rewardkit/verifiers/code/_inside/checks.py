"""The checks' process: trusted test code against stand-ins of the submission."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import ast
import builtins
import importlib
import os
import sys
import traceback
import types
from dataclasses import dataclass, field
from typing import Any

from rewardkit.verifiers.code._inside.codec import decode, pack, unpack
from rewardkit.verifiers.code._inside.frames import LinkClosed, read_frame, write_frame
from rewardkit.verifiers.code._inside.remote import Link

__all__ = ["run_checks"]

_FROM_HOST, _TO_HOST, _FROM_PROGRAM, _TO_PROGRAM = 3, 4, 5, 6
_MODULE = "rewardkit_checks"
_DETAIL_CHARS = 500
# Where a solution's own imports may be repeated for the checks: same-named functions of these
# modules only.
_TRUSTED_MODULES = (
    *("math", "cmath", "collections", "itertools", "functools", "heapq", "re", "string"),
    *("datetime", "fractions", "decimal", "random", "operator", "typing", "statistics"),
    *("bisect", "copy", "sys"),
)
_ALIASES = {"np": "numpy", "numpy": "numpy", "pd": "pandas", "pandas": "pandas"}


@dataclass(slots=True)
class Report:
    """What the checks found."""

    tests: list[list[Any]] = field(default_factory=list)
    """[name, passed, detail] each, in order."""
    finished: bool = False
    """Whether the check code ran to its end."""
    error: str = ""
    missing: str = ""
    """A module that the checks need and that is not installed here."""

    def add(self, name: str, passed: bool, error: BaseException | None = None) -> None:
        """Records one test."""
        self.tests.append([name, passed, _describe(error) if error is not None else ""])


def run_checks() -> int:
    """Takes one request from the host, runs it, reports. Returns the exit code."""
    request = unpack(read_frame(_FROM_HOST))
    link = Link(_FROM_PROGRAM, _TO_PROGRAM, _MODULE)
    report = Report()
    try:
        link.ask({"op": "load"})
        _RUNNERS[request["format"]](request, link, report)
        report.finished = True
    except LinkClosed as error:
        report.error = str(error)
    except ModuleNotFoundError as error:
        report.error = _describe(error)
        if not getattr(error, "from_submission", False) and error.name != request["module"]:
            report.missing = str(error.name)
    except BaseException as error:
        report.error = _describe(error)
    answer = {
        "tests": report.tests,
        "finished": report.finished and not link.lost,
        "error": (link.lost or report.error)[:_DETAIL_CHARS],
        "calls": link.calls - 1,
        "missing": report.missing,
    }
    write_frame(_TO_HOST, pack(answer))
    os._exit(0)


def _run_asserts(request: Any, link: Link, report: Report) -> None:
    tree = ast.parse(request["source"])
    _mark_asserts(tree)
    namespace = _namespace(request, link)

    def record(name: str, error: BaseException | None) -> None:
        report.add(name, error is None, error)

    namespace["_rewardkit_record"] = record
    exec(compile(tree, "checks.py", "exec"), namespace)
    if not report.tests:
        report.add("checks", True)


def _mark_asserts(tree: ast.Module) -> None:
    """Makes each assert that stands alone, in the module or in `check`, a test of its own."""
    bodies = [tree.body]
    bodies += [n.body for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check"]
    for body in bodies:
        for index, node in enumerate(body):
            if isinstance(node, ast.Assert):
                body[index] = _recorded(node)


def _recorded(node: ast.Assert) -> ast.stmt:
    template = ast.parse(
        "try:\n    assert 0\n"
        "except Exception as _rewardkit_error:\n"
        f"    _rewardkit_record('line {node.lineno}', _rewardkit_error)\n"
        f"else:\n    _rewardkit_record('line {node.lineno}', None)\n"
    ).body[0]
    assert isinstance(template, ast.Try)
    template.body[0] = node
    for child in ast.walk(template):
        if child is not node and "lineno" in child._attributes:
            ast.copy_location(child, node)
    return template


def _run_unittest(request: Any, link: Link, report: Report) -> None:
    import unittest

    namespace = _namespace(request, link)
    module = types.ModuleType(_MODULE)
    module.__dict__.update(namespace)
    sys.modules[_MODULE] = module
    unittest.main = lambda *_a, **_k: None  # type: ignore[assignment]
    exec(compile(request["source"], "checks.py", "exec"), module.__dict__)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    for test in _flatten(suite):
        result = unittest.TestResult()
        test.run(result)
        passed = result.wasSuccessful() and result.testsRun == 1
        passed = passed and not (result.skipped or result.expectedFailures)
        failures = [*result.failures, *result.errors]
        report.tests.append(
            [
                test.id(),
                passed,
                failures[0][1].strip().splitlines()[-1][:_DETAIL_CHARS] if failures else "",
            ]
        )


def _flatten(suite: Any) -> list[Any]:
    import unittest

    if isinstance(suite, unittest.TestSuite):
        return [test for part in suite for test in _flatten(part)]
    return [suite]


def _run_pytest(request: Any, link: Link, report: Report) -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    _namespace(request, link)
    with open("test_checks.py", "w", encoding="utf-8") as file:
        file.write(request["source"])

    class Collector:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.outcome != "passed":
                detail = str(getattr(report, "longreprtext", ""))[-_DETAIL_CHARS:]
                passed = report.outcome == "passed" and not hasattr(report, "wasxfail")
                tests.append([report.nodeid, passed, "" if passed else detail])

    tests = report.tests
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull]
    code = pytest.main(
        [*options, "--rootdir", os.getcwd(), "test_checks.py"],
        plugins=[Collector()],
    )
    if code not in {0, 1}:
        raise RuntimeError(f"pytest ended with status {int(code)}")


def _namespace(request: Any, link: Link) -> dict[str, Any]:
    """Puts the `solution` module in place and returns the names that the checks start with."""
    module = _SolutionModule(link, request["module"])
    sys.modules[request["module"]] = module
    namespace: dict[str, Any] = {"__name__": _MODULE, "__builtins__": builtins}
    wanted = list(request["names"])
    own = {name for name in wanted if name != request["entry"] and _own_module(name)}
    forms = link.names([name for name in wanted if name not in own])
    for name in wanted:
        if name in own:
            namespace[name] = importlib.import_module(str(_ALIASES.get(name, name)))
        elif name in forms:
            namespace[name] = _trusted(name, forms[name]) if name != request["entry"] else None
            if namespace[name] is None:
                namespace[name] = decode(forms[name], link.resolve)
    return namespace


def _own_module(name: str) -> bool:
    return name in _ALIASES or name in sys.stdlib_module_names


def _trusted(name: str, form: Any) -> Any:
    """Returns this process's own copy of a standard function that the program merely imported."""
    described = form.get("h", {}) if isinstance(form, dict) else {}
    origin = str(described.get("o", ""))
    if origin in _TRUSTED_MODULES and described.get("n") == name:
        return getattr(importlib.import_module(origin), name, None)
    return None


class _SolutionModule(types.ModuleType):
    """What `from solution import …` finds."""

    def __init__(self, link: Link, name: str) -> None:
        super().__init__(name)
        self.__dict__["_link"] = link

    def __getattr__(self, name: str) -> Any:
        link: Link = self.__dict__["_link"]
        if name == "__all__":
            return [str(item) for item in link.ask({"op": "all"})["v"]]
        if name.startswith("__"):
            raise AttributeError(name)
        forms = link.names([name])
        if name not in forms:
            raise AttributeError(f"the program defines no {name!r}")
        value = self.__dict__[name] = decode(forms[name], link.resolve)
        return value


def _describe(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception_only(error)).strip()[:_DETAIL_CHARS]
    except Exception:
        return type(error).__name__


_RUNNERS = {"assert": _run_asserts, "unittest": _run_unittest, "pytest": _run_pytest}
