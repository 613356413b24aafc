"""Which span of a completion is graded.

An explicit policy, one pass, linear in the length of the text.
"""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rewardkit._answer_hedges import (
    denial_after,
    denial_before,
    is_corrected,
    is_resolved,
    is_silent,
    offered_after,
    squeezed,
)
from rewardkit._answer_marks import (
    Found,
    Marker,
    find_bold_line,
    find_boxes,
    find_lines,
    find_phrase,
    find_tags,
)
from rewardkit.completion import split_reasoning
from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason

__all__ = ["AnswerPolicy", "AnswerSpan", "extract_answer"]


@dataclass(frozen=True, slots=True)
class AnswerPolicy:
    r"""Where an answer may stand, and what several answers mean.

    A *commitment* is a `\boxed{…}` or `\fbox{…}`, an `<answer>` tag, a line `Answer: …` or `####
    …`, or a JSON field "answer". Only the final part counts: what follows the end of the reasoning.
    The last commitment wins over earlier ones if a word in between corrects them or concludes;
    otherwise they compete.
    """

    box_only: bool = False
    """Nothing but a box (or an answer tag) is an answer."""
    phrases: bool = True
    """Without a commitment, "the answer is …" and a bold last line count."""
    last_expression: bool = False
    """Without those, the last value of a finished last sentence counts."""
    several: Literal["last", "reject"] = "last"
    """Different commitments: the last one said in a sentence of its own, or none of them."""
    max_spans: int = 16
    """More different commitments than this are a spray, whatever stands between them."""

    def __post_init__(self) -> None:
        if self.several not in ("last", "reject"):
            raise ConfigError(f"several is 'last' or 'reject', not {self.several!r}")
        if self.max_spans < 1:
            raise ConfigError("max_spans is at least 1")


class AnswerSpan(NamedTuple):
    """The graded span, or why there is none."""

    text: str | None
    """The span as the completion spells it, without its marker; None where there is no answer."""
    start: int = 0
    """First character of the span in the completion's text."""
    end: int = 0
    """One past its last character."""
    marker: Marker | None = None
    reason: Reason | None = None
    """Why there is no answer; None where there is one."""
    detail: str = ""
    rivals: tuple[str, ...] = ()
    """All different commitments of the final part in order, the graded one among them."""
    contested: bool = False
    """Several answers compete; they are one if all `rivals` turn out to be the same value."""


_MAX_CHARS = 1_000_000
"""Characters at the end of a completion in which answers are looked for."""
_REFUSAL = re.compile(
    r"\b(?:not sure|unsure|cannot|can't|can not|could not|couldn't|unable|don't know|do not know|"
    r"no idea|sorry|undecided|impossible to (?:say|tell))\b",
    re.IGNORECASE,
)
_I_REFUSE = re.compile(
    r"\b(?:sorry|I\s+(?:can't|cannot|can not|could not|couldn't|don't know|do not know)|"
    r"I\s+(?:am unable|am not (?:sure|able)|give up)|"
    r"I'm (?:not sure|unable|unsure|sorry))\b",
    re.IGNORECASE,
)
_REFUSAL_CHARS = 300
_SHORT = 40
"""Characters under which a sentence with a value needs no concluding word."""
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|is|are|was|equals|get|gets|find|have|has|total|makes?|leaves?|gives?|need|needs|cost|costs)\b|=|∴",
    re.IGNORECASE,
)
_MATH_SPAN = re.compile(r"\$\$?([^$]+)\$\$?(?!\d)|\\((.+?)\\)|\\[(.+?)\\]", re.DOTALL)
_VALUE = re.compile(r"(?<![\w.])[-−]?[$€£]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")
_QUALIFIED = re.compile(
    r"\b(?:not|n't|between|more\s+than|less\s+than|fewer\s+than|greater\s+than|at\s+(?:least|most)|or|up\s+to|(?<!left\s)over|under|about|roughly)\b|n't\b",
    re.IGNORECASE,
)
_NOTHING_ELSE = re.compile(r"\(?[A-J]\)?\.?|[^\n?]*[\d\\$=][^\n?]*")
_WHOLE = 24
"""Characters up to which a completion of one line is taken to be nothing but its answer."""
_ASIDE = re.compile(r"\s\([^()]{3,200}\)")
_NUMBERED = re.compile(
    r"\b(?:chapter|day|step|part|case|question|problem|example|page|line|row|figure|left\s+of|out\s+of)\s+$",
    re.IGNORECASE,
)
"""Words before a number that names something instead of counting it."""
_JOINED = re.compile(r"\d\s*(?:,\s*(?:and\s+)?|\s[a-z]+\s+and\s+|\s)$", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:I|we)\s+(?:get|got|find|found|have|obtain)\b", re.IGNORECASE)
_DANGLING = re.compile(r"(?:[=+<:(\[{-]|\b(?:is|are|and|or|the|of|to|equals?|by))$")
"""How no finished text ends."""
_SENTENCE_END = re.compile(r"[.!?。]\s+(?=[^\d\s])|\n+")
_MAX_FOUND = 1_000
"""Commitments that are looked at, from the end; so many are a spray anyway."""
_MAX_RIVALS = 64
_MAX_CONTESTED = 8
"""Competing answers that are compared with each other; more are a spray."""
_FAR = 200
"""Characters after which an earlier phrase is another matter."""
_BARE_VALUE = re.compile(
    r"[-+$\\(\[{*]*\d[^a-z\n]{0,60}(?:\\?[a-z]{1,12}[^a-z\n]{0,20}){0,3}$", re.IGNORECASE
)
_CONTRAST = re.compile(
    r",?\s+(?:not|rather\s+than|instead\s+of|for|when|if|where|with)\s", re.IGNORECASE
)


