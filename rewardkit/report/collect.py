"""Reads a scored file into what its report shows, in memory that does not grow with the file."""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.datasets._values import plain_json
from rewardkit.errors import DataError
from rewardkit.report.compare import Comparison, Disagreement, OtherScores
from rewardkit.report.examples import Example, RowNames, make_example, outcome_of, short_verdict
from rewardkit.report.sample import Sample
from rewardkit.scoring.scored import find_scored_columns, read_scored
from rewardkit.scoring.statistics import Tally
from rewardkit.verdict import Verdict

__all__ = ["ReportData", "collect_report"]

_EXAMPLES = 12
"""For each reason, and for each way in which two scorings disagree."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything that the page shows."""

    name: str
    """The scored file's name."""
    settings: dict[str, str]
    """How it was scored: version, verifier, options; empty where that is not known."""
    tally: Tally
    examples: dict[str, list[Example]]
    """By reason."""
    comparison: Comparison | None


def collect_report(
    scored: Path | str, *, against: Path | str | None = None, id_column: str | None = None
) -> ReportData:
    """Returns what the report of a scored file shows.

    Args:
        scored: a file that `rewardkit score` wrote.
        against: another one, to compare with.
        id_column: match rows by this column (and rollout); None for place and content.

    Raises:
        DataError: a file cannot be read, was not written by `rewardkit score`, or has no row in
            common with the other.
    """
    here = _ScoredFile(Path(scored))
    tally = Tally()
    examples: dict[str, Sample[Example]] = {}
    there = None if against is None else _ScoredFile(Path(against))
    comparison = None if there is None else Comparison(there.path.name, there.settings)
    disagreements: dict[tuple[str, str], Sample[Disagreement]] = {}
    with OtherScores() as others:
        if there is not None:
            for row in there.rows():
                others.add(there.key(row, id_column), there.verdict(row), there.path)
        for row in here.rows():
            verdict = here.verdict(row)
            tally.add(verdict)
            sample = examples.setdefault(verdict["reason"], Sample(_EXAMPLES))
            sample.offer(here.row_id(row), functools.partial(make_example, row, here.names))
            if comparison is not None:
                other = others.find(here.key(row, id_column))
                _compare(row, here, other, comparison, disagreements)
        if comparison is not None:
            comparison.only_there = others.count - comparison.matched
    if comparison is not None and not comparison.matched:
        raise DataError(
            f"{scored} and {against} have no row in common. Rows are matched by place and content; "
            "name a column that identifies them with --id-column."
        )
    if comparison is not None:
        comparison.disagreements = [
            item for _, cell in sorted(disagreements.items()) for item in cell.items()
        ]
    lists = {reason: sample.items() for reason, sample in examples.items()}
    return ReportData(here.path.name, here.settings, tally, lists, comparison)


def _compare(
    row: Mapping[str, Any],
    here: "_ScoredFile",
    other: Mapping[str, Any] | None,
    comparison: Comparison,
    disagreements: dict[tuple[str, str], Sample[Disagreement]],
) -> None:
    if other is None:
        comparison.only_here += 1
        return
    cell = (outcome_of(here.verdict(row)["score"]), outcome_of(other["score"]))
    comparison.add(*cell)
    if cell[0] != cell[1]:
        sample = disagreements.setdefault(cell, Sample(_EXAMPLES))
        sample.offer(
            here.row_id(row),
            lambda: Disagreement(make_example(row, here.names), short_verdict(other)),
        )


class _ScoredFile:
    """A scored file, and where its rows hold what."""

    def __init__(self, path: Path) -> None:
        self.path = path
        manifest = _read_manifest(path)
        config = manifest["config"]
        first = next(read_scored(path), None)
        if first is None:
            raise DataError(f"{path}: the file is empty, so there is nothing to report.")
        self.names = RowNames(
            find_scored_columns(first, path),
            str(config.get("completion column", "completion")),
            str(config.get("reference column", "reference")),
        )
        known = {**manifest["notes"], **config}
        self.settings = {name: _setting_text(value) for name, value in known.items()}

    def rows(self) -> Iterator[dict[str, Any]]:
        for number, row in enumerate(read_scored(self.path), 1):
            try:
                Verdict.from_dict(self.verdict(row))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise DataError(f"{self.path}: row {number}: a damaged verdict: {error}") from None
            yield row

    def row_id(self, row: Mapping[str, Any]) -> str:
        return str(row[self.names.added.row_id])

    def verdict(self, row: Mapping[str, Any]) -> dict[str, Any]:
        verdict: dict[str, Any] = row[self.names.added.verdict]
        return verdict

    def key(self, row: Mapping[str, Any], id_column: str | None) -> str:
        """Returns what two scorings of one row have in common."""
        if id_column is None:
            return self.row_id(row)
        if id_column not in row:
            raise DataError(f"{self.path}: no column {id_column!r} to match the rows by.")
        return json.dumps([row[id_column], row.get("rollout")], default=plain_json)


def _read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    """Returns the configuration and notes that a scoring run leaves beside its output, if any."""
    file = path.with_name(f"{path.name}.run.json")
    if not file.exists():
        return {"config": {}, "notes": {}}
    try:
        manifest = json.loads(file.read_bytes())
        return {name: dict(manifest[name]) for name in ("config", "notes")}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: damaged ({error}); remove it to report without it.") from None


def _setting_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
