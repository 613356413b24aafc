import pytest

from rewardkit.errors import InvalidReferenceError
from rewardkit.verifiers.formal.selftest import read_suite
from tests._needs import needs_program


@pytest.fixture(scope="module")
def verifier():
    needs_program("coqc", get="apt-get install coq")
    from rewardkit.verifiers.rocq import RocqVerifier

    with RocqVerifier() as made:
        yield made


@pytest.mark.parametrize("row", read_suite("rocq"), ids=lambda row: row["name"])
def test_no_attack_is_accepted_and_every_honest_proof_is(verifier, row):
    verdict = verifier.verify(row["submission"], {"statement": row["statement"]})
    assert verdict.score == float(row["kind"] == "honest"), (row["why"], verdict)


def test_names_of_bound_variables_are_free(verifier):
    statement = {"statement": "Theorem t : forall n m : nat, n = m -> m = n."}
    proof = (
        "Theorem t : forall a b : nat, a = b -> b = a.\nProof. intros; symmetry; assumption. Qed."
    )
    assert verifier.verify(proof, statement).passed
    swapped = proof.replace("forall a b", "forall b a")
    assert verifier.verify(swapped, statement).score == 1.0 - 1.0 * (swapped != proof)


def test_a_statement_that_rocq_refuses_is_the_callers_mistake(verifier):
    with pytest.raises(InvalidReferenceError, match="refuses"):
        verifier.verify("Proof. Qed.", {"statement": "Theorem t : nothing = 1."})


def test_a_tactic_that_finds_no_assumption_is_a_wrong_proof(verifier):
    verdict = verifier.verify("intros. assumption.", "Theorem t : forall p q : Prop, p -> q.")
    assert verdict.evidence["outcome"] == "wrong_proof"
