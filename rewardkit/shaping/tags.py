"""Reasoning in named blocks: which must be there, how often, in which order."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_between, check_count
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["TagConstraints", "TaggedBlock", "tagged_blocks"]


class TaggedBlock(NamedTuple):
    """One block `<name>…</name>`, and whether it is well formed."""

    name: str
    start: int
    """First character of the opening tag."""
    end: int
    """One past the closing tag."""
    size: int
    """Characters inside, without white space at the ends."""


def tagged_blocks(text: str, names: tuple[str, ...]) -> tuple[list[TaggedBlock], int]:
    """Returns the blocks of a text in order, and how many tags are in no block. One pass.

    Blocks do not nest: a tag within a block that is not its own closing tag is stray.

    Args:
        text: the completion.
        names: of the tags.

    >>> blocks, stray = tagged_blocks("<plan>add</plan></check>", ("plan", "check"))
    >>> [block.name for block in blocks], stray
    (['plan'], 1)
    """
    pattern = re.compile(f"<(/?)({'|'.join(map(re.escape, names))})>")
    blocks: list[TaggedBlock] = []
    stray, opened, start, inside = 0, "", 0, 0
    for found in pattern.finditer(text):
        close, name = found.groups()
        if not opened and not close:
            opened, start, inside = name, found.start(), found.end()
        elif opened == name and close:
            size = len(text[inside : found.start()].strip())
            blocks.append(TaggedBlock(name, start, found.end(), size))
            opened = ""
        else:
            stray += 1
    return blocks, stray + bool(opened)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagConstraints(CompletionShaper):
    """The share of these constraints that hold, or 1 and 0 with `credit="all"`.

    1. no tag is stray, and no block has fewer than `min_chars` characters;
    2. one for each of `required`: it is there;
    3. there are `min_blocks` to `max_blocks` blocks;
    4. no block follows one of its own name (if `alternate`);
    5. the first blocks of the names in `order` come in that order;
    6. at most `max_outside` of the text's characters, without white space, stand in no block.

    That reasoning is cut into functional tags and that constraints on them are part of the reward
    is from TagPR (arXiv:2509.23140); its formula could not be read, so the list is ours. Content is
    not judged: junk in the right tags earns all of it, so give it a small weight. Never falls when
    a constraint is dropped from violation to holding.

    >>> shaper = TagConstraints(tags=("plan", "check"), required=("plan", "check"))
    >>> shaper(["<plan>add</plan><check>4-2=2</check>", "<plan>add</plan>"])
    [1.0, 0.8333333333333334]
    """

    tags: tuple[str, ...]
    """All names that count as tags."""
    required: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    min_blocks: int = 1
    max_blocks: int = 64
    min_chars: int = 1
    alternate: bool = True
    max_outside: float = 0.1
    """In [0, 1]."""
    credit: Literal["share", "all"] = "share"

    def __post_init__(self) -> None:
        if not self.tags or not all(self.tags):
            raise ConfigError("tags are names, at least one, none empty")
        unknown = {*self.required, *self.order} - {*self.tags}
        if unknown:
            raise ConfigError(f"{sorted(unknown)[0]!r} is not among the tags")
        check_count(0, min_blocks=self.min_blocks, min_chars=self.min_chars)
        check_count(self.min_blocks, max_blocks=self.max_blocks)
        check_between(0, 1, max_outside=self.max_outside)
        if self.credit not in ("share", "all"):
            raise ConfigError(f"credit is 'share' or 'all', not {self.credit!r}")

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns the share, or 1.0 or 0.0."""
        held = self.held(row.text)
        return sum(held) / len(held) if self.credit == "share" else float(all(held))

    def held(self, text: str) -> list[bool]:
        """Returns whether each constraint holds, in the order of the list above."""
        blocks, stray = tagged_blocks(text, self.tags)
        names = [block.name for block in blocks]
        first = {name: place for place, name in reversed([*enumerate(names)])}
        places = [first[name] for name in self.order if name in first]
        held = [stray == 0 and all(block.size >= self.min_chars for block in blocks)]
        held += [name in first for name in self.required]
        held.append(self.min_blocks <= len(blocks) <= self.max_blocks)
        if self.alternate:
            held.append(all(one != other for one, other in pairwise(names)))
        if self.order:
            held.append(places == sorted(places))
        held.append(self._outside(text, blocks) <= self.max_outside)
        return held

    def _outside(self, text: str, blocks: list[TaggedBlock]) -> float:
        kept, end = 0, 0
        for block in blocks:
            kept += _solid(text[end : block.start])
            end = block.end
        total = _solid(text)
        return (kept + _solid(text[end:])) / total if total else 0.0


def _solid(text: str) -> int:
    """Characters that are not white space."""
    return len(text) - sum(text.count(space) for space in " \t\n\r\f\v")
