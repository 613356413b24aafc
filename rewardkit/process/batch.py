"""Many completions at once: the same numbers as `StepScores` and `StepTokens`, in NumPy."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

from rewardkit.errors import ConfigError
from rewardkit.process.scores import Aggregator
from rewardkit.process.segmentation import StepTokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["StepBatch"]


class _Bounds(NamedTuple):
    """Tokens: (N,) where each step starts and ends, (B,) the first and last of each completion."""

    starts: "NDArray[np.intp]"
    ends: "NDArray[np.intp]"
    first: "NDArray[np.intp]"
    last: "NDArray[np.intp]"


class StepBatch:
    """The step scores of B completions as one flat array; NaN is an undecided step.

    Args:
        values: (N,) the steps of the first completion, then those of the second, …
        counts: (B,) steps of each completion; they add up to N.

    Raises:
        ConfigError: they do not.

    >>> batch = StepBatch.from_rows([[1.0, 0.0], [], [0.5, None]])
    >>> batch.aggregate("min").tolist()
    [0.0, nan, 0.5]
    """

    def __init__(self, values: "NDArray[np.float64]", counts: "NDArray[np.intp]") -> None:
        import numpy as np

        self.values = np.asarray(values, dtype=float)
        self.counts = np.asarray(counts, dtype=np.intp)
        if self.values.ndim != 1 or int(self.counts.sum()) != self.values.size:
            raise ConfigError(
                f"{self.values.size} values for {int(self.counts.sum())} steps: give one a step"
            )

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[float | None]]) -> Self:
        """Returns the batch of rows of scores; None is an undecided step."""
        import numpy as np

        flat = np.array(list(chain.from_iterable(rows)), dtype=float)  # None becomes NaN
        return cls(flat, np.fromiter(map(len, rows), np.intp, len(rows)))

    def __len__(self) -> int:
        return int(self.counts.size)

    def aggregate(
        self, how: Aggregator = "min", *, threshold: float = 0.5
    ) -> "NDArray[np.float64]":
        """Returns (B,) what `aggregate_steps` with `missing="ignore"` says; NaN for its None."""
        import numpy as np

        decided = ~np.isnan(self.values)
        if how == "min":
            return self._reduce(np.minimum, np.where(decided, self.values, np.inf))
        if how == "prod":
            with np.errstate(divide="ignore"):
                logs = np.log(np.clip(self.values, 0.0, None))
            return np.exp(self._reduce(np.add, np.where(decided, logs, 0.0)))
        if how == "mean":
            number = self._reduce(np.add, decided.astype(float))
            return self._reduce(np.add, np.where(decided, self.values, 0.0)) / number
        order = self._order()
        if how == "last":
            found = self._reduce(np.maximum, np.where(decided, order, -1.0))
            known = found >= 0
            place = self._starts()[known] + found[known].astype(np.intp)
            found[known] = self.values[place]
            return found
        if how == "first_error":
            wrong = decided & (self.values < threshold)
            first = self._reduce(np.minimum, np.where(wrong, order, np.inf))
            before = decided & (order < np.repeat(first, self.counts))
            number = self._reduce(np.add, decided.astype(float))
            return self._reduce(np.add, before.astype(float)) / number
        raise ConfigError(f"no aggregator {how!r}: see aggregate_steps")

    def suffix_sums(self, *, gamma: float = 1.0) -> "NDArray[np.float64]":
        """Returns (N,) R_k = v_k + gamma R_(k+1) within each completion; undecided steps add 0.

        The values are added as they are: give `StepScores.summands`, which do not pay for steps.

        Args:
            gamma: in [0, 1].
        """
        import numpy as np

        values = np.nan_to_num(self.values)
        if gamma == 1.0:
            whole = np.concatenate([[0.0], np.cumsum(values)])
            ends = np.cumsum(self.counts)
            return np.repeat(whole[ends], self.counts) - whole[:-1]
        if not 0 <= gamma <= 1:
            raise ConfigError(f"gamma is in [0, 1], not {gamma!r}")
        from_end = np.repeat(self.counts, self.counts) - 1 - self._order().astype(np.intp)
        sums = values.copy()
        for distance in range(1, int(self.counts.max(initial=0))):
            here = np.flatnonzero(from_end == distance)
            sums[here] += gamma * sums[here + 1]
        return sums

    def to_tokens(
        self,
        tokens: Sequence[StepTokens],
        *,
        at_end: bool = False,
        values: "NDArray[np.float64] | None" = None,
        width: int | None = None,
    ) -> "NDArray[np.float64]":
        """Returns (B, T) numbers by token, 0 outside of every step and for undecided steps.

        Args:
            tokens: (B,) the tokens of each completion's steps.
            at_end: on the last token of each step alone; else on all of its tokens.
            values: (N,) in place of the scores, as `suffix_sums` returns.
            width: T; None for the longest row.
        """
        import numpy as np

        chosen = np.nan_to_num(self.values if values is None else np.asarray(values, dtype=float))
        bounds = self._bounds(tokens)
        width = max((row.length for row in tokens), default=0) if width is None else width
        out = np.zeros((len(self), width))
        if at_end:
            row: NDArray[np.intp] = np.repeat(np.arange(len(self)), self.counts)
            np.add.at(out, (row, np.maximum(bounds.ends - 1, 0)), chosen)
            return out
        column = np.arange(width)
        inside = (column >= bounds.first[:, None]) & (column < bounds.last[:, None])
        out[inside] = np.repeat(chosen, bounds.ends - bounds.starts)
        return out

    def _bounds(self, tokens: Sequence[StepTokens]) -> "_Bounds":
        import numpy as np

        if [len(row) for row in tokens] != self.counts.tolist():
            raise ConfigError("each completion has as many token spans as steps")
        bounds = np.fromiter(chain.from_iterable(row.bounds for row in tokens), np.intp)
        ends = np.cumsum(self.counts + 1) - 1
        keep = np.ones(bounds.size, dtype=bool)
        keep[ends] = False
        starts = ends - self.counts
        following = np.ones(bounds.size, dtype=bool)
        following[starts] = False
        return _Bounds(bounds[keep], bounds[following], bounds[starts], bounds[ends])

    def _starts(self) -> "NDArray[np.intp]":
        import numpy as np

        return np.cumsum(self.counts) - self.counts

    def _order(self) -> "NDArray[np.float64]":
        """(N,) the place of each step within its completion."""
        import numpy as np

        order = np.arange(self.values.size, dtype=float)
        return order - np.repeat(self._starts(), self.counts).astype(float)

    def _reduce(self, how: "np.ufunc", values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Returns (B,) the reduction of each completion; NaN where no step is decided."""
        import numpy as np

        found = np.full(len(self), np.nan)
        some = self.counts > 0
        if some.any():
            found[some] = how.reduceat(values, self._starts()[some])
            undecided = np.isnan(self.values)
            number = np.add.reduceat(~undecided, self._starts()[some], dtype=np.intp)
            found[np.flatnonzero(some)[number == 0]] = np.nan
        return found
