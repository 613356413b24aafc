"""The decided rows of a scored file, as an audit needs them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.datasets.rows import look_up
from rewardkit.errors import ConfigError, DataError
from rewardkit.noise.strata import join_stratum
from rewardkit.scoring.scored import ScoredColumns, find_scored_columns, read_scored

__all__ = ["AuditRow", "ScoredRows", "read_scored_rows"]

_MISSING = object()


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What an audit keeps of a scored row."""

    row_id: str
    accepted: bool
    stratum: str
    """The values of the columns it is stratified by, joined; empty where there are none."""
    values: tuple[object, ...] = ()
    """Of the further columns that were asked for; None where a row lacks one."""


@dataclass(slots=True)
class ScoredRows:
    """A scored file in short: its decided rows by id, and how many were not decided."""

    path: Path
    rows: dict[str, AuditRow] = field(default_factory=dict)
    abstained: int = 0
    totals: dict[str, dict[bool, int]] = field(default_factory=dict)
    """By stratum, how many rows are accepted (True) and rejected (False)."""

    @property
    def accepted(self) -> int:
        """Rows that the verifier accepted."""
        return sum(counts[True] for counts in self.totals.values())

    def add(self, row: AuditRow) -> None:
        """Takes in one more row."""
        self.rows[row.row_id] = row
        self.totals.setdefault(row.stratum, {True: 0, False: 0})[row.accepted] += 1

    @property
    def accept_rate(self) -> float:
        """Accepted among decided rows.

        Raises:
            DataError: no row is decided.
        """
        if not self.rows:
            raise DataError(f"{self.path}: no row has a verdict, so there is nothing to audit.")
        return self.accepted / len(self.rows)


def read_scored_rows(
    path: Path | str,
    *,
    by: Sequence[str] = (),
    keep: Sequence[str] = (),
    accept_at: float = 1.0,
) -> ScoredRows:
    """Returns the decided rows of a scored file.

    Args:
        path: a file that `rewardkit score` wrote.
        by: columns that name the stratum; `a.b` reads nested columns.
        keep: further columns whose values are kept.
        accept_at: the smallest score that counts as accepted, in (0, 1].

    Raises:
        DataError: the file cannot be read, two rows have one id, or a row lacks a column of `by`.
        ConfigError: `accept_at` is outside its range.
    """
    if not 0.0 < accept_at <= 1.0:
        raise ConfigError(f"accept_at is in (0, 1], not {accept_at}")
    found = ScoredRows(Path(path))
    for row, added in _scored(found.path):
        score = row[added.verdict]["score"]  # a reward's total need not lie in [0, 1]
        if score is None:
            found.abstained += 1
            continue
        row_id = row[added.row_id]
        if row_id in found.rows:
            raise DataError(f"{path}: two rows have the id {row_id}; score the file again.")
        stratum = join_stratum(_stratum(row, name, found.path) for name in by)
        values = tuple(look_up(row, name) for name in keep)
        found.add(AuditRow(row_id, score >= accept_at, stratum, values))
    return found


def _scored(path: Path) -> Iterator[tuple[dict[str, Any], ScoredColumns]]:
    added: ScoredColumns | None = None
    for row in read_scored(path):
        added = added or find_scored_columns(row, path)
        yield row, added


def _stratum(row: Mapping[str, Any], name: str, path: Path) -> object:
    value = look_up(row, name, _MISSING)
    if value is _MISSING:
        raise DataError(f"{path}: a row has no column {name!r} to stratify by.")
    return value
