import pytest

from rewardkit.verifiers.lean import LeanVerifier, TacticProof

STATEMENT = "theorem t (p q : Prop) : p ∧ q → q ∧ p := by sorry"


@pytest.fixture
def proof(verifier):
    return TacticProof(verifier, STATEMENT)


def test_a_proof_is_built_tactic_by_tactic(proof):
    state = proof.start()
    assert state.status == "open"
    assert state.goals == ("p q : Prop\n⊢ p ∧ q → q ∧ p",)
    state = proof.apply(state, "intro h")
    assert state.goals == ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p",)
    state = proof.apply(state, "constructor")
    assert [goal.split("\n")[-1] for goal in state.goals] == ["⊢ q", "⊢ p"]
    state = proof.apply(state, "· exact h.2")
    assert [goal.split("\n")[-1] for goal in state.goals] == ["⊢ p"]
    state = proof.apply(state, "· exact h.1")
    assert (state.status, state.goals) == ("proved", ())
    assert proof.verifier.verify(state.text, STATEMENT).passed


@pytest.mark.parametrize(
    ("tactic", "outcome"),
    [
        ("exact 1", "wrong_proof"),
        ("sorry", "sorry"),
        ("exact h.", "wrong_proof"),
        ("exact (h", "syntax"),
        ("constructor\n· skip\n· skip", "unsolved_goals"),
        ("run_tac pure ()", "forbidden"),
        ("exact sorryAx _ false", "sorry"),
    ],
)
def test_a_refused_tactic_leaves_the_state_as_it_was(proof, tactic, outcome):
    before = proof.apply(proof.start(), "intro h")
    state = proof.apply(before, tactic)
    assert (state.status, state.outcome) == ("failed", outcome), state.detail
    assert (state.tactics, state.goals) == (before.tactics, before.goals)
    assert proof.apply(state, "exact ⟨h.2, h.1⟩").status == "proved"


def test_what_the_library_lacks_is_undecided(proof):
    state = proof.apply(proof.start(), "omega")
    assert state.status == "undecided"
    assert state.goals == proof.start().goals


def test_a_tactic_that_hangs_spoils_no_later_one():
    statement = (
        "def c : Nat → Nat → Nat\n  | 0, k => k\n  | n + 1, k => c n (c n k)\n"
        "theorem t : c 60 1 = 1 ∨ True := by sorry"
    )
    with LeanVerifier(lean="wheel", timeout_s=1.0) as short:
        proof = TacticProof(short, statement)
        state = proof.apply(proof.start(), "left; decide +kernel")
        assert (state.status, state.outcome) == ("failed", "timeout")
        assert proof.apply(state, "exact Or.inr trivial").status == "proved"
