"""Completions that are unlike their siblings: by hidden states, or by embeddings."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_count, check_finite
from rewardkit.shaping.base import GroupShaper, Range, Row

__all__ = ["EllipticalBonus", "Embed", "NeighbourDistance", "elliptical_bonus"]

Embed: TypeAlias = Callable[[Sequence[Row]], Sequence[Any]]
"""From rows to one vector each, or None: lists, arrays or tensors of numbers."""


def elliptical_bonus(
    vector: Sequence[float], others: Sequence[Sequence[float]], *, ridge: float = 1.0
) -> float:
    """Returns h' S^-1 h with S = ridge I + sum of g g' over the others.

    The elliptical bonus as Representation-Based Exploration (RepExp, arXiv:2510.11686) defines it:
    |h|^2 / ridge where nothing was seen, near 0 where h is spanned by what was.

    Args:
        vector: (D,), the mean hidden state of the last layer over a completion's tokens in the
            paper.
        others: (N, D), those seen before.
        ridge: above 0.

    >>> elliptical_bonus([1.0, 0.0], [[1.0, 0.0]]), elliptical_bonus([1.0, 0.0], [[0.0, 1.0]])
    (0.5, 1.0)
    """
    # By Woodbury's identity: N equations, where S would be D by D.
    size = len(others)
    gram = [[_dot(one, other) for other in others] for one in others]
    for place in range(size):
        gram[place][place] += ridge
    cross = [_dot(vector, other) for other in others]
    seen = _dot(cross, _solved(gram, cross)) if size else 0.0
    return max(_dot(vector, vector) - seen, 0.0) / ridge


@dataclass(frozen=True, slots=True, kw_only=True)
class _Features(GroupShaper):
    """Where vectors come from, for both shapers of this module."""

    features: str = "features"
    """The column with a vector a row; None where there is none. Not read if `embed` is given."""
    embed: Embed | None = None
    """Makes vectors of the rows: of `row.text`, or of what columns hold."""
    group: str | None = "prompt"
    """The column that tells groups apart; None compares the whole batch."""

    @property
    def group_column(self) -> str | None:
        """The option `group`."""
        return self.group

    def _vectors(self, rows: Sequence[Row]) -> list[list[float] | None]:
        """Unit vectors; None for what is missing, not finite or zero."""
        if self.embed is not None:
            found = list(self.embed(rows))
            if len(found) != len(rows):
                raise ConfigError(f"embed returned {len(found)} vectors for {len(rows)} rows")
        else:
            found = [row.column(self.features) for row in rows]
        vectors = [None if one is None else unit_vector(one) for one in found]
        if len({len(one) for one in vectors if one is not None}) > 1:
            raise ConfigError("the vectors of a group have different sizes")
        return vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class EllipticalBonus(_Features):
    """ridge times the elliptical bonus of a row's unit vector, given those of the others.

    1 for a direction that no other row of the group has, near 0 for one that many have. In the
    paper's inference-time form rows come one after the other; here each is compared with all
    others of its group (leave one out), so that their order does not matter. Never rises when
    another row joins the group.

    Alike for right and wrong completions: multiply it with the verifier, or keep its weight small.

    >>> shaper = EllipticalBonus()
    >>> shaper(["a", "b", "c"], prompt=["p"] * 3, features=[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    [0.5, 0.5, 1.0]
    """

    ridge: float = 1.0
    """Above 0; smaller ones tell near directions apart."""

    def __post_init__(self) -> None:
        check_finite(ridge=self.ridge)
        if self.ridge <= 0:
            raise ConfigError("ridge is above 0")

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row; None for a row without a vector."""
        vectors = self._vectors(rows)
        own = [index for index, one in enumerate(vectors) if one is not None]
        known = [one for one in vectors if one is not None]
        found: list[float | None] = [None] * len(rows)
        for place, index in enumerate(own):
            others = known[:place] + known[place + 1 :]
            bonus = elliptical_bonus(known[place], others, ridge=self.ridge)
            found[index] = min(1.0, self.ridge * bonus)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourDistance(_Features):
    """(1 - s) / 2, where s is the mean cosine similarity to the nearest neighbours.

    The novelty of a problem in OpenSIR (arXiv:2511.00602), whose published code takes the five
    nearest among the other candidates and a pool of earlier problems: give the pool's vectors, and
    `group=None`. Without a pool it is the diversity within a group. 0 for a copy of its neighbours,
    0.5 for what is orthogonal to them, 1 for their opposite or where there is nobody to compare
    with. Never rises when a row that is nearer than its neighbours joins.

    >>> shaper = NeighbourDistance(neighbours=1)
    >>> shaper(["a", "b", "c"], prompt=["p"] * 3, features=[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    [0.0, 0.0, 0.5]
    """

    neighbours: int = 5
    pool: tuple[tuple[float, ...], ...] = ()
    """Vectors that every row is compared with."""

    def __post_init__(self) -> None:
        check_count(1, neighbours=self.neighbours)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row; None for a row without a vector."""
        vectors = self._vectors(rows)
        pool = [one for vector in self.pool if (one := unit_vector(vector)) is not None]
        found: list[float | None] = []
        for index, vector in enumerate(vectors):
            if vector is None:
                found.append(None)
                continue
            others = [v for i, v in enumerate(vectors) if i != index and v is not None]
            near = sorted((_dot(vector, other) for other in (*others, *pool)), reverse=True)
            nearest = near[: self.neighbours] or [-1.0]
            found.append(min(1.0, max(0.0, (1 - math.fsum(nearest) / len(nearest)) / 2)))
        return found


def unit_vector(vector: object) -> list[float] | None:
    """Returns the numbers over their length; None where they are not finite, or all 0.

    Raises:
        ConfigError: it is no vector of numbers.
    """
    listed: Any = vector.tolist() if hasattr(vector, "tolist") else vector
    try:
        numbers = [float(number) for number in listed]
    except (TypeError, ValueError) as error:
        raise ConfigError(f"a vector is a list of numbers, not {vector!r:.100}") from error
    size = math.hypot(*numbers)
    return [number / size for number in numbers] if 0 < size < math.inf else None


def _dot(one: Iterable[float], other: Iterable[float]) -> float:
    return float(sum(map(mul, one, other)))


def _solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """Solves a symmetric positive definite system by Cholesky's factors."""
    size = len(right)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - _dot(lower[i][:j], lower[j][:j])
            lower[i][j] = math.sqrt(max(rest, 1e-300)) if i == j else rest / lower[j][j]
    forward: list[float] = []
    for i in range(size):
        forward.append((right[i] - _dot(lower[i][:i], forward)) / lower[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        rest = sum(lower[k][i] * found[k] for k in range(i + 1, size))
        found[i] = (forward[i] - rest) / lower[i][i]
    return found
