import os
import struct
import sys
from pathlib import Path

import pytest

from rewardkit.verifiers.formal.outcome import Outcome
from rewardkit.verifiers.lean import LeanVerifier, LocalLean
from rewardkit.verifiers.lean._inside import elpi
from rewardkit.verifiers.lean.audit import Module, audit
from rewardkit.verifiers.lean.backends import LostError
from rewardkit.verifiers.lean.cached import CachedDataError, check_cached

WRONG = {"statement": "theorem wrong : 1 = 2 := by sorry\n"}
KERNEL_OFF = "set_option debug.skipKernelTC true in\ntheorem wrong : 1 = 2 := by decide +kernel\n"
HONEST = {
    "structures": "structure S (α : Type) where\n  x : α\n  y : Bool\n"
    "theorem t : (S.mk 1 true).x = 1 := rfl",
    "recursion": "def f : Nat → Nat\n  | 0 => 0\n  | n + 1 => f n + 1\ntheorem t : f 3 = 3 := rfl",
    "families": "inductive V (α : Type) : Nat → Type where\n  | nil : V α 0\n"
    "  | cons : α → V α n → V α (n + 1)\ntheorem t (a : V Nat 0) : a = a := rfl",
    "nested": "inductive T where\n  | node : List T → T\ntheorem t (a : T) : a = a := rfl",
    "mutual": "mutual\ninductive A where\n  | a : B → A\ninductive B where\n  | b : B\nend\n"
    "theorem t (x : A) : x = x := rfl",
    "universes": "theorem t {α : Type u} (a : α) : a = a := rfl",
    "axioms": "theorem t (p q : Prop) (h : p ↔ q) : p = q := propext h",
    "depth": "theorem t : "
    + "True ∧ " * 150
    + "True := "
    + "⟨trivial, " * 150
    + "trivial"
    + "⟩" * 150,
}


def compiled(lean, text):
    check = lean.check(text, compiled=True)
    assert check.olean, check
    return check.olean


@pytest.mark.parametrize("name", HONEST)
def test_honest_files_are_accepted(lean, name):
    olean = compiled(lean, HONEST[name])
    assert lean.replay(olean, olean).ended == "accepted"


def test_a_theorem_that_the_kernel_never_saw_is_refused(lean):
    verifier = LeanVerifier(backend=lean)
    assert verifier.verify(KERNEL_OFF, WRONG).evidence["outcome"] == "forbidden"
    verdict = verifier.verify_unscanned(KERNEL_OFF, WRONG)
    assert verdict.score == 0.0
    assert verdict.evidence["outcome"] == "replay_refused"
    assert "wrong" in verdict.evidence["error"]


def test_without_the_replay_that_theorem_would_pass(lean, monkeypatch):
    monkeypatch.setattr(LocalLean, "replays", "")
    verifier = LeanVerifier(backend=lean)
    checked = verifier._graded(KERNEL_OFF, WRONG, scan=False)
    assert checked.score == 1.0
    assert verifier.verify_unscanned(KERNEL_OFF, WRONG) is None


def forged(olean):
    """Returns a compiled file in which `wrong : 1 = 1` says `1 = 2`, its proof left as it was."""
    module = Module.read(olean)
    file, wrong = module.file, module.constants["wrong"]
    other = module.constants["other"]  # its type is `1 = 2 → True`
    two = file.fields(file.fields(other.type_at)[1])[1]
    data = bytearray(olean)
    # An application is a header of 8 bytes, the function, and the argument.
    data[wrong.type_at + 16 : wrong.type_at + 24] = struct.pack("<Q", file.base + two)
    return bytes(data)


def test_a_compiled_file_that_was_edited_is_refused(lean):
    text = "theorem other (h : 1 = 2) : True := trivial\ntheorem wrong : 1 = 1 := rfl\n"
    file = forged(compiled(lean, text))
    given = compiled(lean, WRONG["statement"])
    audited = audit(
        Module.read(given),
        Module.read(file),
        "wrong",
        lambda names: dict.fromkeys(names, frozenset()),
    )
    assert audited.outcome is Outcome.PROVED  # the audit believes the file
    assert lean.replay(file, given).ended == "refused"


@pytest.mark.parametrize("name", HONEST)
def test_what_lean_writes_about_its_expressions_is_true(lean, name):
    check_cached(Module.read(compiled(lean, HONEST[name])))


def test_the_whole_core_library_is_true_about_its_expressions(lean):
    for path in Path(lean.toolchain.path[0]).rglob("*.olean"):
        check_cached(Module.read(path.read_bytes()))


