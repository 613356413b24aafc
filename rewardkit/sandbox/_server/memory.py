"""How much memory a tree of processes holds, as its init sees it."""

import contextlib
import os

__all__ = ["descendants", "tree_memory"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MAPPED_BY_TABLE = 512
"""A page of page tables maps this many pages."""
_FREE_SOCKETS = 64
_SOCKET_BYTES = 256 << 10
"""What waits in one socket, at most: its send buffer, whose size a program cannot change."""


def tree_memory(proc: int, limit: int) -> int:
    """Returns the bytes that all processes below this one hold: pages, page tables, sockets.

    Args:
        proc: a descriptor of a /proc that shows them.
        limit: where a closer, dearer look is due.
    """
    pids = _members(proc)
    sizes = [_sizes(proc, pid) for pid in pids]
    virtual, resident = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0)
    # Resident sizes count shared pages once a process, so they only say when a closer look is due.
    if resident > limit:
        resident = sum(_proportional(proc, pid) for pid in pids)
    # A mapping that is merely read has no pages of its own, but tables for each that was touched.
    if virtual // _MAPPED_BY_TABLE > limit // 16:
        resident += sum(_tables(proc, pid) for pid in pids)
    return resident + _sockets(proc)


def descendants(proc: int, top: int | None = None) -> list[int]:
    """Returns the processes below one, by default this one; as `proc` numbers them."""
    found: list[int] = []
    waiting = [int(os.readlink("self", dir_fd=proc)) if top is None else top]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for thread in _names(proc, f"{pid}/task"):
                children = [int(c) for c in _read(proc, f"{pid}/task/{thread}/children").split()]
                found += children
                waiting += children
    return found


def _members(proc: int) -> list[int]:
    if os.getpid() == 1 and os.readlink("self", dir_fd=proc) == "1":
        return [int(name) for name in _names(proc, ".") if name.isdigit() and name != "1"]
    return descendants(proc)


def _sizes(proc: int, pid: int) -> tuple[int, int]:
    try:
        pages = _read(proc, f"{pid}/statm").split()
        return int(pages[0]) * _PAGE, int(pages[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0, 0


def _proportional(proc: int, pid: int) -> int:
    # A program may forbid a closer look at itself: then it is held to the rough one.
    try:
        return _field(_read(proc, f"{pid}/smaps_rollup"), b"Pss:")
    except (OSError, ValueError):
        return _sizes(proc, pid)[1]


def _tables(proc: int, pid: int) -> int:
    try:
        return _field(_read(proc, f"{pid}/status"), b"VmPTE:")
    except (OSError, ValueError):
        return 0


def _sockets(proc: int) -> int:
    if os.getpid() != 1:
        return 0  # the network is not the run's own, nor are its sockets
    try:
        lines = _read(proc, "self/net/sockstat").split()
        count = int(lines[lines.index(b"used") + 1])
    except (OSError, ValueError, IndexError):
        return 0
    return max(0, count - _FREE_SOCKETS) * _SOCKET_BYTES


def _field(text: bytes, name: bytes) -> int:
    for line in text.splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _names(proc: int, path: str) -> list[str]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.listdir(descriptor)
    finally:
        os.close(descriptor)


def _read(proc: int, path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
