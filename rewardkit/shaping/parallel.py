"""Threads that run side by side: how long the longest path is, and what that is worth."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_count
from rewardkit.shaping.base import CompletionShaper, Range, Row
from rewardkit.shaping.length import overlong

__all__ = [
    "DC_COT",
    "THREADWEAVER",
    "Acceleration",
    "LongestPathPenalty",
    "PathLengths",
    "ThreadGrammar",
    "path_lengths",
]

_Mark: TypeAlias = Literal["open", "close", "thread", "end", ""]


class PathLengths(NamedTuple):
    """Lengths of a completion with threads, all in one unit."""

    total: int
    longest: int
    """Of the longest path: what is in no thread, and the longest thread of each block."""
    blocks: int
    threads: int

    @property
    def acceleration(self) -> float:
        """1 - longest / total, in [0, 1): the share that need not be waited for."""
        return 1 - self.longest / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadGrammar:
    """How a completion spells its threads: blocks that hold threads, neither within its own kind.

    An end of a block within a thread, and a start of a thread within a thread, are plain text. What
    is still open at the end of the text ends there. A mark counts 1 of whatever the unit is in
    tokens, and its characters otherwise; those of threads are part of every path.
    """

    block: tuple[str, str]
    thread: tuple[str, str]
    """`{n}` stands for a number, the same or another in each."""

    def pattern(self) -> re.Pattern[str]:
        """Returns what finds any of the marks, in the groups open, close, thread and end."""
        names = ("open", "close", "thread", "end")
        marks = (*self.block, *self.thread)
        return re.compile(
            "|".join(
                f"(?P<{name}>{re.escape(mark).replace(re.escape('{n}'), '[0-9]{1,4}')})"
                for name, mark in zip(names, marks, strict=True)
            )
        )


THREADWEAVER = ThreadGrammar(block=("<Parallel>", "</Parallel>"), thread=("<Thread>", "</Thread>"))
"""The marks of ThreadWeaver (arXiv:2512.07843)."""

DC_COT = ThreadGrammar(
    block=("<spawn_workers>", "</spawn_workers>"), thread=("<worker_{n}>", "</worker_{n}>")
)
"""The marks of DC-CoT (arXiv:2601.23027)."""


def path_lengths(pieces: Iterable[tuple[_Mark, int]]) -> PathLengths:
    """Returns the lengths of a text that was cut at its marks.

    Args:
        pieces: in order, the kind of each (`""` is text between marks) and its length.

    >>> path_lengths([("", 5), ("open", 1), ("thread", 1), ("", 9), ("end", 1), ("close", 1)])
    PathLengths(total=18, longest=18, blocks=1, threads=1)
    """
    total = path = blocks = threads = longest = 0
    current: int | None = None
    """Length of the thread that is open."""
    in_block = False
    for kind, size in pieces:
        total += size
        if current is not None:
            if kind == "end":
                longest, current = max(longest, current), None
                path += size
            else:
                current += size
            continue
        path += size
        if kind == "open" and not in_block:
            in_block, blocks, longest = True, blocks + 1, 0
        elif kind == "close" and in_block:
            in_block, path, longest = False, path + longest, 0
        elif kind == "thread" and in_block:
            current, threads = 0, threads + 1
    return PathLengths(total, path + max(longest, current or 0), blocks, threads)


def _pieces_of_text(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[_Mark, int]]:
    end = 0
    for found in pattern.finditer(text):
        yield "", found.start() - end
        kind: _Mark = found.lastgroup  # type: ignore[assignment]
        yield kind, len(found[0])
        end = found.end()
    yield "", len(text) - end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Threads(CompletionShaper):
    """What both rewards of this module share."""

    grammar: ThreadGrammar = THREADWEAVER
    token_ids: Mapping[str, tuple[int, ...]] | None = None
    """For lengths in tokens: the ids of `open`, `close`, `thread` and `end`, each a token of its
    own. Without them lengths are in characters."""
    correct: str | None = "correct"
    """The component or column that says whether the answer is right; None: it does not matter."""
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pattern", self.grammar.pattern())
        if self.token_ids is not None and set(self.token_ids) != {
            "open",
            "close",
            "thread",
            "end",
        }:
            raise ConfigError("token_ids has the keys open, close, thread and end")

    @property
    def reads(self) -> tuple[str, ...]:
        """The score, if it matters."""
        return () if self.correct is None else (self.correct,)

    def lengths(self, row: Row) -> PathLengths:
        """Returns the lengths of a completion."""
        if self.token_ids is None:
            return path_lengths(_pieces_of_text(row.text, self._pattern))
        kinds: dict[int, _Mark] = {
            number: kind  # type: ignore[misc]
            for kind, numbers in self.token_ids.items()
            for number in numbers
        }
        return path_lengths((kinds.get(one, ""), 1) for one in row.token_ids)

    def _right(self, row: Row) -> bool | None:
        if self.correct is None:
            return True
        score = row.score(self.correct)
        return None if score is None else score >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceleration(_Threads):
    """What a right answer gains by threads: scale * min(1 - longest / total, clip), else 0.

    The acceleration reward of ThreadWeaver (arXiv:2512.07843), as its published code has it. Never
    falls with the total at one longest path: words that fill short threads are paid, which is why
    it is clipped and for right answers alone. `LongestPathPenalty` does not have this flaw.

    >>> text = "12345<Parallel><Thread>aaaaaaaa</Thread><Thread>bbbb</Thread></Parallel>"
    >>> round(Acceleration()([text], correct=[1.0])[0], 3)
    0.056
    """

    scale: float = 1.0
    clip: float = 0.1
    """The largest share that is paid, in [0, 1]."""

    def __post_init__(self) -> None:
        _Threads.__post_init__(self)
        check_between(0, 1e9, scale=self.scale)
        check_between(0, 1, clip=self.clip)

    @property
    def range(self) -> Range:
        """0 to `scale * clip`."""
        return Range(0.0, self.scale * self.clip)

    def shape(self, row: Row) -> float | None:
        """Returns the bonus."""
        right = self._right(row)
        if right is None:
            return None
        return self.scale * min(self.lengths(row).acceleration, self.clip) if right else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestPathPenalty(_Threads):
    """DAPO's overlong penalty on the longest path instead of the length, times `factor`.

    As DC-CoT (arXiv:2601.23027) has it in its published code, which for its runs with a high length
    penalty uses the factor 0.9 and penalises right answers alone; a wrong one gets 0. It ends at
    `-factor`, where that code relies on the limit of the sampler. Never rises with the longest
    path, whatever the other threads hold.

    >>> shaper = LongestPathPenalty(max_length=20, buffer=10, correct=None)
    >>> shaper(["12345", "1234567890123456789012345"])
    [0.0, -1.0]
    """

    max_length: int
    buffer: int
    factor: float = 1.0

    def __post_init__(self) -> None:
        _Threads.__post_init__(self)
        check_count(1, max_length=self.max_length)
        check_count(0, buffer=self.buffer)
        check_between(0, 1e9, factor=self.factor)

    @property
    def range(self) -> Range:
        """`-factor` to 0."""
        return Range(-self.factor, 0.0)

    def shape(self, row: Row) -> float | None:
        """Returns the penalty."""
        right = self._right(row)
        if right is None:
            return None
        if not right:
            return 0.0
        return self.factor * overlong(self.lengths(row).longest, self.max_length, self.buffer)
