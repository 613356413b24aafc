"""Where steps begin: by separator, sentence, number, tag, turn, size, or the model's entropy."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.process.segmentation import Offsets, Segmentation

__all__ = [
    "by_entropy",
    "by_number",
    "by_sentence",
    "by_separator",
    "by_size",
    "by_tag",
    "by_turn",
]

_NUMBERED = re.compile(
    r"^[ \t]{0,8}(?:[#*_]{0,4}[ \t]?(?i:step)[ \t]{0,4}\d{1,4}\b|\(?\d{1,4}[.):][ \t])",
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?。！？][\"')\]}»”’]{0,4}(?=\s)|\n")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|approx|Eq|eq|Fig|fig|No|no|Dr|Mr|Mrs|Ms|St|Prof|Sec|resp)"
    r"|\b[A-Z]|(?:^|\n)[ \t]{0,8}\d{1,3})\.$"
)
_TAG_NAME = re.compile(r"[A-Za-z_][\w-]{0,63}")


def by_separator(text: str, separator: str = "\n\n") -> Segmentation:
    r"""Returns the steps that a separator ends; the separator belongs to the step before it.

    Args:
        text: the completion.
        separator: not empty. CRLF line ends count as LF where it has line ends.

    >>> by_separator("a\n\nb\n\n").texts
    ('a\n\n', 'b\n\n')
    """
    if not separator:
        raise ConfigError("separator is empty: use by_size(text, 1) for single characters")
    cuts = _ends(text, separator)
    if "\n" in separator and "\r\n" in text:
        cuts += _ends(text, separator.replace("\n", "\r\n"))
    return Segmentation.from_cuts(text, cuts)


def by_sentence(text: str) -> Segmentation:
    """Returns the sentences: ended by . ! ? and a space, or by a line end.

    Abbreviations, single capitals and list numbers end none.

    >>> by_sentence("Let x = 1.5, e.g. 3/2. Then 2x = 3.").texts
    ('Let x = 1.5, e.g. 3/2.', ' Then 2x = 3.')
    """
    ends = [
        found.end()
        for found in _SENTENCE_END.finditer(text)
        if found[0][0] != "."
        or not _ABBREVIATION.search(text, max(0, found.start() - 24), found.start() + 1)
    ]
    return Segmentation.from_cuts(text, ends)


def by_number(text: str) -> Segmentation:
    r"""Returns the steps of a numbered list: a line that begins `Step 3`, `3.`, `3)` or `(3)`.

    What stands before the first number is a step of its own.

    >>> by_number("Plan.\n1. Add.\n2. Halve.").texts
    ('Plan.\n', '1. Add.\n', '2. Halve.')
    """
    return Segmentation.from_cuts(text, [found.start() for found in _NUMBERED.finditer(text)])


def by_tag(text: str, tags: Sequence[str]) -> Segmentation:
    """Returns the blocks `<tag>…</tag>` as steps with the tag as name, and what is between them.

    Only whole blocks of the tags named count, from left to right; a block inside of another is
    part of it. Text between blocks is a step without a name, unless it is space alone.

    Args:
        text: the completion.
        tags: names without brackets.

    >>> steps = by_tag("<think>2+2</think> so <answer>4</answer>", ["think", "answer"])
    >>> steps.names
    ('think', None, 'answer')
    """
    if not tags or not all(_TAG_NAME.fullmatch(tag) for tag in tags):
        raise ConfigError(f"tags are names such as ['think', 'answer'], not {list(tags)!r}")
    opening = re.compile(f"<({'|'.join(map(re.escape, tags))})>")
    blocks: list[tuple[int, int, str]] = []
    place = 0
    closed = dict.fromkeys(tags, True)
    while (found := opening.search(text, place)) is not None:
        tag = found[1]
        end = text.find(f"</{tag}>", found.end()) if closed[tag] else -1
        if end < 0:
            closed[tag] = False  # so that each closing tag is looked for once: linear time
            place = found.end()
            continue
        place = end + len(tag) + 3
        blocks.append((found.start(), place, tag))
    steps = Segmentation.from_cuts(text, [place for a, b, _ in blocks for place in (a, b)])
    by_start = {start: tag for start, _, tag in blocks}
    first = blocks[0] if blocks and text[: blocks[0][0]].isspace() else None
    names = tuple(
        first[2] if first and start == 0 else by_start.get(start) for start, _ in steps.spans
    )
    return Segmentation(text, steps.bounds, names)


def by_turn(completion: Completion) -> Segmentation:
    """Returns the messages of a chat as steps, named by their roles; a string is one step.

    The text is that of all messages, one after the other; messages without text are left out.

    >>> by_turn([{"role": "assistant", "content": "ls"}, {"role": "tool", "content": "a"}]).names
    ('assistant', 'tool')
    """
    if isinstance(completion, str):
        return Segmentation(completion, (0, len(completion)) if completion else (0,))
    turns: list[tuple[str, str | None]] = []
    # A model's output may be anything: what is no list of messages has no turns.
    for message in completion if isinstance(completion, list | tuple) else ():
        if text := completion_text([message]):
            role: Any = message.get("role")
            turns.append((text, role if isinstance(role, str) else None))
    bounds = tuple(accumulate((len(text) for text, _ in turns), initial=0))
    return Segmentation("".join(text for text, _ in turns), bounds, tuple(n for _, n in turns))


def by_size(text: str, size: int) -> Segmentation:
    """Returns steps of `size` characters; the last may be shorter.

    >>> by_size("abcde", 2).texts
    ('ab', 'cd', 'e')
    """
    if size < 1:
        raise ConfigError(f"size is at least 1, not {size!r}")
    return Segmentation.from_cuts(text, range(size, len(text), size))


def by_entropy(
    text: str, offsets: Offsets, entropies: Sequence[float], *, spans: int, threshold: float
) -> Segmentation:
    """Returns at most `spans` steps that hold equally many uncertain tokens.

    U = {t: e_t >= threshold}; the steps begin at tokens of U such that each holds |U| / spans of
    them, the first rounded as the others are (GRPO-VPS, arXiv:2604.20659, segments by entropy).

    Args:
        text: the completion.
        offsets: (T,) of its tokens.
        entropies: (T,) of the distribution that each token was drawn from, in nats.
        spans: M, at least 1.
        threshold: tau, in nats.

    >>> by_entropy("abcd", [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 2, 0, 2], spans=2, threshold=1)
    Segmentation(text='abcd', bounds=(0, 3, 4), names=())
    """
    if spans < 1:
        raise ConfigError(f"spans is at least 1, not {spans!r}")
    if len(offsets) != len(entropies):
        raise ConfigError(f"{len(entropies)} entropies for {len(offsets)} tokens")
    uncertain = [t for t, entropy in enumerate(entropies) if entropy >= threshold]
    chosen = {uncertain[len(uncertain) * k // spans] for k in range(1, spans)} if uncertain else ()
    return Segmentation.from_cuts(text, [offsets[t][0] for t in chosen])


def _ends(text: str, separator: str) -> list[int]:
    found, place, size = [], text.find(separator), len(separator)
    while place >= 0:
        found.append(place + size)
        place = text.find(separator, place + size)
    return found
