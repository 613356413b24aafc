"""Frames on a pair of pipes: four bytes of length, then the content."""

import os

from rewardkit.verifiers.code._inside.codec import MAX_FRAME_BYTES, CodecError

__all__ = ["LinkClosed", "read_frame", "write_frame"]


class LinkClosed(BaseException):
    """The other side is gone. Not an Exception: no `except Exception` in a test may swallow it."""


def read_frame(descriptor: int) -> bytes:
    """Returns the next frame's content; raises LinkClosed at the end of the stream."""
    size = int.from_bytes(_read_exactly(descriptor, 4), "little")
    if size > MAX_FRAME_BYTES:
        raise CodecError(f"a frame of {size} bytes; at most {MAX_FRAME_BYTES} are read")
    return _read_exactly(descriptor, size)


def write_frame(descriptor: int, content: bytes) -> None:
    """Writes one frame; raises LinkClosed if nobody reads."""
    view = memoryview(len(content).to_bytes(4, "little") + content)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except (BrokenPipeError, OSError):
        raise LinkClosed("the other side is gone") from None


def _read_exactly(descriptor: int, size: int) -> bytes:
    parts = []
    while size:
        try:
            part = os.read(descriptor, min(size, 1 << 20))
        except OSError:
            raise LinkClosed("the channel is closed") from None
        if not part:
            raise LinkClosed("the other side is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
