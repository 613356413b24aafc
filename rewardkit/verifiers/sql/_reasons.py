"""What a verdict says of its cause."""

from collections.abc import Sequence

from rewardkit.verdict import Json, Reason, Verdict

__all__ = ["REASONS", "one_line", "verdict_of"]

REASONS = {
    "unsafe": Reason.FORBIDDEN,
    "several_statements": Reason.FORBIDDEN,
    "syntax": Reason.UNPARSABLE,
    "unknown_name": Reason.UNPARSABLE,
    "runtime": Reason.CRASH,
    "timeout": Reason.TIMEOUT,
    "memory": Reason.MEMORY,
    "row_cap": Reason.OUTPUT_LIMIT,
    "too_big": Reason.SIZE_LIMIT,
    "engine_crash": Reason.CRASH,
    "engine": Reason.ENGINE_FAILURE,
    "wrong_rows": Reason.MISMATCH,
    "wrong_columns": Reason.MISMATCH,
    "wrong_order": Reason.MISMATCH,
    "coincidental": Reason.MISMATCH,
    "non_deterministic": Reason.MISMATCH,
    "constants_only": Reason.CHEATED,
    "reference_fails": Reason.UNPROVED,
    "reference_empty": Reason.UNPROVED,
}
"""What `evidence["why"]` says, and the reason of the verdict."""


def verdict_of(
    why: str,
    tier: str,
    detail: str,
    *,
    score: float | None = 0.0,
    signals: Sequence[str] = (),
) -> Verdict:
    """Returns a verdict that has nothing but its cause."""
    evidence: dict[str, Json] = {"tier": tier, "why": why}
    if signals:
        evidence["signals"] = list(signals)
    return Verdict(score, REASONS[why], detail=one_line(tier, why, detail), evidence=evidence)


def one_line(tier: str, why: str, detail: str) -> str:
    """Returns what a person reads: the tier, the cause, and more of it."""
    return f"{tier}: {why.replace('_', ' ')}: {detail}"[:600]
