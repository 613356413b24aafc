"""How a proof attempt ended, and the verdict that this makes."""

from dataclasses import dataclass, field
from enum import StrEnum

from rewardkit.verdict import Json, Reason, StepVerdict, Verdict

__all__ = ["ABSTAINS", "Finding", "Outcome"]


class Outcome(StrEnum):
    """How a proof attempt ended; `evidence["outcome"]` of a verdict. The list is closed."""

    PROVED = "proved"
    """No error, the target is there, the statement is the given one, the axioms are allowed."""
    WRONG_PROOF = "wrong_proof"
    """The checker refuses the proof."""
    UNSOLVED_GOALS = "unsolved_goals"
    """The proof ends before its goals do; `evidence["goals"]` holds what is left."""
    SYNTAX = "syntax"
    """The checker cannot read it."""
    UNKNOWN_IDENTIFIER = "unknown_identifier"
    """A name, tactic or module that the environment does not have."""
    STATEMENT_CHANGED = "statement_changed"
    """The target has another statement, or a definition that it rests on has another meaning."""
    TARGET_MISSING = "target_missing"
    """Nothing of the target's full name was proved."""
    SORRY = "sorry"
    """The proof rests on a hole."""
    BAD_AXIOM = "bad_axiom"
    """The proof rests on an axiom that is not allowed; `evidence["axioms"]` holds the names."""
    REPLAY_REFUSED = "replay_refused"
    """The compiled file holds what the kernel refuses when it checks it again."""
    FORBIDDEN = "forbidden"
    """A construct that could get round the checker; refused unread."""
    NO_PROOF = "no_proof"
    """The completion holds no proof."""
    TIMEOUT = "timeout"
    """The time limit."""
    MEMORY = "memory"
    """The memory limit."""
    OUTPUT = "output"
    """The output limit."""
    CRASH = "crash"
    """The checker died of the proof."""
    INFRA_ERROR = "infra_error"
    """The engine broke or is missing: nothing is known about the proof."""


_REASONS = {
    Outcome.PROVED: Reason.MATCH,
    Outcome.WRONG_PROOF: Reason.MISMATCH,
    Outcome.UNSOLVED_GOALS: Reason.UNPROVED,
    Outcome.SYNTAX: Reason.UNPARSABLE,
    Outcome.UNKNOWN_IDENTIFIER: Reason.MISMATCH,
    Outcome.STATEMENT_CHANGED: Reason.CHEATED,
    Outcome.TARGET_MISSING: Reason.NO_ANSWER,
    Outcome.SORRY: Reason.UNPROVED,
    Outcome.BAD_AXIOM: Reason.CHEATED,
    Outcome.REPLAY_REFUSED: Reason.CHEATED,
    Outcome.FORBIDDEN: Reason.FORBIDDEN,
    Outcome.NO_PROOF: Reason.NO_ANSWER,
    Outcome.TIMEOUT: Reason.TIMEOUT,
    Outcome.MEMORY: Reason.MEMORY,
    Outcome.OUTPUT: Reason.OUTPUT_LIMIT,
    Outcome.CRASH: Reason.CRASH,
    Outcome.INFRA_ERROR: Reason.ENGINE_FAILURE,
}
ABSTAINS = frozenset({Outcome.INFRA_ERROR})
"""The outcomes whose score is None."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about a proof attempt."""

    outcome: Outcome
    detail: str = ""
    evidence: dict[str, Json] = field(default_factory=dict)
    steps: tuple[StepVerdict, ...] = ()
    parts: dict[str, float] = field(default_factory=dict)
    reason: Reason | None = None
    """Instead of the outcome's own reason: a missing engine is one that broke, and more."""

    def verdict(self, answer: str | None, tier: str, seconds: float) -> Verdict:
        """Returns the verdict: 1 for a proof, None where nothing is known, else 0."""
        proved = self.outcome is Outcome.PROVED
        return Verdict(
            None if self.outcome in ABSTAINS else float(proved),
            self.reason or _REASONS[self.outcome],
            answer=answer,
            detail=f"{tier}: {self.detail or self.outcome.value}"[:400],
            parts={"proved": float(proved), **self.parts} if self.outcome not in ABSTAINS else {},
            steps=self.steps,
            evidence={"outcome": self.outcome.value, "tier": tier, **self.evidence},
            seconds=seconds,
        )
