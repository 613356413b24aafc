"""Compares two scorings of the same rows."""

import json
import sqlite3
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rewardkit.errors import DataError
from rewardkit.report.examples import Example, ShortVerdict
from rewardkit.scoring.statistics import Interval, wilson_interval

__all__ = ["Comparison", "Disagreement", "OtherScores"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A row that the two scorings judge differently."""

    example: Example
    """The row, with this file's verdict."""
    other: ShortVerdict
    """The other file's verdict."""


@dataclass(slots=True)
class Comparison:
    """How far two scorings agree."""

    name: str
    """The other file's name."""
    settings: dict[str, str]
    """How it was scored; empty where that is not known."""
    matched: int = 0
    """Rows that are in both."""
    agreed: int = 0
    """Of these, rows with the same outcome."""
    only_here: int = 0
    only_there: int = 0
    cells: dict[tuple[str, str], int] = field(default_factory=dict)
    """Rows by (outcome here, outcome there)."""
    disagreements: list[Disagreement] = field(default_factory=list)
    """A sample."""

    @property
    def agreement(self) -> float:
        """Share of the matched rows with the same outcome, in [0, 1]."""
        return self.agreed / self.matched if self.matched else 0.0

    @property
    def interval(self) -> Interval:
        """The Wilson 95 % interval of the agreement."""
        return wilson_interval(self.agreed, self.matched)

    def add(self, here: str, there: str) -> None:
        """Counts one matched row."""
        self.matched += 1
        self.agreed += here == there
        self.cells[here, there] = self.cells.get((here, there), 0) + 1


class OtherScores:
    """The other file's verdicts by row, in a temporary database: it may be larger than memory."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rewardkit-report-")
        self._database = sqlite3.connect(Path(self._folder.name) / "verdicts.sqlite")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE verdicts (key TEXT PRIMARY KEY, verdict TEXT)")
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()
        self._folder.cleanup()

    def add(self, key: str, verdict: Mapping[str, Any], path: Path) -> None:
        """Adds one row.

        Raises:
            DataError: two rows have the same key.
        """
        kept = {name: value for name, value in verdict.items() if name not in ("steps", "parts")}
        try:
            self._database.execute("INSERT INTO verdicts VALUES (?, ?)", (key, json.dumps(kept)))
        except sqlite3.IntegrityError:
            raise DataError(
                f"{path}: two rows are known as {key[:100]}, so rows cannot be matched. Name a "
                "column that is different in every row with --id-column."
            ) from None
        self.count += 1

    def find(self, key: str) -> dict[str, Any] | None:
        """Returns the verdict of a row in the form of `Verdict.to_dict`, or None."""
        query = "SELECT verdict FROM verdicts WHERE key = ?"
        row = self._database.execute(query, (key,)).fetchone()
        return None if row is None else dict(json.loads(row[0]))
