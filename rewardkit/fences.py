"""Takes a program out of a completion: from its fenced blocks, by a policy that is an object."""

import re
from dataclasses import dataclass

from rewardkit.completion import split_reasoning
from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason

__all__ = ["Block", "Extraction", "FencePolicy", "extract", "fenced_blocks"]

_FENCE = re.compile(r"([ \t]*(?:>[ \t]?)?)(`{3,}|~{3,})")
_CHOICES = ("last", "first", "join", "only")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    tag: str
    """The first word after the opening fence, in lower case; empty without one."""
    text: str
    start: int
    """First character of the content in the whole completion."""
    end: int
    closed: bool
    """False if the completion ends inside the block."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found: a program, or the reason why there is none."""

    program: str | None
    reason: Reason | None = None
    """None if there is a program."""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencePolicy:
    r"""Which block of a completion is the program.

    Only the final part counts: what follows the reasoning. Blocks with one of `tags` come first; if
    there is none, blocks without a tag; blocks with other tags never count.

    >>> extract(
    ...     "A try:\n```python\nx = 1\n```\nBetter:\n```python\nx = 2\n```", FencePolicy()
    ... ).program
    'x = 2\n'
    """

    tags: tuple[str, ...] = ("python", "py", "python3")
    """Tags of the wanted language, in lower case."""
    choose: str = "last"
    """"last", "first", "join" (all, in order), or "only" (several different blocks are
    ambiguous)."""
    accept_bare: bool = True
    """Take the whole final part when it has no fence at all."""
    accept_unclosed: bool = False
    """Take a last block whose closing fence is missing; else the completion counts as truncated."""
    max_chars: int = 1_000_000
    """A longer program is refused unread."""

    def __post_init__(self) -> None:
        if self.choose not in _CHOICES:
            raise ConfigError(f"choose is one of {_CHOICES}, not {self.choose!r}")


def fenced_blocks(text: str, offset: int = 0) -> list[Block]:
    """Returns the fenced blocks of Markdown text, in order, in one pass.

    Args:
        text: the Markdown.
        offset: added to the positions.
    """
    blocks: list[Block] = []
    opening: _Fence | None = None
    start = 0
    # Line by line, so that no text makes the search slower than linear.
    for line in text.split("\n"):
        fence = _read_fence(line, start)
        start += len(line) + 1
        if fence is None:
            continue
        if opening is None:
            opening = fence
        elif fence.mark.startswith(opening.mark) and not fence.info:
            blocks.append(_block(text, opening, fence.start, offset, closed=True))
            opening = None
    if opening is not None:
        blocks.append(_block(text, opening, len(text), offset, closed=False))
    return blocks


def extract(text: str, policy: FencePolicy) -> Extraction:
    """Returns the program that a completion's text commits to, under a policy."""
    start, closed = split_reasoning(text)
    if not closed:
        return Extraction(None, Reason.TRUNCATED, "the reasoning never ends")
    final = text[start:]
    blocks = fenced_blocks(final, start)
    if not blocks:
        if policy.accept_bare and final.strip():
            return _sized(final, policy)
        return Extraction(None, Reason.NO_ANSWER, "no fenced block")
    return _choose(blocks, policy)


def _choose(blocks: list[Block], policy: FencePolicy) -> Extraction:
    wanted = [b for b in blocks if b.tag in policy.tags] or [b for b in blocks if not b.tag]
    if not policy.accept_unclosed and not blocks[-1].closed:
        return Extraction(None, Reason.TRUNCATED, "the last fenced block never ends")
    if not wanted:
        tags = ", ".join(sorted({block.tag[:20] for block in blocks})[:5])
        return Extraction(None, Reason.NO_ANSWER, f"no block of the language; only of {tags}")
    if policy.choose == "only" and len({block.text for block in wanted}) > 1:
        return Extraction(None, Reason.AMBIGUOUS, f"{len(wanted)} different blocks")
    if policy.choose == "join":
        return _sized("\n".join(block.text for block in wanted), policy)
    return _sized(wanted[0 if policy.choose == "first" else -1].text, policy)


def _sized(program: str, policy: FencePolicy) -> Extraction:
    if len(program) > policy.max_chars:
        return Extraction(None, Reason.SIZE_LIMIT, f"a program of {len(program)} characters")
    return Extraction(program)


@dataclass(frozen=True, slots=True)
class _Fence:
    prefix: str
    mark: str
    info: str
    start: int
    end: int


def _read_fence(line: str, start: int) -> _Fence | None:
    found = _FENCE.match(line)
    if found is None:
        return None
    info = line[found.end() :].strip()
    if "`" in info:
        return None
    return _Fence(found[1], found[2], info, start, start + len(line) + 1)


def _block(text: str, opening: _Fence, end: int, offset: int, *, closed: bool) -> Block:
    start = min(opening.end, len(text))
    content = text[start:end]
    if opening.prefix:
        lines = content.split("\n")
        content = "\n".join(line.removeprefix(opening.prefix) for line in lines)
    words = opening.info.strip("{}. ").split(None, 1)
    tag = words[0][:40].lower().strip("{}.,:") if words else ""
    return Block(tag, content, offset + start, offset + end, closed)
