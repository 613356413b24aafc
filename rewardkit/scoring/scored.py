"""What a scored row looks like, how it is recognised, and how scored files are read."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.datasets._values import plain_json
from rewardkit.datasets.readers import open_records, raise_bad_row
from rewardkit.datasets.rows import Row, hash_content
from rewardkit.errors import ConfigError, DataError
from rewardkit.verdict import Verdict

__all__ = [
    "Candidate",
    "ScoredColumns",
    "columns_text",
    "find_scored_columns",
    "parquet_verdict",
    "prepare_row",
    "read_scored",
    "reward_columns",
    "reward_values",
    "scored_row",
]

REWARD_EVIDENCE = "reward"
"""Where a verdict's evidence holds what a reward said."""

_ROW_ID = re.compile(r"(\d+(?:\.\d+)?):[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ScoredColumns:
    """The columns that scoring adds; a prefix keeps them apart from the input's own."""

    prefix: str = ""
    reward: bool = False
    """Whether the values of a reward's components are added too."""

    @property
    def row_id(self) -> str:
        """Position of the record (and rollout), then a hash of completion and reference."""
        return f"{self.prefix}row_id"

    @property
    def score(self) -> str:
        """The score in [0, 1], or a reward's total; null for an abstention."""
        return f"{self.prefix}score"

    @property
    def components(self) -> str:
        """The value of each component of a reward."""
        return f"{self.prefix}components"

    @property
    def verdict(self) -> str:
        """The whole verdict, as `Verdict.to_dict` gives it."""
        return f"{self.prefix}verdict"

    @property
    def names(self) -> tuple[str, ...]:
        """All that are added, in the order in which they are written."""
        names = (self.row_id, self.score, self.verdict)
        return (*names, self.components) if self.reward else names

    def are_in(self, data: Mapping[str, Any]) -> bool:
        """Returns whether a row carries these columns from an earlier scoring."""
        row_id = data.get(self.row_id)
        verdict = data.get(self.verdict)
        if not isinstance(verdict, Mapping) or not {"score", "reason"} <= verdict.keys():
            return False
        return isinstance(row_id, str) and _ROW_ID.fullmatch(row_id) is not None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that is ready to be graded, with its identity."""

    row_id: str
    row: Row

    @property
    def position(self) -> str:
        """The part of the identity that says where the row stood in its first input."""
        return self.row_id.partition(":")[0]


def prepare_row(row: Row, added: ScoredColumns) -> Candidate:
    """Returns the row with its identity.

    A row of an earlier scoring loses the columns that were added then, and keeps its place, so that
    two scorings of the same rows can be compared.

    Raises:
        ConfigError: the input has columns of its own under the names that scoring adds.
        DataError: the row is nested too deep.
    """
    place = str(row.position) if row.rollout is None else f"{row.position}.{row.rollout}"
    if added.are_in(row.columns):
        place = str(row.columns[added.row_id]).partition(":")[0]
        names = added.names
        if reward_values(row.columns[added.verdict]) is not None:
            names = (*names, added.components)
        columns = {name: row.columns[name] for name in row.columns if name not in names}
        context = tuple(name for name in row.context_names if name not in names)
        row = replace(row, columns=columns, context_names=context)
    taken = [name for name in added.names if name in row.columns]
    if taken:
        raise ConfigError(
            f"{row.place}: the input already has a column {taken[0]!r}, which scoring would "
            "overwrite. Give the added columns a prefix: --prefix rk_"
        )
    try:
        return Candidate(f"{place}:{hash_content(row.completion, row.reference)}", row)
    except DataError as error:
        raise DataError(f"{row.place}: {error}") from None


def scored_row(candidate: Candidate, verdict: Verdict, added: ScoredColumns) -> dict[str, Any]:
    """Returns the row as it is written: its own columns, then the added ones."""
    written = verdict.to_dict()
    return {
        **candidate.row.columns,
        added.row_id: candidate.row_id,
        added.score: verdict.score,
        added.verdict: written,
        **reward_columns(written, added),
    }


def reward_values(verdict: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns what a reward said beside a verdict, or None: `total`, `components`, `graded_by`.

    Args:
        verdict: in the form of `Verdict.to_dict`, or of a Parquet column.
    """
    evidence = verdict.get("evidence") or {}
    if isinstance(evidence, str):
        evidence = json.loads(evidence)
    found = evidence.get(REWARD_EVIDENCE)
    complete = isinstance(found, dict) and {"total", "components", "graded_by"} <= found.keys()
    return found if complete else None


def reward_columns(verdict: Mapping[str, Any], added: ScoredColumns) -> dict[str, Any]:
    """Returns the columns that a reward adds or replaces; none if it was no reward that scored."""
    values = reward_values(verdict) if added.reward else None
    if values is None:
        return {}
    return {added.score: values["total"], added.components: values["components"]}


def columns_text(columns: Mapping[str, Any], added: ScoredColumns) -> str:
    """Returns a row's own columns as JSON text: equal texts are equal rows, NaN included."""
    own = {name: value for name, value in columns.items() if name not in added.names}
    return json.dumps(own, default=plain_json)


def find_scored_columns(data: Mapping[str, Any], path: Path) -> ScoredColumns:
    """Returns the names under which a scored row holds its verdict.

    Raises:
        DataError: the row is not from `rewardkit score`.
    """
    for name in data:
        added = ScoredColumns(name.removesuffix("row_id"))
        if name.endswith("row_id") and added.are_in(data):
            return added
    raise DataError(f"{path}: not a file written by `rewardkit score`: no row_id, score, verdict.")


def read_scored(path: Path | str) -> Iterator[dict[str, Any]]:
    """Yields the rows of a scored file, with the verdict as `Verdict.to_dict` gave it.

    Of a folder of scored shards the files are read one after the other, by name.

    Raises:
        DataError: the file cannot be read, or a row was not written by `rewardkit score`.
    """
    file = Path(path)
    if file.is_dir():
        for shard in sorted(one for one in file.iterdir() if one.name[0] not in "._"):
            yield from read_scored(shard)
        return
    added: ScoredColumns | None = None
    for record in open_records(file).records(raise_bad_row):
        if added is None:
            added = find_scored_columns(record.data, file)
        if file.suffix.lower() == ".parquet":
            record.data[added.verdict] = _verdict_from_parquet(record.data[added.verdict])
        if not added.are_in(record.data):
            raise DataError(f"{record.place}: not a row that `rewardkit score` wrote.")
        yield record.data


def parquet_verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a verdict in the shape of its Parquet column: `parts` and `evidence` as JSON text.

    Their keys differ from row to row, and a Parquet column has one shape.
    """
    return {
        **verdict,
        "parts": json.dumps(verdict["parts"]),
        "evidence": json.dumps(verdict["evidence"]),
    }


def _verdict_from_parquet(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **stored,
        "parts": json.loads(stored["parts"]),
        "evidence": json.loads(stored["evidence"]),
    }
