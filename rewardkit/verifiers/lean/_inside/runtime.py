"""Objects of Lean's runtime, through ctypes: as much as is needed to call Lean's own functions.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import ctypes
import threading
from collections.abc import Callable, Iterator

__all__ = ["RefusedError", "Runtime", "box", "byte", "field", "run_deep", "word"]

_PRIVATE = 2
"""`Lean.OLeanLevel.private`: all of the imported modules."""


class RefusedError(Exception):
    """An IO action of Lean failed; its message."""


def run_deep(lean: ctypes.CDLL, stack_bytes: int, action: Callable[[], None]) -> None:
    """Runs an action of Lean's in a thread with a stack as deep as Lean's own threads have."""

    def enter() -> None:
        lean.lean_initialize_thread()
        action()

    threading.stack_size(stack_bytes)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()


class Runtime:
    """Calls functions of the library. Nothing is freed: its processes live for one file."""

    def __init__(self, lean: ctypes.CDLL) -> None:
        self.lean = lean

    def call(self, name: str, *arguments: int, flag: int | None = None) -> int:
        """Returns what a function returns; `flag` is a last argument of one byte."""
        function = getattr(self.lean, name)
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_void_p] * len(arguments)
        if flag is not None:
            function.argtypes = [*function.argtypes, ctypes.c_uint8]
            return int(function(*arguments, flag) or 0)
        return int(function(*arguments) or 0)

    def attempt(self, name: str, *arguments: int, flag: int | None = None) -> int:
        """Returns the value of an IO action that a function is."""
        return self._value(self.call(name, *arguments, flag=flag))

    def string(self, text: str) -> int:
        """Returns a Lean string."""
        data = text.encode("utf-8", "replace")
        return self.call("lean_mk_string_from_bytes", _address(data), len(data))

    def text(self, made: int) -> str:
        """Returns the text of a Lean string."""
        return ctypes.string_at(made + 32, word(made + 8) - 1).decode("utf-8", "replace")

    def items(self, made: int) -> Iterator[int]:
        """Yields the elements of a Lean list."""
        while made & 1 == 0:
            yield field(made, 0)
            made = field(made, 1)

    def structure(self, *fields: int) -> int:
        """Returns a new object of the first constructor."""
        size = 8 + 8 * len(fields)
        made = self.call("lean_alloc_object", size)
        ctypes.c_int32.from_address(made).value = 1
        for place, value in ((4, size), (5, 0), (6, len(fields)), (7, 0)):
            ctypes.c_uint8.from_address(made + place).value = value
        for index, value in enumerate(fields):
            ctypes.c_uint64.from_address(made + 8 + 8 * index).value = value
        return made

    def options(self) -> int:
        """Returns Lean's empty options."""
        return word(ctypes.addressof(ctypes.c_uint64.in_dll(self.lean, "l_Lean_Options_empty")))

    def search(self) -> None:
        """Makes Lean look for modules where LEAN_PATH says."""
        self.call("lean_io_mark_end_initialization")
        self.attempt("lean_init_search_path")

    def load(self, imports: int, *, extensions: bool) -> int:
        """Returns the environment after an array of imports.

        Args:
            imports: the array.
            extensions: make ready what elaboration needs, and not only what the kernel does.
        """
        load = self.lean.l_Lean_importModules
        load.restype = ctypes.c_void_p
        flag, pointer = ctypes.c_uint8, ctypes.c_void_p
        load.argtypes = [pointer, pointer, ctypes.c_uint32, pointer, flag, flag, flag, pointer]
        plugins = self.call("lean_mk_array", box(0), box(0))
        no_artifacts = box(1)
        made = load(
            *(imports, self.options(), 0, plugins),
            *(int(extensions), int(extensions), _PRIVATE, no_artifacts),
        )
        return self._value(int(made))

    def _value(self, answer: int) -> int:
        if byte(answer + 7) == 0:
            return field(answer, 0)
        raise RefusedError(self.text(self.call("lean_io_error_to_string", field(answer, 0))))


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def word(at: int) -> int:
    """Returns the 8 bytes at an address."""
    return int(ctypes.c_uint64.from_address(at).value)


def byte(at: int) -> int:
    """Returns the byte at an address."""
    return int(ctypes.c_uint8.from_address(at).value)


def field(made: int, index: int) -> int:
    """Returns a field of an object."""
    return word(made + 8 + 8 * index)


def box(number: int) -> int:
    """Returns a small number as an object."""
    return number << 1 | 1
