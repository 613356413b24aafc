"""Frames on the channel between the host and a program in the sandbox: a length, then bytes.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import os

__all__ = ["read_frame", "write_frame"]

_READ, _WRITE = 3, 4
_MAX_BYTES = 1 << 30


def read_frame() -> bytes | None:
    """Returns what the next frame on descriptor 3 holds; None at the end."""
    head = _read(4)
    size = int.from_bytes(head, "little")
    if len(head) < 4 or size > _MAX_BYTES:
        return None
    return _read(size)


def write_frame(*parts: bytes) -> None:
    """Writes one frame on descriptor 4."""
    size = sum(map(len, parts))
    view = memoryview(b"".join([size.to_bytes(4, "little"), *parts]))
    while view:
        view = view[os.write(_WRITE, view) :]


def _read(count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = os.read(_READ, count - len(data))
        if not piece:
            break
        data += piece
    return bytes(data)
