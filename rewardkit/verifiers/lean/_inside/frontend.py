"""Elaborates files in a process that has their imports loaded already.

What `lean` does with a file, called step by step, because `lean` itself can be called only whole:
then each file would load its imports again. Only the standard library is imported: the sandbox's
fork server loads this file by path.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from rewardkit.verifiers.lean._inside.runtime import RefusedError, Runtime, box, field, run_deep

__all__ = ["Loaded", "elaborate", "load_header"]

_MAIN = "_stdin"
_REHEARSAL_STACK_BYTES = 16 << 20
_REHEARSAL = """theorem rehearsal (n : Nat) (p q : Prop) (h : p ∧ q) : n = n ∧ q := by
  constructor
  · rfl
  · simp [h]
"""
"""What Lean makes on first use (tables of the parser, of instances, of simp) is then there for all
forks. Where a header has none of these names, it is refused, which is as good."""


_NEEDED = (
    *("l_Lean_MessageLog_hasErrors", "l_Lean_MessageLog_toList", "l_Lean_Message_toJson"),
    *("l_Lean_Json_compress", "l_Lean_writeModule", "lean_internal_set_max_memory"),
    *("lean_initialize_thread", "lean_init_task_manager_using", "lean_finalize_task_manager"),
)
"""What a fork calls beyond what loading a header does: without one of them no header is loaded, and
files go to `lean` as a whole."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The environment after a header's imports."""

    environment: int


def load_header(lean: ctypes.CDLL, header: str, path: str) -> Loaded | None:
    """Returns a header's environment, or None where this library cannot load it.

    Args:
        lean: the library, initialised.
        header: lines of imports.
        path: folders with compiled modules, as in LEAN_PATH.
    """
    os.environ["LEAN_PATH"] = path
    runtime = Runtime(lean)
    try:
        for name in _NEEDED:
            getattr(lean, name)
        runtime.call("lean_enable_initializer_execution")
        runtime.search()
        parsed = runtime.attempt("l_Lean_Elab_parseImports", runtime.string(header), box(0))
        made = runtime.load(field(parsed, 0), extensions=True)
        main = runtime.call("lean_name_mk_string", box(0), runtime.string(_MAIN))
        loaded = Loaded(runtime.call("l_Lean_Environment_setMainModule", made, main))
        _rehearse(runtime, loaded)
        return loaded
    except (AttributeError, ValueError, RefusedError):
        return None


def _rehearse(runtime: Runtime, loaded: Loaded) -> None:
    # The threads of the task manager would not survive a fork: they end before one is made.
    _start_tasks(runtime.lean, 1, _REHEARSAL_STACK_BYTES)
    try:
        _process(runtime, loaded, _REHEARSAL)
    finally:
        runtime.lean.lean_finalize_task_manager()


def _start_tasks(lean: ctypes.CDLL, threads: int, stack_bytes: int) -> None:
    lean.lean_internal_set_thread_stack_size.argtypes = [ctypes.c_size_t]
    lean.lean_internal_set_thread_stack_size(stack_bytes)
    lean.lean_init_task_manager_using(threads)


def _process(runtime: Runtime, loaded: Loaded, text: str) -> int:
    """Returns a pair of the environment after a file, and the messages about it."""
    return runtime.attempt(
        *("l_Lean_Elab_process", runtime.string(text), loaded.environment),
        *(runtime.options(), box(0)),
    )


def elaborate(
    lean: ctypes.CDLL,
    loaded: Loaded,
    read: Callable[[], str],
    olean: str,
    settings: dict[str, int],
) -> int:
    """Prints Lean's messages about a file, each a line of JSON; returns 1 if one is an error.

    Once per process, and in a fork of the one that loaded the header.

    Args:
        lean: the library, initialised.
        loaded: the header's environment.
        read: returns the file, its imports blank; called when all else is ready.
        olean: where to write the compiled file, if there is no error; empty for nowhere.
        settings: `stack_kb`, `threads` and `memory_mb`, the limits that `lean` has options for.
    """
    lean.lean_internal_set_max_memory.argtypes = [ctypes.c_size_t]
    lean.lean_internal_set_max_memory(settings["memory_mb"] << 20)
    stack_bytes = settings["stack_kb"] << 10
    _start_tasks(lean, settings["threads"], stack_bytes)
    codes: list[int] = []
    run_deep(
        lean, stack_bytes, lambda: codes.append(_elaborate(Runtime(lean), loaded, read(), olean))
    )
    return codes[0] if codes else 1


def _elaborate(runtime: Runtime, loaded: Loaded, text: str, olean: str) -> int:
    try:
        done = _process(runtime, loaded, text)
        environment, log = field(done, 0), field(done, 1)
        failed = runtime.call("l_Lean_MessageLog_hasErrors", log) & 1
        for message in runtime.items(runtime.call("l_Lean_MessageLog_toList", log)):
            json = runtime.call("l_Lean_Message_toJson", message, flag=0)
            sys.stdout.write(runtime.text(runtime.call("l_Lean_Json_compress", json)) + "\n")
        sys.stdout.flush()
        if olean and not failed:
            runtime.attempt("l_Lean_writeModule", environment, runtime.string(olean), flag=0)
    except RefusedError as error:
        os.write(2, str(error).encode("utf-8", "replace")[:2000])
        failed = 1
    return failed
