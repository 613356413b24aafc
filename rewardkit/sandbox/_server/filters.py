"""The system-call policy of a sandboxed program, as one classic BPF program."""

import errno

from rewardkit.sandbox._server.bpf import Assembler
from rewardkit.sandbox._server.syscalls import Architecture

__all__ = ["ABSENT", "DENIED", "build_filter"]

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
NOTIFY = 0x7FC00000
_ERRNO = 0x00050000

_NUMBER, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24

# Every CLONE_NEW* flag that clone takes: mount, cgroup, uts, ipc, user, pid, net.
_NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000
_NEW_NAMESPACES |= 0x10000000 | 0x20000000 | 0x40000000
_AF_UNIX = 1
_PR_SET_SECCOMP = 22
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FIRST_UNKNOWN = 463
_X32_BIT = 0x40000000

DENIED = [
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    "mount",
    "umount2",
    "pivot_root",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "chroot",
    "setns",
    "unshare",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "fanotify_init",
    "fanotify_mark",
    "name_to_handle_at",
    "open_by_handle_at",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "iopl",
    "ioperm",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "lookup_dcookie",
    "nfsservctl",
    "vhangup",
    "modify_ldt",
    "sethostname",
    "setdomainname",
    "uselib",
    "seccomp",
    "migrate_pages",
    "move_pages",
    "vmsplice",
]
"""Calls that no honest program needs: refused, and reported beside the result."""

ABSENT = [
    "clone3",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "memfd_create",
    "memfd_secret",
    "personality",
    "sysfs",
    "ustat",
    "_sysctl",
    "shmget",
    "shmat",
    "shmctl",
    "shmdt",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "semget",
    "semop",
    "semctl",
    "semtimedop",
    "mq_open",
    "mq_unlink",
    "mq_timedsend",
    "mq_timedreceive",
    "mq_notify",
    "mq_getsetattr",
]
"""Calls that libraries probe for and do without: answered as if the kernel were too old.

`clone3` passes its flags in memory, where a filter cannot look, so the C library is sent back to
`clone`. The System V and message-queue calls and memfd hold memory that no per-process limit
counts.
"""


def build_filter(architecture: Architecture, *, notify: bool, unix_sockets: bool = True) -> bytes:
    """Returns the filter for an architecture.

    Args:
        architecture: the machine the program will run on.
        unix_sockets: allow sockets of the machine itself; where the host's files are in view, these
            reach its services.
        notify: send refused calls to a listener, which answers EPERM and counts, instead of
            refusing alone.
    """
    refuse = NOTIFY if notify else _ERRNO | errno.EPERM
    local = ALLOW if unix_sockets else refuse
    absent = _ERRNO | errno.ENOSYS
    program = Assembler()
    program.load(_ARCH)
    program.return_unless_equal(architecture.audit, KILL_PROCESS)
    program.load(_NUMBER)
    if architecture.x32:
        program.return_if_at_least(_X32_BIT, KILL_PROCESS)
    program.return_if_at_least(_FIRST_UNKNOWN, absent)
    for names, action in ((DENIED, refuse), (ABSENT, absent)):
        for name in names:
            number = architecture.number(name)
            if number is not None:
                program.return_if_equal(number, action)
    _check_argument(
        program, architecture, "clone", _ARG0, bits=_NEW_NAMESPACES, listed=refuse, other=ALLOW
    )
    _check_argument(
        program, architecture, "socket", _ARG0, values=(_AF_UNIX,), listed=local, other=refuse
    )
    _check_argument(
        program, architecture, "prctl", _ARG0, values=(_PR_SET_SECCOMP,), listed=refuse, other=ALLOW
    )
    _check_argument(
        program,
        architecture,
        "ioctl",
        _ARG1,
        values=(_TIOCSTI, _TIOCLINUX),
        listed=refuse,
        other=ALLOW,
    )
    program.return_value(ALLOW)
    return program.build()


def _check_argument(
    program: Assembler,
    architecture: Architecture,
    name: str,
    offset: int,
    *,
    values: tuple[int, ...] = (),
    bits: int = 0,
    listed: int,
    other: int,
) -> None:
    number = architecture.number(name)
    if number is None:
        return
    body = Assembler()
    body.load(offset)
    if bits:
        body.return_if_any_bit(bits, listed)
    for value in values:
        body.return_if_equal(value, listed)
    body.return_value(other)
    program.if_equal(number, body)
