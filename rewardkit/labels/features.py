"""Columns of a scored file as yes/no features of its rows."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rewardkit.labels.rows import ScoredRows
from rewardkit.noise.dependence import Dependence, find_dependence

__all__ = ["dependence_on_columns"]

_MOST_VALUES = 8


def dependence_on_columns(
    rows: ScoredRows, truths: Mapping[str, bool], columns: Mapping[str, int]
) -> list[Dependence]:
    """Returns how the verifier's errors depend on columns, the least likely to be chance first.

    A number counts as a feature where it is above the labelled rows' median; a text is one feature
    for each of its most frequent values; null is a value of its own.

    Args:
        rows: the scored file.
        truths: by row id.
        columns: by name, their place among the values that `rows` has kept.
    """
    labelled = [rows.rows[row_id] for row_id in truths]
    features: dict[str, list[bool]] = {}
    for name, index in columns.items():
        features.update(_features(name, [row.values[index] for row in labelled]))
    return find_dependence(
        [row.accepted for row in labelled], [truths[row.row_id] for row in labelled], features
    )


def _features(name: str, values: Sequence[object]) -> dict[str, list[bool]]:
    if all(isinstance(value, bool) for value in values):
        return {name: [bool(value) for value in values]}
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) == len(values) and numbers:
        median = sorted(numbers)[len(numbers) // 2]
        return {f"{name} > {median:g}": [number > median for number in numbers]}
    texts = [str(value) for value in values]
    frequent = [text for text, _ in Counter(texts).most_common(_MOST_VALUES)]
    return {f"{name} = {text}": [one == text for one in texts] for text in frequent}
