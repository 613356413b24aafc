"""Audits the references of a data file: which cannot be read, and which deserve a second look."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rewardkit.datasets._values import plain_json
from rewardkit.datasets.readers import open_records, raise_bad_row
from rewardkit.datasets.rows import find_column
from rewardkit.datasets.writers import check_writable_name, write_rows
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier

__all__ = ["Problem", "ReferenceAudit", "ReferenceCount", "audit_references"]

_EXAMPLES = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, or doubtful, with one reference."""

    place: str
    """File and line of the first row that has it."""
    reference: Json
    kind: Literal["unreadable", "warning"]
    message: str

    @property
    def reference_text(self) -> str:
        """The reference as a person would write it."""
        if isinstance(self.reference, str):
            return self.reference
        return json.dumps(self.reference, ensure_ascii=False, default=plain_json)


@dataclass(slots=True)
class ReferenceCount:
    """How often something was found."""

    rows: int = 0
    references: int = 0
    """Different references among those rows."""

    def add(self, *, is_new: bool) -> None:
        """Counts one row."""
        self.rows += 1
        self.references += is_new


@dataclass(slots=True)
class ReferenceAudit:
    """What the audit of a data file found."""

    fine: ReferenceCount = field(default_factory=ReferenceCount)
    warned: ReferenceCount = field(default_factory=ReferenceCount)
    unreadable: ReferenceCount = field(default_factory=ReferenceCount)
    problems: int = 0
    """Different problems: a reference with two warnings has two."""
    examples: list[Problem] = field(default_factory=list)
    """The first 100 problems."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the counts and the examples as plain JSON data."""
        counts = {"fine": self.fine, "warned": self.warned, "unreadable": self.unreadable}
        return {
            **{k: {"rows": c.rows, "references": c.references} for k, c in counts.items()},
            "problems": self.problems,
            "examples": [
                {
                    "place": problem.place,
                    "reference": problem.reference_text,
                    "kind": problem.kind,
                    "message": problem.message,
                }
                for problem in self.examples
            ],
        }


def audit_references(
    verifier: Verifier,
    path: Path | str,
    *,
    column: str = "reference",
    split: str | None = None,
    out: Path | None = None,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> ReferenceAudit:
    """Returns what a verifier thinks of the references of a data file.

    Equal references are checked once; of each, 16 bytes are kept in memory.

    Args:
        verifier: whose `check_reference` is asked.
        path: the data file.
        column: where the references are; a dotted path reads nested columns.
        split: which split of a Hugging Face dataset that has several.
        out: a file for all problems, one row each: place, reference, kind, message.
        on_progress: called now and then with the share that is done, in [0, 1].

    Raises:
        DataError: the file cannot be read, lacks the column, or `out` cannot be written.
        ConfigError: `out` is the data file itself.
    """
    audit, source = ReferenceAudit(), Path(path)
    if out is not None and out.exists() and source.exists() and out.samefile(source):
        raise ConfigError(f"{out} is the input itself; choose another --out.")
    problems = _find_problems(verifier, source, column, split, audit, on_progress)
    if out is None:
        for _ in problems:
            pass
        return audit
    check_writable_name(out)
    rows = (
        {
            "place": problem.place,
            "reference": problem.reference,
            "kind": problem.kind,
            "message": problem.message,
        }
        for problem in problems
    )
    write_rows(out, rows)
    return audit


def _find_problems(
    verifier: Verifier,
    path: Path,
    column: str,
    split: str | None,
    audit: ReferenceAudit,
    on_progress: Callable[[float], None],
) -> Iterator[Problem]:
    file = open_records(path, split=split)
    seen: dict[bytes, ReferenceCount] = {}
    for record in file.records(raise_bad_row):
        if record.position % 64 == 0:
            on_progress(file.fraction())
        reference = find_column(record, column, "reference")
        text = json.dumps(reference, sort_keys=True, default=plain_json)
        key = hashlib.blake2b(text.encode(), digest_size=16).digest()
        known = seen.get(key)
        if known is not None:
            known.add(is_new=False)
            continue
        found = list(_check(verifier, reference, record.place))
        seen[key] = _choose_count(audit, found)
        seen[key].add(is_new=True)
        audit.problems += len(found)
        audit.examples += found[: _EXAMPLES - len(audit.examples)]
        yield from found


def _check(verifier: Verifier, reference: Json, place: str) -> Iterator[Problem]:
    try:
        warnings = verifier.check_reference(reference)
    except InvalidReferenceError as error:
        yield Problem(place, reference, "unreadable", str(error))
    else:
        for warning in warnings:
            yield Problem(place, reference, "warning", warning)


def _choose_count(audit: ReferenceAudit, found: list[Problem]) -> ReferenceCount:
    if not found:
        return audit.fine
    return audit.unreadable if found[0].kind == "unreadable" else audit.warned
