"""Asks a prover about a query that no database has told from its reference, and tries its rows."""

from dataclasses import dataclass, field

from rewardkit.verdict import Json
from rewardkit.verifiers.sql._trial import Failure, Trial
from rewardkit.verifiers.sql.prover import Claim, Proof, ProofStatus, Prover

__all__ = ["Advice", "consult"]

_NO_ANSWER = ("timeout", "memory", "engine", "engine_crash")
"""Ends that show no difference."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What a prover said, and what the engine made of it."""

    proved: bool = False
    failure: Failure | None = None
    """Where its rows, run, showed a difference."""
    evidence: dict[str, Json] = field(default_factory=dict)


def consult(trial: Trial, prover: Prover) -> Advice:
    """Returns what a prover has to say about a query that has agreed everywhere.

    Its rows count only as far as the engine shows a difference on them.
    """
    prepared, tree = trial.prepared, trial.query.tree
    for i in trial.agreeing:
        reference = prepared.references[i].tree if i < len(prepared.references) else None
        given = prepared.given.expected[i]
        if reference is None or tree is None or given is None:
            continue
        if given.ordered and prepared.task.policy.ties == "exact":
            continue
        claim = Claim(
            tree,
            reference,
            prepared.engine.schema,
            prepared.engine.ddl,
            prepared.way.target,
            given.ordered,
        )
        proof = _ask(prover, claim)
        evidence: dict[str, Json] = {
            "name": prover.name, "status": proof.status.value, "detail": proof.detail[:200],
        }  # fmt: skip
        if proof.status is ProofStatus.EQUIVALENT:
            return Advice(True, None, evidence)
        if proof.data is None:
            return Advice(False, None, evidence)
        bench = prepared.bench(proof.data, f"from {prover.name}", trial.settings)
        if bench is None:
            return Advice(False, None, {**evidence, "rows": "not allowed by the schema"})
        failure = trial.try_on(bench)
        if failure is not None and failure.why in _NO_ANSWER:
            return Advice(False, None, {**evidence, "rows": failure.why})
        shown = "agree" if failure is None else "differ"
        return Advice(False, failure, {**evidence, "rows": shown})
    return Advice()


def _ask(prover: Prover, claim: Claim) -> Proof:
    # Foreign code, and advisory: whatever it dies of must not touch the verdict.
    try:
        return prover.prove(claim)
    except Exception as error:
        return Proof(ProofStatus.UNKNOWN, detail=f"{type(error).__name__}: {error}")
