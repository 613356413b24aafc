"""Labels and verdicts together: the counts that error rates come from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rewardkit.errors import DataError
from rewardkit.labels.journal import Judgement, Label
from rewardkit.labels.rows import AuditRow, ScoredRows
from rewardkit.noise.agreement import Agreement, cohen_kappa
from rewardkit.noise.counts import Audit

__all__ = ["LabelTally", "count_truths", "tally_labels", "truths_of_column"]


@dataclass(frozen=True, slots=True)
class LabelTally:
    """What the labels of a scored file say so far."""

    audit: Audit
    strata: dict[str, Audit]
    """The same by stratum; empty where the rows have none."""
    truths: dict[str, bool] = field(default_factory=dict)
    """By row id, what all who labelled the row agree on."""
    unsure: int = 0
    """Rows that somebody could not judge: outside every rate."""
    disputed: int = 0
    """Rows that were judged right and wrong: outside every rate until they are settled."""
    agreement: Agreement | None = None
    """Of the two people with the most rows in common; None where nobody shares one."""


def tally_labels(rows: ScoredRows, labels: Iterable[Label], *, uniform: bool = False) -> LabelTally:
    """Returns the counts of labelled rows.

    A person's last judgement of a row counts.

    Args:
        rows: the scored file that was labelled.
        labels: the journal's.
        uniform: rows were drawn without regard to the verdict, and its shares are not to be used.

    Raises:
        DataError: no label is of these rows.
    """
    given: dict[str, dict[str, Judgement]] = {}
    strangers = 0
    for label in labels:
        strangers += label.row_id not in rows.rows
        if label.row_id in rows.rows:
            given.setdefault(label.row_id, {})[label.annotator] = label.judgement
    if strangers and not given:
        raise DataError(f"none of the labels is of a decided row of {rows.path}: another file?")
    truths: dict[str, bool] = {}
    unsure = disputed = 0
    for row_id, judgements in given.items():
        said = set(judgements.values())
        if Judgement.UNSURE in said:
            unsure += 1
        elif len(said) > 1:
            disputed += 1
        else:
            truths[row_id] = said == {Judgement.RIGHT}
    audit, strata = count_truths(rows, truths, uniform=uniform)
    return LabelTally(audit, strata, truths, unsure, disputed, _agreement(given))


def count_truths(
    rows: ScoredRows, truths: Mapping[str, bool], *, uniform: bool = False
) -> tuple[Audit, dict[str, Audit]]:
    """Returns the counts over all rows, and by stratum where there are strata."""
    by_stratum: dict[str, list[AuditRow]] = {name: [] for name in sorted(rows.totals)}
    for row_id in truths:
        row = rows.rows[row_id]
        by_stratum[row.stratum].append(row)
    strata = {
        name: _count(members, truths, None if uniform else rows.totals[name])
        for name, members in by_stratum.items()
    }
    everything = {True: rows.accepted, False: len(rows.rows) - rows.accepted}
    labelled = [rows.rows[row_id] for row_id in truths]
    audit = _count(labelled, truths, None if uniform else everything)
    return audit, strata if set(strata) != {""} else {}


def truths_of_column(rows: ScoredRows, index: int = 0, *, name: str = "") -> dict[str, bool]:
    """Returns the truths that a kept column holds: true, false, 1, 0, "right", "wrong" or null.

    Raises:
        DataError: another value is in it, or nothing but null.
    """
    words = {"right": True, "wrong": False, True: True, False: False}
    truths = {}
    for row in rows.rows.values():
        value = row.values[index]
        if value is None:
            continue
        if not isinstance(value, str | int | float) or value not in words:
            raise DataError(
                f"{rows.path}: row {row.row_id}: the truth is true, false, 1, 0, right, wrong or "
                f"null, not {value!r:.80}"
            )
        truths[row.row_id] = words[value]
    if not truths:
        column = f"the column {name!r}" if name else "this column"
        raise DataError(f"{rows.path}: no decided row has a truth in {column}. Is it there?")
    return truths


def _count(
    labelled: Iterable[AuditRow], truths: Mapping[str, bool], totals: Mapping[bool, int] | None
) -> Audit:
    counts = {(accepted, right): 0 for accepted in (True, False) for right in (True, False)}
    for row in labelled:
        counts[row.accepted, truths[row.row_id]] += 1
    return Audit(
        accepted_right=counts[True, True],
        accepted_wrong=counts[True, False],
        rejected_right=counts[False, True],
        rejected_wrong=counts[False, False],
        accepted_total=None if totals is None else totals[True],
        rejected_total=None if totals is None else totals[False],
    )


def _agreement(given: Mapping[str, Mapping[str, Judgement]]) -> Agreement | None:
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for judgements in given.values():
        names = sorted(judgements)
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                pairs.setdefault((one, other), []).append((judgements[one], judgements[other]))
    if not pairs:
        return None
    most = max(pairs.values(), key=len)
    return cohen_kappa(most)
