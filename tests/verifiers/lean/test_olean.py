import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.verifiers.lean.audit import Module, audit
from rewardkit.verifiers.lean.olean import OleanError, read_olean


@pytest.fixture(scope="module")
def compiled(lean):
    def compile_text(text):
        check = lean.check(text, compiled=True)
        assert check.olean, check
        return check.olean

    return compile_text


def digest(module, name):
    constant = module.constants[name]
    return module.digest(constant.type_at, constant.levels)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("(n : Nat) : n = n", "(k : Nat) : k = k", True),
        ("(n : Nat) : n = n", "{n : Nat} : n = n", False),
        ("(a b : Nat) (h : a = b) : b = a", "(b a : Nat) (h : b = a) : a = b", True),
        ("(a b : Nat) (h : a = b) : b = a", "(a b : Nat) (h : a = b) : a = b", False),
        ("{α : Type u} (a : α) : a = a", "{β : Type v} (a : β) : a = a", True),
        ("{α : Type u} (a : α) : a = a", "{α : Type} (a : α) : a = a", False),
        (": 2 = 2", ": 3 = 3", False),
        (
            ": 340282366920938463463374607431768211456 = 1",
            ": 340282366920938463463374607431768211457 = 1",
            False,
        ),
    ],
)
def test_statements_are_compared_up_to_bound_names(compiled, first, second, same):
    modules = [Module.read(compiled(f"axiom t {text}\n")) for text in (first, second)]
    assert (digest(modules[0], "t") == digest(modules[1], "t")) is same


def test_kinds_and_constructors_are_read(compiled):
    _, constants = read_olean(
        compiled("inductive T where\n  | a : T\n  | b : T\naxiom x : T\ntheorem y : x = x := rfl\n")
    )
    assert constants["T"].tail == ("T.a", "T.b")
    assert [constants[n].kind for n in ("T", "T.a", "x", "y")] == [
        "inductive",
        "constructor",
        "axiom",
        "theorem",
    ]


def test_a_broken_file_is_an_error_and_nothing_else(compiled):
    data = compiled("theorem t (n : Nat) : n + 0 = n := rfl\n")
    given_module = Module.read(data)

    @settings(max_examples=150, deadline=None)
    @given(st.integers(0, len(data) - 1), st.integers(0, 255), st.integers(0, 63))
    def broken(place, byte, cut):
        changed = bytearray(data)
        changed[place] = byte
        changed = changed[: len(data) - 8 * cut]
        with contextlib.suppress(OleanError, RecursionError):
            audit(given_module, Module.read(bytes(changed)), "t", lambda names: {})

    broken()


def test_what_is_no_compiled_file_is_refused():
    for data in (b"", b"olean", b"\0" * 500, b"olean\x03" + b"\0" * 500):
        with pytest.raises(OleanError):
            read_olean(data)
