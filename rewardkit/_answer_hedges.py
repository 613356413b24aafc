"""Hedges, denials and corrections around an answer: when one answer is none, or not the last."""

import re

from rewardkit._spaces import drop_idle_spaces

__all__ = [
    "denial_after",
    "denial_before",
    "is_corrected",
    "is_resolved",
    "is_silent",
    "offered_after",
    "squeezed",
]

_IDLE_MARKS = re.compile(r"\\[,;! ]|\$|\*\*|(?<!\.)\.\s*$")
_VALUE = (
    r"(?P<{0}>\$[^$\n]{{1,80}}\$|\\\([^\n]{{1,80}}?\\\)|\\boxed\{{[^\n]{{1,80}}?\}}"
    r"|-?\d[\d.,/]*(?:\s*\\?%|\s+[a-z]{{3,12}}\b)?|\b[A-J]\b(?!\s+[a-z]))"
)
"""A value in running text, under a name."""
_CLOSERS = r"[\s$.,;!)\]}*_\"]*(?:\\[)\]])?[\s.,;!*_(]*"
"""What may stand between an answer and the next word."""
_OFFER = re.compile(
    rf"{_CLOSERS}(?:so\s+)?(?:(?:and\s*/\s*)?or|alternatively|possibly|perhaps|maybe|otherwise|as\s+an\s+alternative)\b"
    rf"[^.\n$\d]{{0,30}}?{_VALUE.format('a')}"
    r"|[ \t$*]*(?:\\\))?[ \t]*(?:[,;/|&~:.]|\\q?quad)+[ \t]*(?:or\s+)?(?P<b>\$-?\d[\d.]*\$)[ \t]*\.?[ \t]*(?:$|\n|[;|&~$])"
    r"|[ \t]*[,;/|&][ \t]*(?P<c>-?\d+(?:\.\d+)?)[ \t]*(?:[,;/|&]|or\b|\.?$)"
    r"|\*\*[ \t]*(?P<d>-?\d+(?:\.\d+)?)[ \t]*\.?$",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    rf"\b(?:might|could|may)\s+(?:also\s+|instead\s+|well\s+)?be\s+{_VALUE.format('a')}"
    rf"|\b(?:actually|wait|no),?\s[^.\n]{{0,40}}\b(?:it\s+is|it's|should\s+be|must\s+be)\s+{_VALUE.format('b')}",
    re.IGNORECASE,
)
_DENIAL_AFTER = re.compile(
    r"[\s$*)]*\?|[\s$*]*(?:is|was)\s+(?:the\s+)?(?:wrong|incorrect|not\s+(?:right|correct|the\s+answer|it)\b)"
    r"|[\s$.,;*)]*(?:but\s+)?I(?:'m| am)\s+(?:not\s+(?:sure|certain)|unsure|guessing)\b(?!\s+why)"
    r"|.{0,60}?\b(?:I\s+)?cannot\s+decide\b|.{0,40}?\bjust\s+a\s+guess\b",
    re.IGNORECASE,
)
_DOUBT_CHARS = 120
_BEFORE = re.compile(
    r"\b(?:not|isn't|never|unlike|except|instead\s+of|rather\s+than|one\s+of(?:\s+these)?|among|either|neither|any\s+of|"
    r"(?<!was\s)(?<!is\s)(?<!were\s)(?<!are\s)(?<!'s\s)(?:wrong|incorrect)|suppos\w+(?:\s+that)?(?:\s+the)?|assum\w+(?:\s+that)?(?:\s+the)?|if(?:\s+the)?|whether(?:\s+the)?|"
    r"guess(?:\s+that)?(?:\s+the)?|imagine(?:\s+that)?(?:\s+the)?)\b"
    r"[\s:,$(\[*]*(?:\\[(\[])?\s*$|[\d}$)]\s*(?:or|and/or)\s*[$(\[*]*(?:\\[(\[])?\s*$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 40
_OPENERS = " \t\r\n\f\v:,$([*\\"
_LAST_WORDS = tuple(
    "not n't never unlike except of than these among either neither wrong incorrect "
    "that the if whether guess imagine or".split()
)
"""How whatever `_BEFORE` finds ends, but for the forms of two verbs."""
_CORRECTION = re.compile(
    r"\b(?:wait|actually|no,|incorrect|wrong|mistake|correction|instead|redo(?:ing)?|scratch\s+that|recheck(?:ing)?|re-check|"
    r"not\s+right|dropped|forgot|missed|error|oops|hmm|reconsider|hold\s+on|second\s+thought|re-?exam\w*|double.?check\w*|corrected)\b",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"\b(?:final(?:ly)?|therefore|thus|hence|so|answers?|total|altogether|overall|adding|summing|combin\w+|conclu\w+|"
    r"result(?:s|ing)?|in\s+all|together|sum|product|difference|steps?|valid|extraneous|request\w*|asked|required|"
    r"desired|then|next|only|want(?:ed)?|need(?:ed)?)\b|答案|所以|因此|最终",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"[\s$,(]*(?:=|≈|\\approx|\\equiv|(?:,?\s*(?:which|that)\s+(?:is|equals)|i\.e\.|or\s+equivalently))[\s$,:]*"
)
"""What stands between two spellings of one answer."""
_SILENT_CHARS = 12
_SENTENCE_BREAK = re.compile(r"[.!?。;:]\s|\n")


def squeezed(text: str) -> str:
    """Returns an answer without the spaces, dollars and bold marks that do not make it another."""
    return drop_idle_spaces(_IDLE_MARKS.sub(" ", text))


def offered_after(text: str, end: int) -> str:
    """Returns another answer that the text right after one offers, or ''. It may be the same value."""
    found = _OFFER.match(text, end, end + 400) or _DOUBT.search(text, end, end + _DOUBT_CHARS)
    return next((g for g in found.groups() if g), "") if found else ""


def denial_after(text: str, end: int) -> str:
    """Returns why the text right after an answer takes it back, or ''."""
    return "the answer is taken back" if _DENIAL_AFTER.match(text, end, end + 200) else ""


def is_silent(text: str, end: int) -> bool:
    """Returns True if nothing but closing marks follows an answer: the commonest end of all."""
    rest = text[end : end + _SILENT_CHARS + 1]
    return len(rest) <= _SILENT_CHARS and not rest.strip(" \t\r\n$.)]}")


def denial_before(text: str, start: int) -> str:
    """Returns why the text before an answer denies it or makes it one of several, or ''."""
    before = text[max(0, start - _BEFORE_CHARS) : start]
    ends = before.rstrip(_OPENERS).lower()
    may_deny = ends.endswith(_LAST_WORDS) or "suppos" in ends or "assum" in ends
    if (may_deny or not ends.isascii()) and _BEFORE.search(before):
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
