"""Landlock: file access and signals limited by the kernel for a process that has no privileges."""

import ctypes
import os
import struct

from rewardkit.sandbox._server import linux

__all__ = ["MINIMUM_ABI", "abi", "restrict"]

MINIMUM_ABI = 6
"""The first that keeps signals and abstract sockets inside; below it the tier would be a sieve."""

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_ALL_FILES = (1 << 16) - 1
"""Every right on files up to ABI 5, from executing to device control."""
_READ = 0b1101
_WRITE_DEVICE = 0b0110
_FILE_ONLY = 0b111 | 1 << 14 | 1 << 15
_NETWORK = 0b11
_SCOPED = 0b11
# No /dev/zero: mapped and shared, it is memory that belongs to no process.
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/java-17-openjdk")


def abi() -> int:
    """Returns the kernel's Landlock version, 0 if it has none."""
    try:
        return linux.syscall(
            _CREATE, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG)
        )
    except OSError:
        return 0


def restrict(readable: list[str], writable: str) -> None:
    """Limits this process and its children for ever; needs no_new_privs.

    Args:
        readable: files and directories that may be read and executed, besides the system's.
        writable: the one directory that may be written.
    """
    attributes = struct.pack("=QQQ", _ALL_FILES, _NETWORK, _SCOPED)
    ruleset = linux.syscall(
        _CREATE,
        "landlock_create_ruleset",
        attributes,
        ctypes.c_size_t(len(attributes)),
        ctypes.c_uint(0),
    )
    for path in (*_SYSTEM, *_SYSTEM_FILES, *readable):
        if os.path.exists(path):
            _allow(ruleset, path, _READ)
    for path in _DEVICES:
        _allow(ruleset, path, _WRITE_DEVICE)
    _allow(ruleset, writable, _ALL_FILES)
    linux.syscall(_RESTRICT, "landlock_restrict_self", ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        rights &= _FILE_ONLY
    rule = struct.pack("=Qi", rights, descriptor)
    linux.syscall(
        _ADD_RULE,
        f"landlock_add_rule {path}",
        ctypes.c_int(ruleset),
        ctypes.c_uint(_PATH_BENEATH),
        rule,
        ctypes.c_uint(0),
    )
    os.close(descriptor)
