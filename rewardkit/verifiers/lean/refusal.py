"""What it means that Lean refuses a file: the model's fault, or a library that is not here."""

import re

from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.lean.ban import library_tactics
from rewardkit.verifiers.lean.messages import Message, unknown_name
from rewardkit.verifiers.lean.official import may_be_official
from rewardkit.verifiers.lean.source import Assembled, Statement, declared_names

__all__ = ["LibraryMissingError", "refusal"]

_NAMESPACE = re.compile(r"(?<![\w.])namespace\s+(\S+)")
_MAX_CHARS = 2000


class LibraryMissingError(Exception):
    """The question needs Lean's own library, which is not here."""


def refusal(
    statement: Statement, file: Assembled, outcome: Outcome, message: Message, *, core: bool
) -> Finding:
    """Returns what it means that Lean refuses a file.

    Args:
        statement: what was to be proved.
        file: the submission under the statement's header.
        outcome: what the decisive error is.
        message: that error.
        core: only rewardkit's core library is there.

    Raises:
        LibraryMissingError: Lean may have refused it for want of its own library.
    """
    missing = library_tactics(file.code) if core else []
    needs = outcome in (Outcome.UNKNOWN_IDENTIFIER, Outcome.SYNTAX, Outcome.UNSOLVED_GOALS)
    if missing and needs:
        raise LibraryMissingError(f"{missing[0]} needs Lean's own library")
    unknown = unknown_name(message) if core else ""
    # What the submission does not write is what Lean's elaborator itself looks up.
    elsewhere = may_be_official(unknown) or unknown.rpartition(".")[2] not in file.code.bare
    if unknown and elsewhere and not _is_own(unknown, statement, file):
        # A toolchain may well have it: nothing is known about the proof.
        raise LibraryMissingError(f"{unknown} is not here")
    place = file.place(message.line, message.column)
    evidence: dict[str, object] = {"error": message.text[:_MAX_CHARS]}
    if place is not None:
        evidence["position"] = place
    if outcome is Outcome.UNSOLVED_GOALS:
        goals = message.text.removeprefix("unsolved goals").strip()
        evidence["goals"] = [g.strip()[:_MAX_CHARS] for g in goals.split("\n\n")][:20]
    line = message.text.split("\n")[0][:200]
    return Finding(outcome, line, evidence)  # type: ignore[arg-type]


def _is_own(name: str, statement: Statement, file: Assembled) -> bool:
    """Returns whether an unknown name belongs to what the statement or the submission declares."""
    own = {*declared_names(file.code.bare), *statement.declared, statement.name}
    own.update(_NAMESPACE.findall(file.code.bare))
    parts = name.split(".")
    return any(".".join(parts[:count]) in own for count in range(1, len(parts) + 1))
