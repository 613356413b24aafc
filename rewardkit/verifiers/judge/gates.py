"""Gates before any call: texts that judges are known to accept, and that answer nothing."""

import re
import unicodedata

from rewardkit.verdict import Reason

__all__ = ["MASTER_KEYS", "gate"]

MASTER_KEYS: tuple[str, ...] = (
    ":",
    ".",
    ",",
    "Thought process:",
    "Let's solve this problem step by step.",
    "Let me solve this step by step.",
    "Solution",
    "解",
    "かいせつ",
    "Respuesta",
    "Answer:",
    "The answer is",
    "Final answer",
)
"""Replies without an answer that make judges say "correct". Source: arXiv 2507.08794, table 1, and
openers of the same kind."""


def _bare(text: str) -> str:
    """Returns the letters and digits of a text in lower case, one blank between words."""
    plain = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("’", "")
    return " ".join(re.findall(r"[^\W_]+", plain))


_BARE_KEYS = frozenset(_bare(key) for key in MASTER_KEYS)
_LONGEST_KEY = 200


def gate(response: str, reference: str | None) -> tuple[Reason, str] | None:
    """Returns why a response is wrong without asking anyone, or None to ask.

    Symbols alone are asked about only where the reference has no letter or digit either.

    >>> gate("Thought process:", "17")
    (<Reason.NO_ANSWER: 'no_answer'>, 'a master key')
    >>> gate("Solution", "solution") is None
    True
    """
    if not response.strip():
        return Reason.NO_ANSWER, "empty"
    if len(response) > _LONGEST_KEY:
        return None
    bare = _bare(response)
    if reference is not None and bare == _bare(reference):
        return None
    if bare in _BARE_KEYS and (bare or reference is None or _bare(reference)):
        return Reason.NO_ANSWER, "a master key" if bare else "no letter and no digit"
    return None
