"""Reads the constants out of a compiled Lean file (`.olean`), without running any Lean code.

What a submission prints can be forged by the submission: its macros reach the very command that
audits it. The compiled file is data; this reader takes the statements, the bodies and the axioms
from there. It trusts no length and no pointer of the file.

The layout is that of the Lean runtime's compacted regions, version 2 of the header: 88 bytes of
header, of which the last 8 hold the base address, then a pointer to the root and the objects.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["KINDS", "Constant", "Olean", "OleanError", "read_olean"]

_HEADER = 88
_MAX_CONSTRUCTOR = 243
_ARRAY, _STRING, _BIG = 246, 249, 250
_MAX_NAME_PARTS = 200
KINDS = ("axiom", "def", "theorem", "opaque", "quot", "inductive", "constructor", "recursor")
"""The kinds of constants, in the order of the constructors of Lean's `ConstantInfo`."""


class OleanError(ValueError):
    """The file is no compiled Lean file that this reader knows."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One constant of a module: where its parts lie in the file."""

    name: str
    kind: str
    """One of `KINDS`."""
    levels: tuple[str, ...]
    """Its universe parameters."""
    type_at: int
    values_at: tuple[int, ...]
    """Its body, where it has one."""
    tail: tuple[str, ...]
    """For an inductive type its constructors, for a constructor its type's name."""
    unsafe: bool
    """Unsafe or partial: the kernel lets no theorem rest on it, and a replay leaves it out."""


