import json
import os
import pickle
from pathlib import Path

import pytest

from rewardkit import Reason
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.formal.selftest import read_suite
from rewardkit.verifiers.lean import LeanVerifier

STATEMENT = {"statement": "theorem t (p q : Prop) : p ∧ q → q ∧ p := by sorry\n"}
HEAD = "theorem t (p q : Prop) : p ∧ q → q ∧ p := "
SUM = {"statement": "theorem s (n : Nat) : 0 + n = n + 0 := by sorry\n"}


@pytest.mark.parametrize("row", read_suite("lean"), ids=lambda row: row["name"])
def test_no_attack_is_accepted_and_every_honest_proof_is(verifier, row):
    verdict = verifier.verify(row["submission"], {"statement": row["statement"]})
    assert verdict.score == float(row["kind"] == "honest"), (row["why"], verdict)


def test_the_shared_cases_are_right_and_the_undecidable_abstain(lean):
    shared = os.environ.get("REWARDKIT_SHARED")
    path = Path(shared or "", "cases/formal/cases.jsonl")
    if not shared or not path.is_file():
        pytest.skip("REWARDKIT_SHARED is not set: benchmarks/formal_cases.py runs them all")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    verifier = LeanVerifier(lean="wheel", timeout_s=4.0)
    with verifier:
        for row in rows:
            if row["system"] != "lean4":
                continue
            verdict = verifier.verify(row["submission"], {"statement": row["statement"]})
            undecidable = row["verified_with"] is None and verdict.abstained
            assert undecidable or verdict.score == float(row["label"]), (row["id"], verdict)


@pytest.mark.parametrize(
    "completion",
    [
        f"```lean\n{HEAD}fun h => ⟨h.2, h.1⟩\n```",
        f"<think>sorry</think>So:\n```lean4\n{HEAD}fun h => ⟨h.2, h.1⟩\n```\nDone.",
        f"First\n```lean\n{HEAD}by sorry\n```\nthen\n```lean\n{HEAD}fun h => ⟨h.2, h.1⟩\n```",
        "```lean\nby\n  intro h\n  exact ⟨h.2, h.1⟩\n```",
        "intro h\nexact ⟨h.2, h.1⟩",
        ":= fun h => ⟨h.2, h.1⟩",
        "fun h => ⟨h.2, h.1⟩",
    ],
)
def test_a_whole_file_a_theorem_and_a_body_are_all_read(verifier, completion):
    assert verifier.verify(completion, STATEMENT).passed


def test_definitions_of_the_statement_need_not_be_repeated(verifier):
    reference = {
        "statement": "def f (n : Nat) := n + 1\ntheorem t (n : Nat) : f n = n + 1 := sorry"
    }
    assert verifier.verify("theorem t (n : Nat) : f n = n + 1 := rfl", reference).passed


@pytest.mark.parametrize(
    "completion", ["", None, "```lean\nby simp", "<think>x", "\ud800", "{" * 9]
)
def test_no_completion_raises(verifier, completion):
    assert verifier.verify(completion, STATEMENT).score == 0.0


@pytest.mark.parametrize(
    "reference", [None, 3, {}, {"statement": "x"}, {"statement": "def a := 1"}]
)
def test_a_reference_without_a_theorem_raises(verifier, reference):
    with pytest.raises(InvalidReferenceError):
        verifier.verify("by simp", reference)


def test_what_needs_leans_own_library_is_an_abstention(verifier):
    verdict = verifier.verify("by omega", SUM)
    assert verdict.abstained
    assert verdict.reason is Reason.ENGINE_MISSING
    assert "lean-lang.org" in verdict.detail


@pytest.mark.parametrize(
    "proof",
    [
        "by exact Nat.gcd_comm n 0",
        "by exact Int.zero_add n",
        "by rw [mul_left_comm]",
        "by have h : n = n ∧ n = n := ⟨rfl, rfl⟩; exact h.left_comm",
        "def f (n : Nat) : Nat := f (n + 1)\ndecreasing_by exact n\n"
        "theorem s (n : Nat) : 0 + n = n + 0 := rfl",  # well-founded recursion needs the library
        "open Finset in\ntheorem s (n : Nat) : 0 + n = n + 0 := rfl",
    ],
)
def test_a_name_that_the_core_library_lacks_is_an_abstention(verifier, proof):
    verdict = verifier.verify(proof, SUM)
    assert verdict.abstained, verdict
    assert verdict.reason is Reason.ENGINE_MISSING
    assert "small part of Lean's" in verdict.detail


