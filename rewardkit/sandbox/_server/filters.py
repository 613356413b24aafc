"""The system-call policy of a sandboxed program, as one classic BPF program."""

import errno

from rewardkit.sandbox._server.bpf import Assembler
from rewardkit.sandbox._server.refusals import ABSENT, DENIED, FOREIGN, IGNORED
from rewardkit.sandbox._server.syscalls import Architecture

__all__ = ["build_filter", "is_shared_mapping"]

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
NOTIFY = 0x7FC00000
_ERRNO = 0x00050000

_NUMBER, _ARCH = 0, 4
_ARG0, _ARG1, _ARG2, _ARG3 = 16, 24, 32, 40

# Every CLONE_NEW* flag that clone takes: mount, cgroup, uts, ipc, user, pid, net.
_NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000
_NEW_NAMESPACES |= 0x10000000 | 0x20000000 | 0x40000000
_AF_UNIX = 1
_SOCK_KINDS, _SOCK_STREAM, _SOCK_SEQPACKET = 0xF, 1, 5
_SOL_SOCKET, _SO_SNDBUF = 1, 7
_PRIO_PROCESS, _IOPRIO_PROCESS = 0, 1
_MAP_KINDS, _MAP_SHARED_ANONYMOUS = 0x2F, (0x21, 0x23)
_PR_SET_SECCOMP = 22
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FIRST_UNKNOWN = 463
_X32_BIT = 0x40000000

_SELF_ONLY = ["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"]


def build_filter(architecture: Architecture, *, notify: bool, host_in_view: bool = False) -> bytes:
    """Returns the filter for an architecture.

    Args:
        architecture: the machine the program will run on.
        notify: send refused calls to a listener, which answers EPERM and counts, instead of
            refusing alone. It is asked about shared memory without a file, too.
        host_in_view: refuse what reaches the host's files and services by their paths: sockets of
            the machine itself, and changes of what a file is said to be.
    """
    refuse = NOTIFY if notify else _ERRNO | errno.EPERM
    absent, done = _ERRNO | errno.ENOSYS, _ERRNO
    program = Assembler()
    program.load(_ARCH)
    program.return_unless_equal(architecture.audit, KILL_PROCESS)
    program.load(_NUMBER)
    if architecture.x32:
        program.return_if_at_least(_X32_BIT, KILL_PROCESS)
    program.return_if_at_least(_FIRST_UNKNOWN, absent)
    lists = [(DENIED, refuse), (ABSENT, absent)]
    if host_in_view:
        lists += [(FOREIGN, refuse), (IGNORED, done)]
    for names, action in lists:
        for name in names:
            number = architecture.number(name)
            if number is not None:
                program.return_if_equal(number, action)
    _check_arguments(program, architecture, refuse, host_in_view)
    program.return_value(ALLOW)
    return program.build()


def is_shared_mapping(architecture: Architecture, number: int) -> bool:
    """Returns whether a call that the listener is asked about wants shared memory without a file.

    Any other call that it is asked about is to be refused.
    """
    return number == architecture.number("mmap")


def _check_arguments(
    program: Assembler, architecture: Architecture, refuse: int, host_in_view: bool
) -> None:
    def rule(name: str, body: Assembler) -> None:
        number = architecture.number(name)
        if number is not None:
            program.if_equal(number, body)

    rule("clone", _body(_ARG0, bits=_NEW_NAMESPACES, listed=refuse, other=ALLOW))
    families = () if host_in_view else (_AF_UNIX,)
    rule("socket", _body(_ARG0, values=families, listed=ALLOW, other=refuse))
    rule("socketpair", _socket_pair(refuse, host_in_view))
    rule("setsockopt", _send_buffer())
    rule("prctl", _body(_ARG0, values=(_PR_SET_SECCOMP,), listed=refuse, other=ALLOW))
    rule("ioctl", _body(_ARG1, values=(_TIOCSTI, _TIOCLINUX), listed=refuse, other=ALLOW))
    # A program may set limits and priorities of its own process only: its init, and in the lower
    # tiers all processes of its user, are others.
    for name in _SELF_ONLY:
        rule(name, _body(_ARG0, values=(0,), listed=ALLOW, other=refuse))
    for name, kind in (("setpriority", _PRIO_PROCESS), ("ioprio_set", _IOPRIO_PROCESS)):
        own = Assembler()
        own.load(_ARG0)
        own.return_unless_equal(kind, refuse)
        own.extend(_body(_ARG1, values=(0,), listed=ALLOW, other=refuse))
        rule(name, own)
    rule("prlimit64", _set_limit(refuse))
    shared = _body(_ARG3, mask=_MAP_KINDS, values=_MAP_SHARED_ANONYMOUS, listed=refuse, other=ALLOW)
    rule("mmap", shared)


def _body(
    offset: int,
    *,
    mask: int = 0,
    values: tuple[int, ...] = (),
    bits: int = 0,
    listed: int,
    other: int,
) -> Assembler:
    body = Assembler()
    body.load(offset)
    if mask:
        body.mask(mask)
    if bits:
        body.return_if_any_bit(bits, listed)
    for value in values:
        body.return_if_equal(value, listed)
    body.return_value(other)
    return body


def _socket_pair(refuse: int, host_in_view: bool) -> Assembler:
    body = Assembler()
    body.load(_ARG0)
    body.return_unless_equal(_AF_UNIX, refuse)
    if host_in_view:
        # One end of a pair of datagram sockets may still send to any path.
        kinds = (_SOCK_STREAM, _SOCK_SEQPACKET)
        body.extend(_body(_ARG1, mask=_SOCK_KINDS, values=kinds, listed=ALLOW, other=refuse))
    else:
        body.return_value(ALLOW)
    return body


def _send_buffer() -> Assembler:
    # What waits in sockets is memory that no limit of a process counts; their size stays what it
    # is. The kernel, too, takes such a wish for a hint.
    body = Assembler()
    body.load(_ARG1)
    body.return_unless_equal(_SOL_SOCKET, ALLOW)
    body.extend(_body(_ARG2, values=(_SO_SNDBUF,), listed=_ERRNO, other=ALLOW))
    return body


def _set_limit(refuse: int) -> Assembler:
    body = Assembler()
    body.load(_ARG0)
    body.return_if_equal(0, ALLOW)
    for half in (_ARG2, _ARG2 + 4):  # a null pointer to the new limits: they are only read
        body.load(half)
        body.return_unless_equal(0, refuse)
    body.return_value(ALLOW)
    return body
