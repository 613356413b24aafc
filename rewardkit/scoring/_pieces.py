"""The pieces in which a shard is graded.

A piece is a range of records of one shard. What is graded of it stands in a file of its own in the
run's folder until all of the shard is; so a run that was killed has lost the pieces in hand, and
nothing else.
"""

import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rewardkit.completion import completion_text
from rewardkit.errors import RewardkitError
from rewardkit.scoring._shards import Shard, ShardReading
from rewardkit.scoring.resume import Input
from rewardkit.scoring.scored import Candidate

__all__ = ["Piece", "cut_pieces", "pieces_done"]

_MOST_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one shard that are graded together, and kept together."""

    shard: Shard
    first: int
    stop: int
    """Records `first` to `stop - 1`, without those that cannot be read."""
    rows: list[Candidate]
    fraction: float
    """Share of the shard that is read so far, in [0, 1]."""
    is_last: bool = False
    """It has no rows, and stands for the end: the shard has `stop` records."""
    skipped: list[str] = field(default_factory=list)
    """Of the last one: the first 20 rows of the shard that cannot be read."""
    error: RewardkitError | None = None
    """Why the shard cannot be read on."""


def cut_pieces(
    reading: ShardReading, shard: Shard, done: Sequence[range], most_rows: int
) -> Iterator[Piece]:
    """Yields what is still to be graded of a shard, then its end.

    Args:
        reading: how it is read.
        shard: the file.
        done: ranges of records that are graded already, in order.
        most_rows: of a piece; one record of many rollouts may bring more.
    """
    try:
        rows = reading.open(shard)
        cutter = _Cutter(shard, rows, done, most_rows)
        for candidate in rows:
            yield from cutter.take(candidate)
        yield from cutter.end()
    except RewardkitError as error:
        yield Piece(shard, 0, 0, [], 1.0, is_last=True, error=error)


class _Cutter:
    def __init__(self, shard: Shard, source: Input, done: Sequence[range], most_rows: int) -> None:
        self._shard = shard
        self._source = source
        self._spans = deque(done)
        self._most = most_rows
        self._first = 0
        self._stop = 0
        self._rows: list[Candidate] = []
        self._chars = 0

    def take(self, candidate: Candidate) -> Iterator[Piece]:
        at = candidate.row.position
        self._stop = at + 1
        while self._spans and at >= self._spans[0].start:
            yield from self._cut(self._spans[0].start)
            if at < self._spans[0].stop:
                return
            self._first = self._spans.popleft().stop
        is_full = len(self._rows) >= self._most or self._chars > _MOST_CHARS
        if is_full and self._rows[-1].row.position != at:
            yield from self._cut(at)
        self._rows.append(candidate)
        self._chars += len(completion_text(candidate.row.completion))

    def _cut(self, stop: int) -> Iterator[Piece]:
        if self._rows:
            yield Piece(self._shard, self._first, stop, self._rows, self._source.source.fraction())
            self._first, self._rows, self._chars = stop, [], 0

    def end(self) -> Iterator[Piece]:
        yield from self._cut(self._stop)
        examples = self._source.skipped.examples
        yield Piece(self._shard, self._stop, self._stop, [], 1.0, True, examples)


def pieces_done(reading: ShardReading, shard: Shard) -> list[range]:
    """Returns the ranges that are graded, in order and apart; what overlaps them is removed."""
    name = re.compile(re.escape(shard.out.name) + r"\.(\d+)-(\d+)\.jsonl")
    found = [name.fullmatch(entry.name) for entry in os.scandir(reading.folder)]
    spans = sorted((range(int(one[1]), int(one[2])) for one in found if one), key=_by_place)
    kept: list[range] = []
    for span in spans:
        if kept and span.start < kept[-1].stop:
            # Of a run that was killed: its last piece came after this folder had been looked at.
            reading.file(shard, span.start, span.stop).unlink(missing_ok=True)
        else:
            kept.append(span)
    return kept


def _by_place(span: range) -> tuple[int, int]:
    return span.start, -span.stop