def extract_answer(text: str, policy: AnswerPolicy) -> AnswerSpan:
    r"""Returns the span of `text` that `policy` grades.

    Nothing raises: a text without an answer gives a span whose `text` is None and whose `reason`
    says why. Of a completion above a million characters, the last million is searched.

    >>> extract_answer(r"First \boxed{3}. No, wait: \boxed{5}.", AnswerPolicy()).text
    '5'
    >>> extract_answer(r"It is \boxed{3} or \boxed{5}.", AnswerPolicy()).reason
    <Reason.AMBIGUOUS: 'ambiguous'>
    >>> extract_answer("<think>so \\boxed{5}", AnswerPolicy()).reason
    <Reason.TRUNCATED: 'truncated'>
    """
    start, closed = split_reasoning(text)
    if not closed:
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="the reasoning never ends")
    start = max(start, len(text) - _MAX_CHARS)
    boxes, open_box = find_boxes(text, start)
    if open_box:
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="an unfinished box")
    found = _commitments(text, start, boxes, policy)
    if found:
        return _choose(text, found, policy)
    if boxes or policy.box_only:
        detail = "an empty box" if boxes else "no box"
        return AnswerSpan(None, reason=Reason.NO_ANSWER, detail=detail)
    if not text[start:].strip():
        return AnswerSpan(
            None,
            reason=Reason.NO_ANSWER,
            detail="nothing after the reasoning" if start else "empty",
        )
    return _weaker(text, start, policy)


def _commitments(text: str, start: int, boxes: list[Found], policy: AnswerPolicy) -> list[Found]:
    found = [b for b in boxes if b.text.strip(" \t\n~$")]
    if "answer>" in text.casefold():
        found += find_tags(text, start, boxes)
    if not policy.box_only:
        found += find_lines(text, start, boxes)
    found.sort(key=lambda f: f.outer_start)
    return found[-_MAX_FOUND:]


def _choose(text: str, found: list[Found], policy: AnswerPolicy) -> AnswerSpan:
    """Returns the last commitment, unless another one competes with it."""
    last = found[-1]
    says_more = last.marker in ("box", "tag") and not is_silent(text, last.outer_end)
    if says_more and policy.phrases and not policy.box_only:
        later = find_phrase(text, last.outer_end)
        if later is not None and _BARE_VALUE.match(later.text):
            found, last = [*found, later], later
    rivals = [f.text.strip() for f in _uncorrected(text, found)]
    conflict = _conflict(text, found, policy) if len(found) > 1 else ""
    return _settled(text, last, rivals, conflict)


def _settled(text: str, found: Found, rivals: list[str], conflict: str) -> AnswerSpan:
    """Returns the span, unless the words around it deny it or offer another answer."""
    end = found.outer_end if found.marker in ("box", "tag") else found.end
    silent = is_silent(text, end)
    offered = "" if silent else offered_after(text, end)
    if offered:
        conflict, rivals = conflict or "another answer is offered beside it", [*rivals, offered]
    denial = denial_before(text, found.outer_start) or ("" if silent else denial_after(text, end))
    shown = tuple(dict.fromkeys(rivals))
    if denial or conflict:
        return AnswerSpan(
            None,
            found.start,
            found.end,
            found.marker,
            Reason.AMBIGUOUS,
            denial or conflict,
            shown,
            contested=not denial and len(shown) <= _MAX_CONTESTED,
        )
    return AnswerSpan(found.text.strip(), found.start, found.end, found.marker, rivals=shown)


