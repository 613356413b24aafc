"""What a cascade's second stage says about its first: counts for the noise estimates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rewardkit.noise import AppealsEstimator, TwoSidedAudit
from rewardkit.verdict import Verdict

__all__ = ["AppealCounts", "count_appeals"]


@dataclass(frozen=True, slots=True)
class AppealCounts:
    """Verdicts of the first stage, and what the second one found of those that it saw.

    >>> counts = AppealCounts(accepted=80, rejected=20, appealed=10, flipped=5)
    >>> round(counts.feed_appeals(AppealsEstimator(share=0.5)).rho1, 3)
    0.111
    """

    accepted: int = 0
    rejected: int = 0
    undecided: int = 0
    appealed: int = 0
    """Rejected ones on which the second stage decided."""
    flipped: int = 0
    """Those of them that it accepted."""
    checked_accepted: int = 0
    right_accepted: int = 0
    """Accepted ones that were audited, and those of them that the second stage accepted too."""
    unheard: int = 0
    """Appeals and audits on which the second stage abstained."""

    def feed_appeals(self, estimator: AppealsEstimator) -> AppealsEstimator:
        """Returns the estimator after these counts; its `share` is the cascade's `appeal_share`."""
        return estimator.update(
            accepted=self.accepted, appealed=self.appealed, flipped=self.flipped
        )

    def feed_audit(self, audit: TwoSidedAudit) -> TwoSidedAudit:
        """Returns the audit after these counts."""
        return audit.update(
            accepted=self.accepted,
            rejected=self.rejected,
            checked_accepted=self.checked_accepted,
            right_accepted=self.right_accepted,
            checked_rejected=self.appealed,
            right_rejected=self.flipped,
        )


def count_appeals(verdicts: Iterable[Verdict], *, accept_at: float = 1.0) -> AppealCounts:
    """Returns the counts of a batch from the evidence of its verdicts, wherever they were made.

    Args:
        verdicts: of a `Cascade`; others are not counted.
        accept_at: the smallest score that counts as accepted, of either stage.
    """
    counts = dict.fromkeys(AppealCounts.__dataclass_fields__, 0)
    for verdict in verdicts:
        found = verdict.evidence.get("cascade")
        if not isinstance(found, Mapping):
            continue
        first, second, asked = found.get("first"), found.get("second"), found.get("asked")
        if not isinstance(first, int | float):
            counts["undecided"] += 1
            continue
        accepted = first >= accept_at
        counts["accepted" if accepted else "rejected"] += 1
        if asked is None:
            continue
        if not isinstance(second, int | float):
            counts["unheard"] += 1
            continue
        counts["checked_accepted" if accepted else "appealed"] += 1
        counts["right_accepted" if accepted else "flipped"] += second >= accept_at
    return AppealCounts(**counts)
