"""Hedges, denials and corrections around an answer: when one answer is none, or not the last."""

import re

__all__ = ["denial_before", "hedge_after", "is_corrected", "is_resolved", "squeezed"]

_SPACE = re.compile(r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])|\\[,;! ]|\$|\*\*|\.$")
_AFTER = re.compile(
    r"[\s$.,;:!)\]}*_\"]*(?:\\[)\]])?[\s.,;:!*_(]*(?:so\s+)?"
    r"(?:(?:and\s*/\s*)?or\b(?!\s+(?:equivalently|in\s+other\s+words|rather|approximately|about|≈|as\s+a))"
    r"|(?:alternatively|possibly|perhaps|maybe|otherwise)\b|as\s+an\s+alternative\b)"
    r"|[\s$*]*(?:\\\))?\s*(?:[,;/|&~:.]|\\quad|\\qquad)+\s*(?:or\s+)?\$-?\d[\d.]*\$|\s*[,;/|&]\s*-?\d+(?:\.\d+)?\s*(?:[,;/|&]|or\b|$)"
    r"|[\s$*)]*\?|[\s$*]*(?:is|was)\s+(?:wrong|incorrect|not\b)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:it|this|that|which|or|but)\b[^.\n]{0,20}\b(?:might|could|may)\s+(?:also\s+|instead\s+|well\s+)?be\b|"
    r"\bI(?:'m| am)\s+(?:not\s+(?:sure|certain)|unsure|guessing)\b|\bcannot\s+decide\b|\bjust\s+a\s+guess\b|"
    r"\b(?:actually|wait|no),?\s[^.\n]{0,40}\b(?:it\s+is|it's|should\s+be|must\s+be)\s+\$?-?\d",
    re.IGNORECASE,
)
_DOUBT_CHARS = 120
_BEFORE = re.compile(
    r"\b(?:not|isn't|never|unlike|except|instead\s+of|rather\s+than|one\s+of(?:\s+these)?|among|either|neither|any\s+of|"
    r"wrong|incorrect|suppos\w+(?:\s+that)?(?:\s+the)?|assum\w+(?:\s+that)?(?:\s+the)?|if(?:\s+the)?|whether(?:\s+the)?|"
    r"guess(?:\s+that)?(?:\s+the)?|imagine(?:\s+that)?(?:\s+the)?)\b"
    r"[\s:,$(\[*]*(?:\\[(\[])?\s*$|[\d}$)]\s*(?:or|and/or)\s*[$(\[*]*(?:\\[(\[])?\s*$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 40
_CORRECTION = re.compile(
    r"\b(?:wait|actually|no,|incorrect|wrong|mistake|correction|instead|redo(?:ing)?|scratch\s+that|recheck(?:ing)?|re-check|"
    r"not\s+right|dropped|forgot|missed|error|oops|hmm|reconsider)\b",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"\b(?:final(?:ly)?|therefore|thus|hence|so|answers?|total|altogether|overall|adding|summing|combin\w+|conclu\w+|"
    r"result(?:s|ing)?|in\s+all|together|result)\b|答案|所以|因此|最终",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"[\s$,(]*(?:=|≈|\\approx|\\equiv|(?:,?\s*(?:which|that)\s+(?:is|equals)|i\.e\.|or\s+equivalently))[\s$,:]*"
)
"""What stands between two spellings of one answer."""
_SENTENCE_BREAK = re.compile(r"[.!?。;:]\s|\n")


def squeezed(text: str) -> str:
    """Returns an answer without the spaces, dollars and bold marks that do not make it another."""
    return _SPACE.sub("", text.strip())


def hedge_after(text: str, end: int) -> str:
    """Returns why the text after an answer takes it back or offers another one, or ''."""
    if _AFTER.match(text, end, end + 400):
        return "another answer is offered beside it"
    if _DOUBT.search(text, end, end + _DOUBT_CHARS):
        return "the answer is doubted in the same breath"
    return ""


def denial_before(text: str, start: int) -> str:
    """Returns why the text before an answer denies it or makes it one of several, or ''."""
    if _BEFORE.search(text[max(0, start - _BEFORE_CHARS) : start]):
        return "the answer is denied, or one of several"
    return ""


def is_corrected(between: str) -> bool:
    """Returns True if the words between two answers take the first one back."""
    return bool(_CORRECTION.search(between))


def is_resolved(between: str) -> bool:
    """Returns True if the words between two answers say that the second is the final one."""
    if _SAME.fullmatch(between):
        return True
    if not _SENTENCE_BREAK.search(between):
        return False
    return is_corrected(between) or bool(_CONCLUSION.search(between))
