"""Which stratum of a channel a row belongs to."""

from collections.abc import Iterable, Mapping, Sequence

from rewardkit.errors import ConfigError

__all__ = ["join_stratum", "strata_of_columns"]


def join_stratum(values: Iterable[object]) -> str:
    """Returns the name of the stratum of a row with these values.

    >>> join_stratum(["gsm8k", "boxed"])
    'gsm8k / boxed'
    """
    return " / ".join(str(value) for value in values)


def strata_of_columns(
    columns: Mapping[str, Sequence[object]], names: Sequence[str], length: int
) -> list[str]:
    """Returns the stratum of each row of a batch.

    Args:
        columns: (B,) each, by name.
        names: the columns that name a stratum, in the order of the channel's `stratified_by`.
        length: B.

    Raises:
        ConfigError: a column is missing or has another length.
    """
    missing = [name for name in names if name not in columns]
    if missing:
        raise ConfigError(
            f"the rates are by {', '.join(names)}, and the rows have no column "
            f"{', '.join(missing)}: add it to the data set, or use rates over all rows"
        )
    chosen = [columns[name] for name in names]
    for name, column in zip(names, chosen, strict=True):
        if len(column) != length:
            raise ConfigError(f"column {name!r} has {len(column)} entries for {length} rows")
    return [join_stratum(column[row] for column in chosen) for row in range(length)]
