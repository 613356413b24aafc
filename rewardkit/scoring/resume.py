"""Pairs the rows that are scored already with the input rows that they stem from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.datasets.readers import RowSource
from rewardkit.datasets.rows import Columns
from rewardkit.errors import DataError
from rewardkit.scoring.scored import Candidate, ScoredColumns, columns_text, prepare_row

__all__ = ["Input", "ScoredPair", "SkippedRows", "stop_at_bad_row"]

_EXAMPLES = 20


@dataclass(slots=True)
class SkippedRows:
    """Rows that were left out: they cannot be read, or their reference cannot be used."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    """The first 20, one line each: where, and why."""

    def add(self, error: DataError) -> None:
        """Counts one row."""
        self.count += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(str(error))


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A row of the scored file, and the input row that it stems from."""

    candidate: Candidate
    scored: dict[str, Any]


class Input:
    """The rows of one input file, in order, once.

    Args:
        path: the data file.
        columns: which columns hold the completion and the reference.
        split: which split of a Hugging Face dataset that has several.
        added: the columns that scoring adds.
        skips: leave out rows that cannot be read, instead of raising at the first.
    """

    def __init__(
        self,
        path: Path,
        *,
        columns: Columns | None,
        split: str | None,
        added: ScoredColumns,
        skips: bool,
    ) -> None:
        self.skipped = SkippedRows()
        self._skips = skips
        self._added = added
        on_bad_row = self.skipped.add if skips else stop_at_bad_row
        self.source = RowSource(path, columns=columns, split=split, on_bad_row=on_bad_row)
        self._on_bad_row = on_bad_row
        self._candidates = self._prepare()

    def __iter__(self) -> Iterator[Candidate]:
        return self._candidates

    def _prepare(self) -> Iterator[Candidate]:
        for row in self.source:
            try:
                candidate = prepare_row(row, self._added)
            except DataError as error:
                self._on_bad_row(error)
            else:
                yield candidate

    def match(self, scored: Iterator[dict[str, Any]], path: Path) -> Iterator[ScoredPair]:
        """Yields each row of a scored file with its input row.

        What this input yields afterwards is what is still to be graded.

        Args:
            scored: the rows of the scored file.
            path: where they come from, for messages.

        Raises:
            DataError: the input is not the one that was scored, or the file is not from a scoring.
        """
        for number, row in enumerate(scored, 1):
            if not self._added.are_in(row):
                raise DataError(
                    f"{path}: row {number} was not written by a scoring run. Choose another --out, "
                    "or start anew with --overwrite."
                )
            yield ScoredPair(self._find(row, path), row)

    def _find(self, row: Mapping[str, Any], path: Path) -> Candidate:
        row_id = str(row[self._added.row_id])
        for candidate in self._candidates:
            if candidate.row_id == row_id and self._is_same(candidate, row, path):
                return candidate
            if not self._skips or candidate.position == row_id.partition(":")[0]:
                raise DataError(
                    f"{candidate.row.place}: the input has changed since {path.name} was begun: "
                    f"this is not the row that was scored as {row_id}. Start anew with --overwrite."
                )
            self.skipped.add(DataError(f"{candidate.row.place}: left out by an earlier run"))
        raise DataError(
            f"{self.source.path}: the input has become shorter since {path.name} was begun. "
            "Start anew with --overwrite."
        )

    def _is_same(self, candidate: Candidate, row: Mapping[str, Any], path: Path) -> bool:
        # Parquet has types of its own: there, the hash of completion and reference must do.
        if path.suffix.lower() == ".parquet":
            return True
        own = columns_text(candidate.row.columns, self._added)
        return own == columns_text(row, self._added)


def stop_at_bad_row(error: DataError) -> None:
    """Raises the error, with what to do about such rows."""
    raise DataError(f"{error} (--on-bad-row skip leaves such rows out)") from None
