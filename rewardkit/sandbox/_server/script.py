"""Runs `main.py` as `python main.py` would, in an interpreter that is warm."""

import atexit
import io
import os
import sys
import threading
import traceback
import types

__all__ = ["exit_process", "fresh_streams", "new_main_module", "rehearse", "run_script"]


def fresh_streams() -> None:
    """Gives the process text streams on descriptors 0, 1 and 2: UTF-8, as a plain run has them."""
    sys.stdin = sys.__stdin__ = io.open(0, encoding="utf-8", closefd=False)  # type: ignore[misc] # noqa: SIM115,UP020
    sys.stdout = sys.__stdout__ = io.open(  # type: ignore[misc] # noqa: SIM115,UP020
        1, "w", encoding="utf-8", closefd=False
    )
    sys.stderr = sys.__stderr__ = io.open(  # type: ignore[misc] # noqa: SIM115,UP020
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )


def new_main_module(path: str) -> types.ModuleType:
    """Returns an empty `__main__`, put in place."""
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    sys.argv[:] = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    return main


def run_script() -> int:
    """Returns the exit code of `main.py`."""
    path = os.path.abspath("main.py")
    main = new_main_module(path)
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        exec(code, main.__dict__)  # noqa: S102
    except SystemExit as stop:
        return _exit_code(stop)
    except BaseException as error:
        trace = error.__traceback__
        shown = trace.tb_next if trace is not None else None
        sys.excepthook(type(error), error.with_traceback(shown), shown)
        return 1
    return 0


def exit_process(code: int) -> None:
    """Leaves as an interpreter does: threads joined, exit functions run, streams flushed."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
        code = code or 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or 120
    os._exit(code & 0xFF)


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    print(stop.code, file=sys.stderr)  # noqa: T201
    return 1


def rehearse(path: str) -> None:
    """Goes through the motions once, in a process that still waits for its job.

    A forked interpreter copies each page when it is first written to, and builds some tables at
    their first use. Here that costs nobody any waiting.
    """
    with open(path, "wb") as file:
        file.write(_REHEARSAL)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, {"__name__": "rehearsal"})  # noqa: S102
    os.unlink(path)


_REHEARSAL = b"""
import sys, math
from collections import Counter, defaultdict
class A:
    def f(self, xs, k=1):
        try:
            return [x + k for x in xs if x] or {str(x): x for x in xs}
        except ValueError as error:
            raise KeyError(f"{error!r}") from error
def g(n):
    total = 0
    for i, j in enumerate(range(n)):
        total += i * j % 7
        yield total
sorted(A().f(list(g(50))), key=lambda v: -v)
"""
