"""The result of an audit, and its grade card as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from rewardkit._version import __version__
from rewardkit.audit.context import Context
from rewardkit.audit.finding import Finding, Level
from rewardkit.audit.rates import Rate
from rewardkit.audit.unseen import Unseen, estimate_unseen

__all__ = ["AuditReport", "render_text"]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit has come to."""

    reward: str
    kind: str
    profile: str
    findings: tuple[Finding, ...]
    checked: dict[str, str]
    """By property: `holds`, `fails`, or why it was not tested."""
    rates: tuple[Rate, ...]
    unseen: Unseen | None
    """None for a reward whose tricks could not be played."""
    notes: tuple[str, ...]
    calls: int
    seconds: float

    @classmethod
    def of(cls, context: Context, *, profile: str, seconds: float) -> Self:
        """Returns the report of an audit that has ended."""
        order = sorted(context.findings, key=lambda f: f.level.rank)
        spec = context.session.spec
        attempts = context.attempts
        unseen = (
            estimate_unseen(
                {name: paid for name, (paid, _) in attempts.items()},
                sum(tried for _, tried in attempts.values()),
            )
            if attempts
            else None
        )
        kind = context.baseline.kind if context.baseline else context.kind
        return cls(
            f"{spec.place}:{spec.name}",
            kind,
            profile,
            tuple(order),
            dict(context.checked),
            tuple(context.rates),
            unseen,
            tuple(context.notes),
            context.session.calls,
            seconds,
        )

    def worst(self) -> Level | None:
        """Returns the heaviest level of a finding, None if there is none."""
        return self.findings[0].level if self.findings else None

    def grade(self) -> str:
        """Returns `A` (nothing found) to `F` (a trick is paid as well as a right answer)."""
        contract = [f for f in self.findings if f.level is Level.CONTRACT]
        if not contract:
            return "A" if not self.findings else "B"
        if any((f.gain or 0.0) >= 0.9 for f in contract):
            return "F"
        return "C" if len(contract) == 1 else "D"

    def to_dict(self) -> dict[str, object]:
        """Returns plain JSON data."""
        return {
            "rewardkit": __version__,
            "reward": self.reward,
            "kind": self.kind,
            "profile": self.profile,
            "grade": self.grade(),
            "findings": [finding.to_dict() for finding in self.findings],
            "properties": self.checked,
            "rates": [rate.to_dict() for rate in self.rates],
            "unseen": None
            if self.unseen is None
            else {
                "tricks_paid": self.unseen.seen,
                "tricks_estimated": self.unseen.kinds,
                "next_new": self.unseen.next_new,
                "interval": [self.unseen.interval.low, self.unseen.interval.high],
            },
            "notes": list(self.notes),
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
        }


def render_text(report: AuditReport, *, only: Sequence[Finding] | None = None) -> str:
    """Returns the findings as plain text, each with its smallest input and its test."""
    findings = report.findings if only is None else only
    lines = [f"{report.reward}: grade {report.grade()}, {len(findings)} finding(s)"]
    for finding in findings:
        slug, _, cause = finding.root_cause.partition(": ")
        lines += [
            "",
            f"[{finding.level}] {finding.property}: {slug}",
            f"  {cause}",
            f"  {finding.example}",
        ]
        if finding.test:
            lines += ["", *(f"    {line}" for line in finding.test.splitlines())]
    return "\n".join(lines)