def test_a_module_that_the_statement_does_without_is_wrong(verifier):
    verdict = verifier.verify("import Mathlib\ntheorem s (n : Nat) : 0 + n = n + 0 := rfl", SUM)
    assert verdict.score == 0.0
    assert verdict.evidence["outcome"] == "unknown_identifier"
    header = verifier.verify("fun n => rfl", {**SUM, "header": "import Mathlib"})
    assert header.abstained


def test_a_module_is_asked_for_by_a_plain_name(verifier):
    text = "import «..».elsewhere\ntheorem s (n : Nat) : 0 + n = n + 0 := rfl"
    assert verifier.verify(text, SUM).evidence["outcome"] == "forbidden"


@pytest.mark.parametrize("name", ["Nat.add_comm_of_everything n", "hx", "h.nonsense"])
def test_a_name_that_nobody_has_is_wrong(verifier, name):
    proof = f"by\n  have h : n = n ∧ n = n := ⟨rfl, rfl⟩\n  exact {name}"
    verdict = verifier.verify(proof, SUM)
    assert verdict.score == 0.0
    assert verdict.evidence["outcome"] == "unknown_identifier"


def test_an_unknown_name_of_the_submissions_own_is_wrong(verifier):
    text = "theorem s (n : Nat) : 0 + n = n + 0 := later n\ntheorem later (n : Nat) : n = n := rfl"
    verdict = verifier.verify(text, SUM)
    assert verdict.score == 0.0
    assert verdict.evidence["outcome"] == "unknown_identifier"


def test_unsolved_goals_are_listed_with_their_place(verifier):
    text = "```lean\ntheorem s (n : Nat) : 0 + n = n + 0 := by\n  rw [Nat.add_zero]\n```"
    verdict = verifier.verify(text, SUM)
    assert verdict.evidence["outcome"] == "unsolved_goals"
    assert "0 + n = n" in verdict.evidence["goals"][0]
    assert text[verdict.evidence["position"] :].startswith("by")


def test_steps_before_the_first_error_are_good(verifier):
    lines = ["intro h", "have a := h.1", "exact h.1", "done"]
    text = "Proof:\n```lean\n" + HEAD + "by\n" + "".join(f"  {x}\n" for x in lines) + "```"
    verdict = verifier.verify(text, STATEMENT)
    assert [text[s.start : s.end] for s in verdict.steps] == lines
    assert [s.score for s in verdict.steps] == [1.0, 1.0, 0.0, 0.0]
    assert verdict.parts["steps"] == pytest.approx(2 / 5)


def test_steps_of_a_body_are_placed_in_the_completion(verifier):
    text = "```lean\nintro h\nexact h.1\n```"
    verdict = verifier.verify(text, STATEMENT)
    assert [text[s.start : s.end] for s in verdict.steps] == ["intro h", "exact h.1"]
    assert [s.score for s in verdict.steps] == [1.0, 0.0]


def test_partial_credit_never_reaches_a_proof_and_never_pays_for_a_hole(lean):
    paid = LeanVerifier(backend=lean, process_reward=0.5)
    failed = paid.verify(f"{HEAD}by\n  intro h\n  exact h.1\n", STATEMENT)
    assert failed.score == pytest.approx(0.5 * 1 / 3)
    hole = paid.verify(f"{HEAD}by\n  intro h\n  have a := h.1\n  sorry\n", STATEMENT)
    assert hole.score == 0.0
    padded = paid.verify(f"{HEAD}by\n" + "  skip\n" * 50 + "  exact 1\n", STATEMENT)
    assert padded.score < 0.5


def test_a_have_is_credited_by_itself(lean):
    credited = LeanVerifier(backend=lean, have_credit=True)
    text = f"{HEAD}by\n  intro h\n  have a : q := h.2\n  have b : p := h.2\n  exact ⟨a, b⟩\n"
    assert credited.verify(text, STATEMENT).parts["haves"] == pytest.approx(0.5)
    hole = text.replace("have a : q := h.2", "have a : q := by sorry")
    assert credited.verify(hole, STATEMENT).parts["haves"] == 0.0