@pytest.mark.parametrize("bit", [40, 41, 42, 43, 44, 50])
def test_a_file_that_lies_about_an_expression_is_refused(lean, bit):
    olean = bytearray(compiled(lean, "theorem wrong (a b : Nat) (h : a = b) : b = a := h.symm\n"))
    module = Module.read(bytes(olean))
    at = module.constants["wrong"].type_at
    _, pointers, _ = module.file.shape(at)
    olean[at + 8 + 8 * pointers + bit // 8] ^= 1 << bit % 8
    with pytest.raises(CachedDataError):
        check_cached(Module.read(bytes(olean)))


@pytest.mark.parametrize("size", [0, 60, 200, 1000])
def test_a_file_that_cannot_be_read_is_not_accepted(lean, size):
    whole = compiled(lean, "theorem t : True := trivial")
    try:
        ended = lean.replay(whole[:size], whole).ended
    except LostError:
        ended = "lost"
    assert ended != "accepted"


def test_a_replay_that_never_ends_is_no_proof(lean):
    text = (
        "def c : Nat → Nat → Nat\n  | 0, k => k\n  | n + 1, k => c n (c n k)\n"
        "set_option debug.skipKernelTC true in\ntheorem t : c 60 1 = 1 := by decide +kernel\n"
    )
    statement = {"statement": text.replace("by decide +kernel", "by sorry")}
    with LeanVerifier(lean="wheel", timeout_s=1.0) as short:
        verdict = short.verify_unscanned(text, statement)
    assert verdict.score == 0.0
    assert verdict.evidence["outcome"] == "timeout"


LEAN = """#!/bin/sh
case "$1" in
  --print-prefix) echo "PREFIX" ;;
  --version) echo "Lean (version 4.35.0, protocol test)" ;;
  *) exec PYTHON ELPI FOLDER "$@" ;;
esac
"""
CHECKER = """#!/bin/sh
[ "$1" = "-v" ] || exit 3
[ "$LEAN_SYSROOT" = "PREFIX" ] || exit 4
[ -n "ANSWER" ] && exec sh -c "ANSWER"
echo "replaying $2"
if PYTHON PREFIX/replays.py FOLDER "${LEAN_PATH%%:*}/$2.olean" | grep -q '"replayed"'; then
  exit 0
fi
echo "leanchecker found a problem in $2" >&2
echo "uncaught exception: (kernel) declaration type mismatch" >&2
exit 1
"""


@pytest.fixture
def toolchain(lean, tmp_path, monkeypatch):
    """Makes a folder that speaks the protocol of a toolchain with `lean` and `leanchecker`.

    This is a test of the protocol: both are wrappers of the wheel's library.
    """

    def make(answer="", compares="", tier="standard"):
        tmp_path.chmod(0o755)
        for folder in (tmp_path.parent, tmp_path.parent.parent):
            folder.chmod(0o755)
        binaries = tmp_path / "bin"
        binaries.mkdir()
        places = {
            "PREFIX": str(tmp_path),
            "PYTHON": os.path.realpath(sys._base_executable),
            "ELPI": str(tmp_path / "rewardkit/verifiers/lean/_inside/elpi.py"),
            "FOLDER": elpi.find_elpi(),
            "ANSWER": answer,
        }
        package = tmp_path / "rewardkit/verifiers/lean/_inside"
        package.mkdir(parents=True)
        for name in ("elpi", "runtime", "replay"):
            source = Path(elpi.__file__).with_name(f"{name}.py")
            (package / f"{name}.py").write_text(source.read_text())
        (tmp_path / "replays.py").write_text(
            "import sys\nfrom rewardkit.verifiers.lean._inside import elpi, replay\n"
            "lean = elpi.load(sys.argv[1])\nelpi.start(lean)\n"
            "replay.replay_file(lean, sys.argv[2])\n"
        )
        programs = [("lean", LEAN), ("leanchecker", CHECKER)]
        if compares:
            programs.append(("safe_verify", f"#!/bin/sh\n{compares}\n"))
            monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
        for name, text in programs:
            for word, value in places.items():
                text = text.replace(word, value)
            (binaries / name).write_text(text)
            (binaries / name).chmod(0o755)
        paths = [*lean.toolchain.path, *lean.toolchain.binds]
        monkeypatch.setenv("LEAN_PATH", ":".join(dict.fromkeys(paths)))
        return LeanVerifier(lean=str(binaries / "lean"), timeout_s=20.0, tier=tier)

    return make


def test_the_protocol_of_leanchecker_accepts_and_refuses(toolchain):
    with toolchain() as verifier:
        assert verifier.backend.replays == "leanchecker"
        honest = verifier.verify("theorem t : True := trivial", "theorem t : True := sorry")
        assert honest.passed, honest
        assert honest.evidence["replay"] == "leanchecker"
        refused = verifier.verify_unscanned(KERNEL_OFF, WRONG)
        assert refused.evidence["outcome"] == "replay_refused"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("exit 0", "infra_error"),  # it does not say that it replayed anything
        ("echo unknown option; exit 1", "infra_error"),
        ("kill -11 \\$\\$", "crash"),
        ("echo replaying RewardkitSubmission; exit 1", "infra_error"),
    ],
)
def test_the_protocol_of_leanchecker_fails_closed(toolchain, answer, outcome):
    with toolchain(answer) as verifier:
        verdict = verifier.verify("theorem t : True := trivial", "theorem t : True := sorry")
    assert not verdict.passed
    assert verdict.evidence["outcome"] == outcome, verdict


@pytest.mark.parametrize(
    ("tier", "compares", "outcome"),
    [
        ("hostile", '[ -s "$1" ] && [ -s "$2" ] && [ -z "$3" ] && echo Finished.', "proved"),
        (
            "hostile",
            "echo Found a problem in x with declaration t >&2; echo Finished.",
            "replay_refused",
        ),
        (
            "hostile",
            "echo uncaught exception: t used disallowed axioms. >&2; exit 1",
            "replay_refused",
        ),
        ("hostile", "exit 0", "infra_error"),
        ("standard", "exit 1", "proved"),  # it runs where that is asked for
    ],
)
def test_the_protocol_of_safe_verify(toolchain, tier, compares, outcome):
    with toolchain(compares=compares, tier=tier) as verifier:
        verdict = verifier.verify("theorem t : True := trivial", "theorem t : True := sorry")
    assert verdict.evidence["outcome"] == outcome, verdict
