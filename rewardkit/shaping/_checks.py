"""Checks of shapers' options: each raises a `ConfigError` that names the option."""

import math
from typing import Literal, TypeAlias, get_args

from rewardkit.errors import ConfigError

__all__ = ["Unit", "check_band", "check_between", "check_count", "check_finite", "check_unit"]

Unit: TypeAlias = Literal["tokens", "characters", "words"]
"""What a length counts. Tokens are those of the column `completion_ids`, which TRL and the included
trainer pass: all of a completion, with those of tools between its turns. Characters and words are
those of the text that is graded."""


def check_finite(**options: object) -> None:
    """Checks that options are finite numbers.

    Raises:
        ConfigError: one is not; it is named.
    """
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{name} is a number, not {value!r}")
        if not math.isfinite(value):
            raise ConfigError(f"{name} is finite, not {value!r}")


def check_between(low: float, high: float, /, **options: float) -> None:
    """Checks that options are numbers of a closed interval.

    Raises:
        ConfigError: one is not; it is named.
    """
    check_finite(**options)
    for name, value in options.items():
        if not low <= value <= high:
            raise ConfigError(f"{name} is in [{low:g}, {high:g}], not {value!r}")


def check_band(name: str, band: object) -> None:
    """Checks that an option is two numbers of [0, 1], the smaller first.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(band, tuple | list) or len(band) != 2:
        raise ConfigError(f"{name} is (smallest, largest), not {band!r}")
    low, high = band
    check_between(0, 1, **{f"the first of {name}": low, f"the second of {name}": high})
    if low > high:
        raise ConfigError(f"{name} is (smallest, largest), not {band!r}")


def check_count(least: int, /, **options: object) -> None:
    """Checks that options are whole numbers, and not too small.

    Raises:
        ConfigError: one is not; it is named.
    """
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"{name} is a whole number of at least {least}, not {value!r}")


def check_unit(unit: str) -> None:
    """Checks that a length has a known unit.

    Raises:
        ConfigError: it has not.
    """
    if unit not in get_args(Unit):
        raise ConfigError(f"unit is one of {', '.join(get_args(Unit))}, not {unit!r}")