def test_equal_proofs_of_a_group_are_checked_once(lean):
    counted = LeanVerifier(backend=lean)
    calls = []
    grade = counted._grade
    counted._grade = lambda text, reference: calls.append(text) or grade(text, reference)
    proofs = [f"{HEAD}fun h => ⟨h.2, h.1⟩", f"{HEAD}by simp", f"{HEAD}fun h => ⟨h.2, h.1⟩"]
    verdicts = counted.verify_batch(proofs, [STATEMENT] * 3)
    assert [v.score for v in verdicts][::2] == [1.0, 1.0]
    assert sorted(calls) == sorted(set(proofs))
    counted.verify(proofs[0], STATEMENT)
    assert len(calls) == 2


def test_the_hostile_tier_and_the_fast_tier(lean):
    honest = f"{HEAD}fun h => ⟨h.2, h.1⟩"
    assert LeanVerifier(backend=lean, tier="hostile").verify(honest, STATEMENT).passed
    fast = LeanVerifier(backend=lean, tier="fast")
    assert fast.verify(honest, STATEMENT).passed
    assert fast.verify(f"{HEAD}by sorry", STATEMENT).evidence["outcome"] == "sorry"


def test_a_pickled_verifier_works(lean):
    copy = pickle.loads(pickle.dumps(LeanVerifier(lean="wheel")))
    with copy:
        assert copy.verify(f"{HEAD}fun h => ⟨h.2, h.1⟩", STATEMENT).passed


def test_a_proof_that_never_ends_is_killed_and_the_worker_replaced(lean):
    statement = {
        "statement": "def c : Nat → Nat → Nat\n  | 0, k => k\n  | n + 1, k => c n (c n k)\n"
        "theorem t : c 60 1 = 1 := by sorry"
    }
    with LeanVerifier(lean="wheel", timeout_s=1.0) as short:
        verdict = short.verify("theorem t : c 60 1 = 1 := by decide +kernel", statement)
        assert verdict.reason is Reason.TIMEOUT
        assert short.verify(f"{HEAD}fun h => ⟨h.2, h.1⟩", STATEMENT).passed


def test_memory_is_limited():
    with LeanVerifier(lean="wheel", memory_bytes=3 << 30, timeout_s=20.0) as small:
        text = (
            "def grow : Nat → List Nat → List Nat\n  | 0, l => l\n  | n + 1, l => grow n (l ++ l)\n"
            "theorem t : (grow 40 [1]).length = 1 := by native_decide"
        )
        statement = {"statement": text.replace("native_decide", "sorry")}
        verdict = small.verify(text, statement)
        assert verdict.evidence["outcome"] == "memory", verdict.detail


def test_options_outside_their_range_are_named():
    for options in ({"tier": "x"}, {"process_reward": 1.0}, {"workers": 0}, {"cache": -1}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            LeanVerifier(lean="wheel", **options)


def test_easy_statements_are_warned_of(verifier):
    assert verifier.check_reference({"statement": "theorem t : True := sorry"})


def test_a_library_of_ones_own_without_any_name_of_leans(lean, tmp_path):
    source = Path("fixtures/lean/Own.lean").read_text(encoding="utf-8")
    built = lean.check(source, compiled=True)
    assert not [m for m in built.messages if m.severity == "error"]
    folder = tmp_path / "library"
    folder.mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    (folder / "Own.olean").write_bytes(built.olean)
    reference = {
        "header": "prelude\nimport Own",
        "statement": "theorem t (a : Count) : Same (plus a Count.none) a := Own.hole",
    }
    reference["statement"] = reference["statement"].replace("Own.hole", "hole _")
    with LeanVerifier(lean="wheel", path=(str(folder),)) as own:
        right = own.verify(
            "theorem t (a : Count) : Same (plus a Count.none) a := Same.same", reference
        )
        wrong = own.verify(
            "theorem t (a : Count) : Same (plus a Count.none) a := hole _", reference
        )
    assert right.passed
    assert wrong.evidence["outcome"] == "bad_axiom"
    assert wrong.evidence["axioms"] == ["hole"]
