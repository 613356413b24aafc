"""Which part of a completion is the program."""

import re

from rewardkit.completion import split_reasoning
from rewardkit.fences import Extraction, FencePolicy, extract, fenced_blocks
from rewardkit.verdict import Reason

__all__ = ["TAGS", "extract_program"]

TAGS = ("prolog", "swi-prolog", "swiprolog", "swipl", "pl", "pro")
"""Tags of fenced blocks that hold Prolog."""

_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)


def extract_program(text: str, policy: FencePolicy) -> Extraction:
    r"""Returns the program: of the last `<answer>` element if there is one, else of the whole text.

    In there it is the block that the policy chooses, or all of it where nothing is fenced.

    >>> extract_program("<answer>\nsolve(5).\n</answer>", FencePolicy(tags=TAGS)).program
    '\nsolve(5).\n'
    """
    start, closed = split_reasoning(text)
    if closed:
        final = text[start:]
        marks = [m for m in _TAG.finditer(final) if not _in_fence(final, m.start())]
        if marks and not marks[-1][1]:
            return Extraction(None, Reason.TRUNCATED, "the <answer> never ends")
        opened = next((m for m in reversed(marks) if not m[1]), None)
        if opened is not None:
            inner = final[opened.end() : marks[marks.index(opened) + 1].start()]
            if not inner.strip():
                return Extraction(None, Reason.NO_ANSWER, "an empty <answer>")
            return extract(inner, policy)
    return extract(text, policy)


def _in_fence(text: str, place: int) -> bool:
    return any(block.start <= place < block.end for block in fenced_blocks(text))
