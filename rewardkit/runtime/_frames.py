"""The messages between a pool and its workers: a fixed header and a payload of bytes."""

import socket
import struct
from enum import IntEnum
from typing import NamedTuple

__all__ = ["HEADER", "Frame", "Kind", "encode", "read_frame"]

HEADER = struct.Struct("<BdQ")
"""Kind, seconds that the task took, bytes of payload."""


class Kind(IntEnum):
    """What a frame says."""

    LOAD = 1
    """To a worker: here is a function; keep it under its key."""
    RUN = 2
    """To a worker: run the function of this key on these items, one answer each."""
    READY = 3
    """From a worker: started, or function loaded."""
    REFUSED = 4
    """From a worker: it cannot start, or cannot load the function; the payload says why."""
    VALUE = 5
    """From a worker: an item's pickled value."""
    ERROR = 6
    """From a worker: an item raised; the payload says what."""
    MEMORY = 7
    """From a worker: an item ran out of memory."""


class Frame(NamedTuple):
    """One message."""

    kind: Kind
    seconds: float
    payload: bytes


def encode(kind: Kind, payload: bytes = b"", seconds: float = 0.0) -> bytes:
    """Returns the bytes of one frame."""
    return HEADER.pack(kind, seconds, len(payload)) + payload


def _read_exactly(connection: socket.socket, count: int) -> bytearray | None:
    data = bytearray(count)
    view = memoryview(data)
    done = 0
    while done < count:
        got = connection.recv_into(view[done:])
        if not got:
            return None
        done += got
    return data


def read_frame(connection: socket.socket) -> Frame | None:
    """Returns the next frame of a blocking connection, or None at its end."""
    header = _read_exactly(connection, HEADER.size)
    if header is None:
        return None
    kind, seconds, length = HEADER.unpack(header)
    payload = _read_exactly(connection, length)
    return None if payload is None else Frame(Kind(kind), seconds, bytes(payload))
