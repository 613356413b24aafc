"""Proofs one tactic at a time, on any backend: what an interactive prover gives to a search."""

from dataclasses import dataclass, replace
from typing import Literal

from rewardkit.verdict import Json
from rewardkit.verifiers.formal.outcome import Outcome
from rewardkit.verifiers.lean.verifier import LeanVerifier

__all__ = ["TacticProof", "TacticState"]

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class TacticState:
    """Where a proof stands after some tactics."""

    tactics: tuple[str, ...]
    goals: tuple[str, ...]
    """What is left to prove, each as Lean prints it; empty once it is proved."""
    status: Literal["open", "proved", "failed", "undecided"] = "open"
    """`failed`: the last tactic was refused and is not among `tactics`; `undecided`: nothing is
    known about it, because the engine broke or lacks its library."""
    outcome: str = "unsolved_goals"
    """One of `rewardkit.verifiers.formal.Outcome`."""
    detail: str = ""

    @property
    def text(self) -> str:
        """The proof so far, as a completion."""
        lines = [line for tactic in self.tactics for line in tactic.split("\n")] or ["skip"]
        return "by\n" + "".join(f"{_INDENT}{line}\n" for line in lines)


class TacticProof:
    r"""Builds a proof of one statement tactic by tactic.

    Each step is a check of the whole proof so far, in a process of its own: a tactic that hangs or
    breaks Lean spoils no later one, and a proof that ends is judged by the same stages as any other
    completion.

    >>> with LeanVerifier() as verifier:  # doctest: +SKIP
    ...     proof = TacticProof(verifier, "theorem t (p q : Prop) : p ∧ q → q := by sorry")
    ...     state = proof.apply(proof.start(), "intro h")
    ...     state.goals, proof.apply(state, "exact h.2").status
    (('p q : Prop\nh : p ∧ q\n⊢ q',), 'proved')
    """

    def __init__(self, verifier: LeanVerifier, reference: Json) -> None:
        """Says what is to be proved.

        Args:
            verifier: judges each step; not closed here.
            reference: the statement, as for `LeanVerifier.verify`.

        Raises:
            InvalidReferenceError: at the first step, if the statement cannot be read.
        """
        self.verifier = verifier
        self.reference = reference

    def start(self) -> TacticState:
        """Returns the state before the first tactic."""
        return self._judge(TacticState((), ()), TacticState((), ()))

    def apply(self, state: TacticState, tactic: str) -> TacticState:
        """Returns the state after one more tactic.

        Args:
            state: where the proof stands; states are values, and any may be built on again.
            tactic: one step; lines after the first keep their own indentation.
        """
        return self._judge(state, TacticState((*state.tactics, tactic.strip("\n")), ()))

    def _judge(self, before: TacticState, after: TacticState) -> TacticState:
        verdict = self.verifier.verify(after.text, self.reference)
        outcome = str(verdict.evidence["outcome"])
        before = replace(before, outcome=outcome, detail=verdict.detail)
        after = replace(after, outcome=outcome, detail=verdict.detail)
        if verdict.passed:
            return replace(after, status="proved")
        # At the beginning of the block stands what the whole proof leaves open; elsewhere, what a
        # step of it left open inside.
        whole = verdict.evidence.get("position") == 0
        goals = verdict.evidence.get("goals")
        if outcome == Outcome.UNSOLVED_GOALS and whole and isinstance(goals, list):
            return replace(after, goals=tuple(map(str, goals)))
        return replace(before, status="undecided" if verdict.abstained else "failed")