def _uncorrected(text: str, found: list[Found]) -> list[Found]:
    """Returns the commitments after the last one that the text takes back."""
    for index in range(len(found) - 1, 0, -1):
        between = text[found[index - 1].outer_end : found[index].outer_start]
        if is_corrected(between) or len(found) - index > _MAX_RIVALS:
            return found[index:]
    return found


def _conflict(text: str, found: list[Found], policy: AnswerPolicy) -> str:
    """Returns why several different commitments are no answer, or ''."""
    last = found[-1]
    key = squeezed(last.text)
    distinct = {squeezed(f.text) for f in found}
    if len(distinct) == 1:
        return ""
    if policy.several == "reject":
        return f"{len(distinct)} different answers"
    if len(distinct) > policy.max_spans:
        return f"a spray of {len(distinct)} different answers"
    earlier = next(f for f in reversed(found[:-1]) if squeezed(f.text) != key)
    between = text[earlier.outer_end : last.outer_start]
    if last.marker in ("line", "tag") and earlier.marker != last.marker:
        between += text[last.outer_start : last.start]
    return "" if is_resolved(between) else f"{len(distinct)} different answers side by side"


def _weaker(text: str, start: int, policy: AnswerPolicy) -> AnswerSpan:
    """Returns the answer of a text without a commitment: a phrase, a bold line, a last value."""
    found = (find_phrase(text, start) or find_bold_line(text, start)) if policy.phrases else None
    if found is not None:
        earlier = _other_phrase(text, start, found)
        conflict = "two different answers in words" if earlier else ""
        return _settled(text, found, [*earlier, found.text], conflict)
    if policy.last_expression:
        return _last_value(text, start)
    return AnswerSpan(None, reason=Reason.NO_ANSWER, detail="nothing commits to an answer")


def _other_phrase(text: str, start: int, found: Found) -> list[str]:
    """Returns the answer of an earlier phrase that says otherwise, if nothing is said between."""
    earlier = find_phrase(text, start, found.outer_start) if found.marker == "phrase" else None
    if earlier is None or not all(_BARE_VALUE.match(f.text) for f in (earlier, found)):
        return []
    between = text[earlier.end : found.outer_start]
    same = squeezed(earlier.text) == squeezed(found.text)
    return [] if same or len(between) > _FAR or is_resolved(between) else [earlier.text]


def _last_value(text: str, start: int) -> AnswerSpan:
    """Returns the last value of the last sentence, if the text ends as finished texts do."""
    body = text[start:].rstrip()
    if _DANGLING.search(body, max(0, len(body) - 20)):
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="the text stops in mid-sentence")
    if (
        len(body.strip()) <= _WHOLE
        and not _TELLS.search(body)
        and _NOTHING_ELSE.fullmatch(body.strip())
    ):
        low = start + len(body) - len(body.lstrip())
        return AnswerSpan(body.strip(), low, start + len(body), "last", rivals=(body.strip(),))
    if body[-1] not in ".!?。$)]}%*`\"'" and not body[-1].isdigit():
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="the text stops in mid-sentence")
    nothing = AnswerSpan(None, reason=Reason.NO_ANSWER, detail="nothing commits to an answer")
    tail = max(0, len(body) - 2_000)
    breaks = [m.end() for m in _SENTENCE_END.finditer(body, tail, len(body) - 1)]
    low = breaks[-1] if breaks else tail
    sentence = body[low:]
    sentence = _ASIDE.sub(lambda m: " " * len(m.group()), sentence)
    if _I_REFUSE.search(body[-_REFUSAL_CHARS:]) or _REFUSAL.search(sentence) or "?" in sentence:
        return nothing
    if len(sentence) >= _SHORT and not _CONCLUSION.search(sentence):
        return nothing
    contrast = _CONTRAST.search(sentence)
    if contrast and any(c.isdigit() for c in sentence[: contrast.start()]):
        sentence = sentence[: contrast.start()]
    if _QUALIFIED.search(sentence):
        return nothing
    formulas = list(_MATH_SPAN.finditer(sentence))
    values = [
        m
        for m in _VALUE.finditer(sentence)
        if not any(f.start() < m.start() < f.end() for f in formulas)
    ]
    values = [m for m in values if not _NUMBERED.search(sentence, 0, m.start())]
    last = max([*formulas, *values], key=lambda m: m.start(), default=None)
    if last is None or _JOINED.search(sentence, 0, last.start()):
        return nothing
    group = next((g for g in range(1, (last.re.groups or 0) + 1) if last[g] is not None), 0)
    value = last[group].strip().rstrip(",")
    at = start + low + last.start(group)
    return AnswerSpan(value, at, at + len(last[group]), "last", rivals=(value,))
