"""The Linux calls that Python does not offer, each raising OSError with its name when it fails."""

import ctypes
import os
import platform
import struct
from dataclasses import dataclass

__all__ = [
    "CLONE_NEWCGROUP",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "MNT_DETACH",
    "MS_BIND",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_REC",
    "Notification",
    "answer_notification",
    "drop_capabilities",
    "install_filter",
    "make_tree_read_only",
    "map_single_user",
    "mount",
    "pivot_root",
    "receive_notification",
    "set_child_subreaper",
    "set_dumpable",
    "set_name",
    "set_no_new_privileges",
    "set_parent_death_signal",
    "setns",
    "signal_descriptor",
    "syscall",
    "unmount",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SYS_MOUNT_SETATTR = 442

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
_NOTIF_RECV, _NOTIF_SEND = 0xC0502100, 0xC0182101
_NOTIF_SIZE = 80
_NOTIF_CONTINUE = 1

_libc = ctypes.CDLL(None, use_errno=True)
_IS_X86 = platform.machine() == "x86_64"
_SYS_PIVOT_ROOT = 155 if _IS_X86 else 41
_SYS_CAPSET = 126 if _IS_X86 else 91
_SYS_SECCOMP = 317 if _IS_X86 else 277


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *arguments: object) -> int:
    """Returns what a raw system call returned."""
    return _check(_libc.syscall(ctypes.c_long(number), *arguments), what)


def unshare(flags: int) -> None:
    """Moves the process into new namespaces."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def setns(descriptor: int, kind: int) -> None:
    """Moves the process (for pid: its future children) into a namespace."""
    _check(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mounts a file system, or binds a directory."""
    result = _libc.mount(
        source.encode() if source is not None else None,
        target.encode(),
        kind.encode() if kind is not None else None,
        ctypes.c_ulong(flags),
        options.encode() if options else None,
    )
    _check(result, f"mount {kind or source} on {target}")


def unmount(target: str, flags: int) -> None:
    """Unmounts what is mounted on `target`."""
    _check(_libc.umount2(target.encode(), ctypes.c_int(flags)), f"umount {target}")


def make_tree_read_only(target: str) -> None:
    """Makes every mount below `target` read-only, without set-uid programs and device files."""
    attributes = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV
    request = struct.pack("=QQQQ", attributes, 0, 0, 0)
    syscall(
        _SYS_MOUNT_SETATTR,
        f"mount_setattr {target}",
        ctypes.c_int(_AT_FDCWD),
        target.encode(),
        ctypes.c_uint(_AT_RECURSIVE),
        request,
        ctypes.c_size_t(len(request)),
    )


def pivot_root(new: str, old: str) -> None:
    """Makes `new` the root; the old root appears at `old`."""
    syscall(_SYS_PIVOT_ROOT, f"pivot_root {new}", new.encode(), old.encode())


def map_single_user(proc: int, inside: int, outside_user: int, outside_group: int) -> None:
    """Maps one user and one group into the user namespace that the process has just entered.

    Args:
        proc: a directory descriptor of a /proc that shows this process.
        inside: the user and group number inside.
        outside_user: the user number of the process outside.
        outside_group: the group number of the process outside.
    """
    for name, text in (
        ("uid_map", f"{inside} {outside_user} 1"),
        ("setgroups", "deny"),
        ("gid_map", f"{inside} {outside_group} 1"),
    ):
        descriptor = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _prctl(option: int, value: int, what: str, third: int = 0) -> None:
    _check(
        _libc.prctl(
            ctypes.c_int(option),
            ctypes.c_ulong(value),
            ctypes.c_ulong(third),
            ctypes.c_ulong(0),
            ctypes.c_ulong(0),
        ),
        what,
    )


def set_parent_death_signal(number: int) -> None:
    """Has the kernel send a signal when the thread that forked this process is gone."""
    _prctl(_PR_SET_PDEATHSIG, number, "PR_SET_PDEATHSIG")


def set_dumpable(value: bool) -> None:
    """Says whether processes of the same user may look into this one."""
    _prctl(_PR_SET_DUMPABLE, int(value), "PR_SET_DUMPABLE")


def set_child_subreaper() -> None:
    """Makes orphans among the descendants children of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def set_no_new_privileges() -> None:
    """Gives up for ever what set-uid programs and file capabilities would add."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")


def set_name(name: str) -> None:
    """Sets the name that process lists show."""
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    _check(_libc.prctl(ctypes.c_int(_PR_SET_NAME), buffer, 0, 0, 0), "PR_SET_NAME")


def drop_capabilities() -> None:
    """Empties the bounding, ambient, inheritable, permitted and effective sets."""
    capability = 0
    # A process without CAP_SETPCAP cannot empty the bounding set and, holding no capability, gains
    # none by it.
    while capability < 64:
        result = _libc.prctl(ctypes.c_int(_PR_CAPBSET_DROP), ctypes.c_ulong(capability), 0, 0, 0)
        if result < 0:
            break
        capability += 1
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, "PR_CAP_AMBIENT_CLEAR_ALL")
    header = struct.pack("=Ii", 0x20080522, 0)
    syscall(_SYS_CAPSET, "capset", header, bytes(24))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter(program: bytes, *, listener: bool) -> int:
    """Installs a system-call filter for ever.

    Returns:
        The listener's descriptor, or 0 without one.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    request = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p).value)
    return syscall(
        _SYS_SECCOMP,
        "seccomp",
        ctypes.c_uint(_SECCOMP_SET_MODE_FILTER),
        ctypes.c_uint(_SECCOMP_FILTER_FLAG_NEW_LISTENER if listener else 0),
        ctypes.byref(request),
    )


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that waits for the listener's answer."""

    identifier: int
    number: int
    arguments: tuple[int, ...]


def receive_notification(listener: int) -> Notification | None:
    """Returns the call that waits, or None if its caller is gone."""
    buffer = ctypes.create_string_buffer(_NOTIF_SIZE)
    if _libc.ioctl(ctypes.c_int(listener), ctypes.c_ulong(_NOTIF_RECV), buffer) < 0:
        return None
    fields = struct.unpack_from("=QIIiIQ6Q", buffer.raw)
    return Notification(fields[0], fields[3], fields[6:])


def answer_notification(listener: int, identifier: int, error: int) -> None:
    """Answers a waiting call with an error, or with 0 lets it go on; ignores a caller that is gone.

    A call that goes on is not looked at again, so its memory may have changed since. Let one go on
    only for what stands in its registers.
    """
    response = struct.pack("=QqiI", identifier, 0, -error, 0 if error else _NOTIF_CONTINUE)
    _libc.ioctl(ctypes.c_int(listener), ctypes.c_ulong(_NOTIF_SEND), response)


def signal_descriptor(*numbers: int) -> int:
    """Returns a descriptor that is readable while one of the (blocked) signals is pending."""
    mask = (ctypes.c_ulong * 16)()
    for number in numbers:
        mask[(number - 1) // 64] |= 1 << ((number - 1) % 64)
    flags = os.O_NONBLOCK | os.O_CLOEXEC
    return _check(
        _libc.signalfd(ctypes.c_int(-1), ctypes.byref(mask), ctypes.c_int(flags)), "signalfd"
    )
