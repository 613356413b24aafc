"""Steps as half-open character spans of a completion, and the tokens that they come to."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Self, TypeAlias

from rewardkit.errors import ConfigError

__all__ = ["Offsets", "Segmentation", "StepTokens", "offsets_from_starts"]

Offsets: TypeAlias = Sequence[tuple[int, int]]
"""(T,) half-open character spans of tokens in the same text: a fast tokenizer's offset mapping."""

MAX_TEXT_CHARS = 200_000
"""Verifiers of steps abstain on longer completions: their work grows with the text."""

_END = itemgetter(1)


@dataclass(frozen=True, slots=True)
class StepTokens:
    """The tokens of each step: one half-open span a step, in order, without gaps between them."""

    bounds: tuple[int, ...]
    """(K + 1,) the first token of each step, and one past the last token of the last step."""
    length: int
    """T, all tokens, those outside of every step (special tokens, padding) among them."""

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def counts(self) -> tuple[int, ...]:
        """(K,) tokens of each step; 0 for a step that shares its only token with a later one."""
        return tuple(end - start for start, end in pairwise(self.bounds))

    @property
    def last(self) -> tuple[int, ...]:
        """(K,) the last token of each step; for a step without tokens, the one before it."""
        return tuple(max(end - 1, 0) for end in self.bounds[1:])

    def owners(self) -> list[int]:
        """Returns (T,) the step of each token, -1 outside of every step."""
        owners = [-1] * self.length
        for step, (start, end) in enumerate(pairwise(self.bounds)):
            owners[start:end] = [step] * (end - start)
        return owners


@dataclass(frozen=True, slots=True)
class Segmentation:
    r"""A text cut into steps without loss: the steps, joined, are the text.

    Raises:
        ConfigError: the bounds do not rise from 0 to the length of the text, or there are not as
            many names as steps.

    >>> steps = Segmentation("ab\ncd", (0, 3, 5))
    >>> steps.texts, steps.spans
    (('ab\n', 'cd'), ((0, 3), (3, 5)))
    """

    text: str
    bounds: tuple[int, ...]
    """(K + 1,) characters, rising strictly from 0 to the text's length; (0,) for an empty text."""
    names: tuple[str | None, ...] = ()
    """(K,) what kind each step is, by a builder that knows; else empty."""

    def __post_init__(self) -> None:
        bounds = self.bounds
        rising = all(a < b for a, b in pairwise(bounds))
        if not bounds or bounds[0] != 0 or bounds[-1] != len(self.text) or not rising:
            raise ConfigError(
                f"bounds rise from 0 to the text's length {len(self.text)}, not {bounds[:20]}"
            )
        if self.names and len(self.names) != len(bounds) - 1:
            raise ConfigError(f"{len(self.names)} names for {len(bounds) - 1} steps")

    @classmethod
    def from_cuts(cls, text: str, cuts: Sequence[int]) -> Self:
        r"""Returns the text cut at these places; a piece of spaces alone goes to the step before.

        Leading space goes to the first step. So empty lines make no steps.

        Args:
            text: the completion.
            cuts: where steps begin, in any order; what is outside of the text is left out.

        >>> Segmentation.from_cuts("a\n\nb", [2, 3]).texts
        ('a\n\n', 'b')
        """
        size, seen = len(text), 0
        bounds = [0]
        for cut in sorted(cuts):
            if not seen < cut < size:
                continue
            # Only what lies between two cuts is looked at, so that blank text costs linear time.
            if not text[seen:cut].isspace():
                bounds.append(cut)
            elif len(bounds) > 1:
                bounds[-1] = cut
            seen = cut
        if len(bounds) > 1 and text[bounds[-1] :].isspace():
            bounds.pop()
        return cls(text, (*bounds, size) if size else (0,))

    @classmethod
    def from_steps(cls, steps: Sequence[str], *, joiner: str = "\n") -> Self:
        r"""Returns steps that are given one by one; the joiner ends each but the last.

        >>> Segmentation.from_steps(["a", "b"]).text
        'a\nb'
        """
        pieces = [step + joiner for step in steps[:-1]] + list(steps[-1:])
        if not all(pieces):
            raise ConfigError("a step is empty and so is the joiner: leave empty steps out")
        return cls("".join(pieces), tuple(accumulate(map(len, pieces), initial=0)))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[str]:
        return (self.text[a:b] for a, b in pairwise(self.bounds))

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """(K,) half-open spans in characters."""
        return tuple(pairwise(self.bounds))

    @property
    def texts(self) -> tuple[str, ...]:
        """(K,) the steps; joined they are the text."""
        return tuple(self)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """(K + 1,) the text before the first step, after it, …, after the last."""
        return tuple(self.text[:bound] for bound in self.bounds)

    def project(self, offsets: Offsets) -> StepTokens:
        r"""Returns the tokens of each step. The text is tokenised once, never step by step.

        A token that straddles two steps belongs to the later one. Tokens of no characters before
        the first and after the last real token (special tokens, padding) belong to none.

        The cost is K binary searches, whatever the number of tokens.

        Args:
            offsets: (T,) of the whole text, with ends that do not fall.

        >>> Segmentation("ab\ncd", (0, 3, 5)).project([(0, 0), (0, 2), (2, 4), (4, 5)]).bounds
        (1, 2, 4)
        """
        length = stop = len(offsets)
        start = 0
        while start < stop and offsets[start][0] == offsets[start][1]:
            start += 1
        while stop > start and offsets[stop - 1][0] == offsets[stop - 1][1]:
            stop -= 1
        inner, last, found = self.bounds[1:-1], len(self), [start]
        for bound in inner:
            found.append(bisect_right(offsets, bound, found[-1], stop, key=_END))
        return StepTokens(tuple(found + [stop] * (last > 0)), length)


def offsets_from_starts(starts: Sequence[int], size: int) -> list[tuple[int, int]]:
    """Returns an offset mapping from where each token begins.

    Args:
        starts: (T,) not falling, in characters; what is outside of the text is held to it.
        size: characters of the text.

    >>> offsets_from_starts([0, 2], 5)
    [(0, 2), (2, 5)]
    """
    held = [min(max(start, 0), size) for start in starts]
    return list(pairwise([*held, size])) if held else []
