"""A verifier with one option of each kind, for the tests of the catalog."""

import enum
from collections.abc import Sequence
from typing import Literal

from tests.scoring.exact import ExactVerifier

__all__ = ["Colour", "ManyOptions"]


class Colour(enum.StrEnum):
    """An option with named values."""

    RED = "red"
    BLUE = "blue"


class ManyOptions(ExactVerifier):
    """One option of each kind."""

    def __init__(
        self,
        *,
        count: int,
        rate: float = 0.5,
        fast: bool = False,
        mode: Literal["strict", "lenient"] = "strict",
        level: Literal[1, 2] = 1,
        text: str = "a",
        limit: int | None = None,
        either: int | str = 3,
        colour: Colour = Colour.RED,
        names: tuple[str, ...] = (),
        numbers: Sequence[int] = (),
        tags: frozenset[str] = frozenset(),
        table: dict[str, int] | None = None,
    ) -> None:
        super().__init__()
        self.count = count
