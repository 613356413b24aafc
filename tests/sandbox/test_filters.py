"""The system-call filter, run on every call by a small BPF machine of the test's own."""

import struct

import pytest

from rewardkit.sandbox._server import filters, refusals
from rewardkit.sandbox._server.syscalls import ARCHITECTURES, Architecture

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050001, 0x00050026


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
