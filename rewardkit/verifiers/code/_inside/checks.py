"""The checks' process: trusted test code against stand-ins of the submission."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import ast
import builtins
import functools
import importlib
import os
import sys
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rewardkit.verifiers.code._inside.codec import pack, unpack
from rewardkit.verifiers.code._inside.frames import LinkClosed, read_frame, write_frame
from rewardkit.verifiers.code._inside.remote import Link
from rewardkit.verifiers.code._inside.standins import StandIn, believe_class

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

    def note_missing(self, error: BaseException | None, request: Any) -> None:
        """Records the module that an import of the checks' own did not find, if that is it."""
        if not isinstance(error, ModuleNotFoundError) or not error.name:
            return
        if not getattr(error, "from_submission", False) and error.name != request["module"]:
            self.missing = error.name


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
    except BaseException as error:
        report.error = _describe(error)
        report.note_missing(error, request)
    answer = {
        "tests": report.tests,
        "finished": report.finished and not link.lost,
        "error": (link.lost or report.error)[:_DETAIL_CHARS],
        "disbelieved": link.disbelieved,
        "calls": link.calls,
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
    _guard_comparisons()
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    tests = _flatten(suite)

    started: set[int] = set()

    class Result(unittest.TestResult):
        def startTest(self, test: Any) -> None:
            super().startTest(test)
            started.add(id(test))

        def addError(self, test: Any, err: Any) -> None:
            super().addError(test, err)
            report.note_missing(err[1], request)

    result = Result()
    try:
        # The suite, not each test by itself, prepares and clears up classes and modules.
        suite.run(result)
    finally:
        _report_unittest(tests, started, result, report)


def _report_unittest(tests: list[Any], started: set[int], result: Any, report: Report) -> None:
    # A test passes if it began and nothing at all was said against it: what was skipped or expected
    # to fail has proved nothing. Trouble of a class or module stands beside its tests.
    troubled: dict[int, tuple[Any, str]] = {}
    listed = [*result.failures, *result.errors, *result.skipped, *result.expectedFailures]
    for test, detail in [*listed, *((test, "") for test in result.unexpectedSuccesses)]:
        whole = getattr(test, "test_case", test)
        last = (detail.strip().splitlines() or ["passed or skipped, which was not asked for"])[-1]
        troubled.setdefault(id(whole), (whole, last[:_DETAIL_CHARS]))
    for test in tests:
        _, detail = troubled.pop(id(test), (test, "" if id(test) in started else "not run"))
        report.tests.append([test.id(), not detail, detail])
    report.tests += [[test.id(), False, detail] for test, detail in troubled.values()]


def _guard_comparisons() -> None:
    """Makes those assertions that would tell an object of the program's what is expected, refuse.

    `assertSetEqual` asks one side for its `difference` from the other; `assertAlmostEqual`
    subtracts.
    """
    import unittest

    case: Any = unittest.TestCase
    for name in ("assertSetEqual", "assertAlmostEqual", "assertNotAlmostEqual"):
        setattr(case, name, _guarded(getattr(case, name)))


def _guarded(compare: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(compare)
    def guarded(self: Any, first: Any, second: Any, *rest: Any, **options: Any) -> None:
        if isinstance(first, StandIn) != isinstance(second, StandIn):
            self.fail("one of the two is an object of the program's, not a plain value")
        compare(self, first, second, *rest, **options)

    return guarded


def _flatten(suite: Any) -> list[Any]:
    import unittest

    if isinstance(suite, unittest.TestSuite):
        return [test for part in suite for test in _flatten(part)]
    return [suite]


def _run_pytest(request: Any, link: Link, report: Report) -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    _namespace(request, link)
    _guard_comparisons()
    with open("test_checks.py", "w", encoding="utf-8") as file:
        file.write(request["source"])

    class Collector:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.outcome != "passed":
                detail = str(getattr(report, "longreprtext", ""))[-_DETAIL_CHARS:]
                passed = report.outcome == "passed" and not hasattr(report, "wasxfail")
                tests.append([report.nodeid, passed, "" if passed else detail])

        def pytest_exception_interact(self, call: Any) -> None:
            # A module that does not load is wrapped in an error of pytest's own.
            for error in (call.excinfo.value, call.excinfo.value.__cause__):
                note_missing(error, request)

    tests, note_missing = report.tests, report.note_missing
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull]
    code = pytest.main(
        [*options, "--rootdir", os.getcwd(), "test_checks.py"],
        plugins=[Collector()],
    )
    if code not in {0, 1}:
        raise RuntimeError(f"pytest ended with status {int(code)}")


def _namespace(request: Any, link: Link) -> dict[str, Any]:
    """Puts the `solution` module in place and returns the names that the checks start with."""
    module = _SolutionModule(link, request)
    sys.modules[request["module"]] = module
    namespace: dict[str, Any] = {"__name__": _MODULE, "__builtins__": builtins}
    return namespace | module.take(request["names"])


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

    def __init__(self, link: Link, request: Any) -> None:
        super().__init__(request["module"])
        self.__dict__["_link"] = link
        self.__dict__["_request"] = request

    def take(self, names: list[str]) -> dict[str, Any]:
        """Returns those of `names` that the program defines, or that are modules, by name."""
        link: Link = self.__dict__["_link"]
        entry = self.__dict__["_request"]["entry"]
        found: dict[str, Any] = {}
        own = {name for name in names if name != entry and _own_module(name)}
        forms = link.names([name for name in names if name not in own])
        for name in names:
            if name in own:
                found[name] = importlib.import_module(str(_ALIASES.get(name, name)))
            elif name in forms:
                found[name] = _trusted(name, forms[name]) if name != entry else None
                if found[name] is None:
                    found[name] = link.read(forms[name])
                    if name[:1].isupper():
                        believe_class(found[name])
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            # What a star import may bind is what the checks use and neither define nor find among
            # the built-ins: a program's own `all` or `assert_equal` must not replace theirs.
            link: Link = self.__dict__["_link"]
            defined = link.ask({"op": "all"})["v"]
            return [item for item in self.__dict__["_request"]["names"] if item in defined]
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.take([name])
        if name not in found:
            raise AttributeError(f"the program defines no {name!r}")
        value = self.__dict__[name] = found[name]
        return value


def _describe(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception_only(error)).strip()[:_DETAIL_CHARS]
    except Exception:
        return type(error).__name__


_RUNNERS = {"assert": _run_asserts, "unittest": _run_unittest, "pytest": _run_pytest}
