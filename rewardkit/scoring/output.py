"""Writes the scored file from the journal where it could not be appended to."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rewardkit.datasets._parquet import Arrow, load_pyarrow
from rewardkit.datasets.writers import write_rows
from rewardkit.scoring.resume import Input
from rewardkit.scoring.scored import ScoredColumns, parquet_verdict, reward_columns

__all__ = ["write_output"]


def write_output(
    out: Path,
    journal: Path,
    read_journal: Callable[[], Iterator[dict[str, Any]]],
    open_input: Callable[[], Input],
    added: ScoredColumns,
) -> None:
    """Writes the journal's rows to an output file, with the input's own values and types.

    The journal is JSON, which knows no times, decimals or bytes: those are taken from the input.

    Args:
        out: the file to write.
        journal: how errors call the journal.
        read_journal: yields the journal's rows anew; they hold the verdicts.
        open_input: opens the input anew; it is read twice for Parquet.
        added: the columns that scoring adds.
    """
    is_parquet = out.suffix.lower() == ".parquet"

    def rows() -> Iterator[dict[str, Any]]:
        for pair in open_input().match(read_journal(), journal):
            verdict = pair.scored[added.verdict]
            yield {
                **pair.candidate.row.columns,
                added.row_id: pair.candidate.row_id,
                added.score: verdict["score"],
                added.verdict: parquet_verdict(verdict) if is_parquet else verdict,
                **reward_columns(verdict, added),
            }

    types = _known_types(open_input().source.arrow_schema(), added) if is_parquet else None
    write_rows(out, rows, schema=types)


def _known_types(schema: Arrow, added: ScoredColumns) -> dict[str, Any]:
    pa = load_pyarrow()
    # A list of rollouts becomes one completion a row, so the type of such a column is found anew.
    own = {f.name: f.type for f in schema or () if not _holds_list(pa, f.type)}
    step = pa.struct(
        [
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("score", pa.float64()),
            ("reason", pa.string()),
            ("detail", pa.string()),
        ]
    )
    verdict = pa.struct(
        [
            ("score", pa.float64()),
            ("reason", pa.string()),
            ("answer", pa.string()),
            ("detail", pa.string()),
            ("parts", pa.string()),
            ("steps", pa.list_(step)),
            ("evidence", pa.string()),
            ("seconds", pa.float64()),
        ]
    )
    types = {added.row_id: pa.string(), added.score: pa.float64(), added.verdict: verdict}
    if added.reward:
        own.pop(added.components, None)  # those of another reward, whose type is another
    return {**own, **types}


def _holds_list(pa: Arrow, kind: Arrow) -> bool:
    if pa.types.is_struct(kind):
        return any(_holds_list(pa, kind.field(i).type) for i in range(kind.num_fields))
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)
