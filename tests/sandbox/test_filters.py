"""The system-call filter, run on every call by a small BPF machine of the test's own."""

import struct

import pytest

from rewardkit.sandbox._server import filters, refusals
from rewardkit.sandbox._server.syscalls import ARCHITECTURES, Architecture

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, DONE = 0x00050001, 0x00050026, 0x00050000


def run(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    data = struct.pack("=iIQ6Q", number, architecture, 0, *(*arguments, *[0] * 6)[:6])
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x06:
            return operand
        elif operation == 0x54:
            accumulator &= operand
        else:
            holds = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[operation]
            at += if_true if holds else if_false


@pytest.fixture(params=sorted(ARCHITECTURES))
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return ARCHITECTURES[request.param]


def test_denied_calls_are_refused_on_each_architecture(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=False)
    for name in refusals.DENIED:
        number = architecture.number(name)
        if number is not None:
            assert run(program, architecture.audit, number) == EPERM, name


def test_absent_calls_look_unimplemented(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=False)
    for name in refusals.ABSENT:
        number = architecture.number(name)
        if number is not None:
            assert run(program, architecture.audit, number) == ENOSYS, name


def test_ordinary_calls_pass(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=True)
    for number in (0, 1, 3, 60, 61):  # read, write, exit and their neighbours on x86_64
        assert run(program, ARCHITECTURES["x86_64"].audit, number) in {ALLOW, KILL}
    clone = architecture.number("clone")
    assert clone is not None
    assert run(program, architecture.audit, clone, 0x11) == ALLOW
    assert run(program, architecture.audit, clone, 0x3D0F00) == ALLOW  # a thread


@pytest.mark.parametrize("flag", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x40000000])
def test_clone_into_a_new_namespace_is_refused(architecture: Architecture, flag: int) -> None:
    program = filters.build_filter(architecture, notify=False)
    clone = architecture.number("clone")
    assert clone is not None
    assert run(program, architecture.audit, clone, 0x11 | flag) == EPERM


def test_only_local_sockets_are_allowed(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=False)
    call = architecture.number("socket")
    assert call is not None
    assert run(program, architecture.audit, call, 1) == ALLOW
    for family in (0, 2, 10, 16, 17, 38, 40):
        assert run(program, architecture.audit, call, family) == EPERM


def test_local_sockets_are_refused_where_host_files_are_in_view(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=False, host_in_view=True)
    call = architecture.number("socket")
    assert call is not None
    assert run(program, architecture.audit, call, 1) == EPERM


def test_a_foreign_architecture_is_killed(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=False)
    assert run(program, 0x40000003, 1) == KILL  # i386


def test_the_second_table_of_x86_64_is_killed() -> None:
    architecture = ARCHITECTURES["x86_64"]
    program = filters.build_filter(architecture, notify=False)
    assert run(program, architecture.audit, 0x40000000 | 101) == KILL


def test_calls_newer_than_the_filter_look_unimplemented(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=False)
    assert run(program, architecture.audit, 900) == ENOSYS


def test_refused_calls_go_to_the_listener_when_asked(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=True)
    number = architecture.number("ptrace")
    assert number is not None
    assert run(program, architecture.audit, number) == 0x7FC00000


SELF_ONLY = [
    ("prlimit64", (0, 7, 1), (9, 7, 1)),
    ("prlimit64", (9, 7, 0), (9, 7, 1 << 32)),
    ("sched_setaffinity", (0,), (9,)),
    ("sched_setscheduler", (0,), (9,)),
    ("sched_setparam", (0,), (9,)),
    ("sched_setattr", (0,), (9,)),
    ("setpriority", (0, 0), (0, 9)),
    ("setpriority", (0, 0), (2, 0)),
    ("ioprio_set", (1, 0), (1, 9)),
    ("ioprio_set", (1, 0), (3, 0)),
    ("socketpair", (1, 1), (2, 1)),
]


@pytest.mark.parametrize(("name", "allowed", "refused"), SELF_ONLY)
def test_a_program_sets_only_what_is_its_own(
    architecture: Architecture, name: str, allowed: tuple[int, ...], refused: tuple[int, ...]
) -> None:
    program = filters.build_filter(architecture, notify=False)
    number = architecture.number(name)
    assert number is not None
    assert run(program, architecture.audit, number, *allowed) == ALLOW
    assert run(program, architecture.audit, number, *refused) == EPERM


def test_shared_memory_without_a_file_is_asked_about(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=True)
    number = architecture.number("mmap")
    assert number is not None
    assert filters.is_shared_mapping(architecture, number)
    for flags, action in ((0x22, ALLOW), (0x01, ALLOW), (0x4021, 0x7FC00000), (0x23, 0x7FC00000)):
        assert run(program, architecture.audit, number, 0, 1, 3, flags) == action


def test_the_size_of_a_send_buffer_stays(architecture: Architecture) -> None:
    program = filters.build_filter(architecture, notify=True)
    number = architecture.number("setsockopt")
    assert number is not None
    assert run(program, architecture.audit, number, 3, 1, 7) == DONE
    assert run(program, architecture.audit, number, 3, 1, 9) == ALLOW
    assert run(program, architecture.audit, number, 3, 6, 7) == ALLOW


def test_changes_of_files_by_path_are_shut_where_host_files_are_in_view(
    architecture: Architecture,
) -> None:
    program = filters.build_filter(architecture, notify=False, host_in_view=True)
    inside = filters.build_filter(architecture, notify=False)
    for names, action in ((refusals.FOREIGN, EPERM), (refusals.IGNORED, DONE)):
        for name in names:
            number = architecture.number(name)
            if number is not None:
                assert run(program, architecture.audit, number) == action, name
                assert run(inside, architecture.audit, number) == ALLOW, name


def test_no_pair_of_datagram_sockets_where_host_files_are_in_view(
    architecture: Architecture,
) -> None:
    program = filters.build_filter(architecture, notify=False, host_in_view=True)
    number = architecture.number("socketpair")
    assert number is not None
    for kind, action in ((1, ALLOW), (5, ALLOW), (0x80801, ALLOW), (2, EPERM), (0x80003, EPERM)):
        assert run(program, architecture.audit, number, 1, kind) == action