class Olean:
    """The objects of one compiled file. Every access is checked against its size."""

    def __init__(self, data: bytes) -> None:
        """Reads the header.

        Raises:
            OleanError: no compiled Lean file of a known version.
        """
        if len(data) < _HEADER + 8 or data[:5] != b"olean" or data[5] != 2:
            raise OleanError("no .olean file of header version 2")
        self.data = data
        self.lean_version = data[7:40].split(b"\0")[0].decode("ascii", "replace")
        self.base = int(struct.unpack_from("<Q", data, 80)[0])
        self._names: dict[int, str] = {}

    def word(self, at: int) -> int:
        """Returns the 8 bytes at a place as a number."""
        if at < 0 or at + 8 > len(self.data):
            raise OleanError(f"place {at} outside the file")
        return int(struct.unpack_from("<Q", self.data, at)[0])

    def place(self, pointer: int) -> int:
        """Returns where a pointer points to; odd pointers are small numbers and come back as -1-n.

        Raises:
            OleanError: it points outside the file.
        """
        if pointer & 1:
            return -1 - (pointer >> 1)
        at = pointer - self.base
        if at < _HEADER or at % 8 or at + 8 > len(self.data):
            raise OleanError(f"pointer {pointer:#x} outside the file")
        return at

    def shape(self, at: int) -> tuple[int, int, int]:
        """Returns the tag, the number of pointers and the size of an object."""
        if at < 0:
            return -at - 1, 0, 0
        return self.data[at + 7], self.data[at + 6], self.data[at + 4] | self.data[at + 5] << 8

    def fields(self, at: int) -> list[int]:
        """Returns the places of a constructor's fields."""
        tag, count, _ = self.shape(at)
        if at < 0:
            return []
        if tag > _MAX_CONSTRUCTOR:
            raise OleanError(f"no constructor at {at}")
        return [self.place(self.word(at + 8 + 8 * i)) for i in range(count)]

    def scalars(self, at: int) -> bytes:
        """Returns the bytes that follow a constructor's pointers."""
        _, count, size = self.shape(at)
        return self.data[at + 8 + 8 * count : at + max(size, 8 + 8 * count)]

    def array(self, at: int) -> list[int]:
        """Returns the places of an array's elements."""
        if at < 0 or self.shape(at)[0] != _ARRAY:
            raise OleanError(f"no array at {at}")
        size = self.word(at + 8)
        if size > len(self.data) // 8:
            raise OleanError("an array larger than the file")
        return [self.place(self.word(at + 24 + 8 * i)) for i in range(size)]

    def items(self, at: int) -> Iterator[int]:
        """Yields the places of a list's elements."""
        for _ in range(len(self.data) // 16):
            fields = self.fields(at)
            if len(fields) != 2:
                return
            yield fields[0]
            at = fields[1]
        raise OleanError("a list without end")

    def text(self, at: int) -> str:
        """Returns a string."""
        if at < 0 or self.shape(at)[0] != _STRING:
            raise OleanError(f"no string at {at}")
        size = self.word(at + 8)
        if size < 1 or at + 32 + size > len(self.data):
            raise OleanError("a string larger than the file")
        return self.data[at + 32 : at + 31 + size].decode("utf-8", "replace")

    def number(self, at: int) -> str:
        """Returns a natural number in a form that is equal exactly where the numbers are."""
        if at < 0:
            return str(-1 - at)
        if self.shape(at)[0] != _BIG:
            raise OleanError(f"no number at {at}")
        limbs = struct.unpack_from("<i", self.data, at + 12)[0]
        start = self.place(self.word(at + 16))
        if not 0 < limbs <= len(self.data) // 8 or start < 0:
            raise OleanError("a broken number")
        return str(int.from_bytes(self.data[start : start + 8 * limbs], "little"))

    def name(self, at: int) -> str:
        """Returns a hierarchical name; a part that could be misread is quoted."""
        if at in self._names:
            return self._names[at]
        parts: list[str] = []
        here = at
        while here >= 0:
            tag, fields = self.shape(here)[0], self.fields(here)
            if tag not in (1, 2) or len(fields) != 2 or len(parts) > _MAX_NAME_PARTS:
                raise OleanError(f"no name at {at}")
            part = self.text(fields[1]) if tag == 1 else self.number(fields[1])
            parts.append(part if tag == 2 or _is_plain(part) else f"«{part}»")
            here = fields[0]
        self._names[at] = ".".join(reversed(parts))
        return self._names[at]


def _is_plain(part: str) -> bool:
    return bool(part) and not part.isdigit() and not set(part) & set(".«» \n\t\r")


def read_olean(data: bytes) -> tuple[Olean, dict[str, Constant]]:
    """Returns the file and its constants by name.

    Args:
        data: the whole file.

    Raises:
        OleanError: it is no compiled Lean file that this reader knows.
    """
    file = Olean(data)
    try:
        root = file.fields(file.place(file.word(_HEADER)))
        if len(root) < 3:
            raise OleanError("no module data at the root")
        constants = [_constant(file, at) for at in file.array(root[2])]
    except (struct.error, IndexError) as error:
        raise OleanError(f"a broken file: {error}") from None
    by_name = {constant.name: constant for constant in constants}
    if len(by_name) != len(constants):
        # Lean tells names apart by a hash that the file itself holds; what we read here would then
        # not be what the kernel looks up.
        raise OleanError("two constants of one name")
    return file, by_name


def _constant(file: Olean, at: int) -> Constant:
    tag = file.shape(at)[0]
    if tag >= len(KINDS) or not file.fields(at):
        raise OleanError(f"no constant at {at}")
    value = file.fields(at)[0]
    fields = file.fields(value)
    name, levels, type_at = file.fields(fields[0])[:3]
    kind = KINDS[tag]
    values: tuple[int, ...] = ()
    tail: tuple[str, ...] = ()
    if kind in ("def", "theorem", "opaque"):
        values = (fields[1],)
    elif kind == "inductive":
        tail = tuple(file.name(one) for one in file.items(fields[4]))
    elif kind == "constructor":
        tail = (file.name(fields[1]),)
    scalars = file.scalars(value)
    flag = {"axiom": 0, "opaque": 0, "def": 0}.get(kind)
    # A definition's safety counts unsafe (0), safe (1), partial (2); the others have a flag.
    unsafe = flag is not None and bool(scalars) and (scalars[0] != (kind == "def"))
    return Constant(
        file.name(name),
        kind,
        tuple(file.name(one) for one in file.items(levels)),
        type_at,
        values,
        tail,
        unsafe,
    )
