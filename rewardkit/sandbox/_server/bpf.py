"""A small assembler for classic BPF, enough to write a system-call filter that can be read."""

import struct
from dataclasses import dataclass, field

__all__ = ["Assembler", "Instruction"]

_LOAD_WORD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_GREATER_OR_EQUAL = 0x35
_JUMP_ANY_BIT = 0x45
_AND = 0x54
_RETURN = 0x06


@dataclass(frozen=True, slots=True)
class Instruction:
    """One `struct sock_filter`."""

    code: int
    jump_true: int
    jump_false: int
    operand: int

    def pack(self) -> bytes:
        """Returns the eight bytes that the kernel reads."""
        return struct.pack("=HBBI", self.code, self.jump_true, self.jump_false, self.operand)


@dataclass(slots=True)
class Assembler:
    """Collects instructions. Each test is followed by what it guards, so that no jump is long.

    >>> program = Assembler()
    >>> program.load(0)
    >>> program.return_if_equal(101, 0x00050001)
    >>> program.return_value(0x7FFF0000)
    >>> len(program.build())
    32
    """

    instructions: list[Instruction] = field(default_factory=list)

    def load(self, offset: int) -> None:
        """Loads the 32-bit word at a byte offset of `struct seccomp_data` into the accumulator."""
        self._add(_LOAD_WORD, 0, 0, offset)

    def mask(self, bits: int) -> None:
        """Keeps only `bits` of the accumulator."""
        self._add(_AND, 0, 0, bits)

    def return_value(self, action: int) -> None:
        """Ends the program with an action."""
        self._add(_RETURN, 0, 0, action)

    def return_if_equal(self, value: int, action: int) -> None:
        """Ends with an action if the accumulator is `value`."""
        self._add(_JUMP_EQUAL, 0, 1, value)
        self.return_value(action)

    def return_unless_equal(self, value: int, action: int) -> None:
        """Ends with an action if the accumulator is not `value`."""
        self._add(_JUMP_EQUAL, 1, 0, value)
        self.return_value(action)

    def return_if_at_least(self, value: int, action: int) -> None:
        """Ends with an action if the accumulator is `value` or more, unsigned."""
        self._add(_JUMP_GREATER_OR_EQUAL, 0, 1, value)
        self.return_value(action)

    def return_if_any_bit(self, mask: int, action: int) -> None:
        """Ends with an action if the accumulator has a bit of `mask` set."""
        self._add(_JUMP_ANY_BIT, 0, 1, mask)
        self.return_value(action)

    def if_equal(self, value: int, then: "Assembler") -> None:
        """Runs `then`, which must end in a return, if the accumulator is `value`."""
        length = len(then.instructions)
        self._add(_JUMP_EQUAL, 0, length, value)
        self.instructions.extend(then.instructions)

    def extend(self, more: "Assembler") -> None:
        """Goes on with another piece of program."""
        self.instructions.extend(more.instructions)

    def build(self) -> bytes:
        """Returns the program as an array of `struct sock_filter`."""
        return b"".join(instruction.pack() for instruction in self.instructions)

    def _add(self, code: int, jump_true: int, jump_false: int, operand: int) -> None:
        self.instructions.append(Instruction(code, jump_true, jump_false, operand))
