"""Which span of a completion is graded.

An explicit policy, one pass, linear in the length of the text.
"""

import contextlib
import json
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewardkit._braces import matching_brace
from rewardkit.completion import split_reasoning
from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason

__all__ = ["AnswerPolicy", "AnswerSpan", "extract_answer"]

Marker = Literal["box", "tag", "line", "json", "phrase", "bold", "last"]


@dataclass(frozen=True, slots=True)
class AnswerPolicy:
    r"""Where an answer may stand, and what several answers mean.

    A *commitment* is a `\boxed{…}` or `\fbox{…}`, an `<answer>` tag, a line `Answer: …` or `####
    …`, or a JSON field "answer". Only the final part counts: what follows the end of the reasoning.
    The last commitment wins over earlier ones if something was said in between; commitments side by
    side compete.
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


@dataclass(frozen=True, slots=True)
class AnswerSpan:
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


@dataclass(frozen=True, slots=True)
class _Found:
    text: str
    start: int
    end: int
    outer_start: int
    outer_end: int
    marker: Marker


_BRACES = re.compile(r"\\{1,2}(?:boxed|fbox)\s*\{|\\.|[{}]", re.DOTALL)
_BOX = re.compile(r"\\{1,2}(?:boxed|fbox)\s*\{")
_BARE_BOX = re.compile(
    r"\\(?:boxed|fbox)[ \t]*(?![\s{A-Za-z])([^\s{}$\\]{1,40})|\\(?:boxed|fbox)[ \t]+([A-Za-z])\b"
)
_TAG = re.compile(r"<(answer|final_answer|finalanswer)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_HASHES = re.compile(r"^[ \t]*####[ \t]*([^\n#].*)$", re.MULTILINE)
_JSON_FIELD = re.compile(
    r'"(?:final_?answer|answer)"\s*:\s*(-?\d[\d.eE+-]*|true|false|"(?:[^"\\\n]|\\.){0,2000}")',
    re.IGNORECASE,
)
_LABELS = (
    r"(?:the\s+)?(?:final\s+|correct\s+)?answer(?:\s+is)?|final\s+result|答案|最终答案|答え|正解|정답|답|antwort|endergebnis|"
    r"respuesta(?:\s+final)?|réponse(?:\s+finale)?|resposta(?:\s+final)?|risposta(?:\s+finale)?|ответ|odpowiedź|cevap"
)
_LINE = re.compile(
    rf"^[ \t>*_#✅☑️🎯-]*(?:{_LABELS})[ \t*_]*[:：][ \t*_]*(?P<value>[^\n]*)$|"
    rf"^[ \t>#]*\*\*[ \t]*(?:{_LABELS})[ \t]*[.:]?[ \t]*\*\*[ \t]*(?P<bold>)$",
    re.IGNORECASE | re.MULTILINE,
)
_SHORT_LABEL = re.compile(r"^[ \t]*A:[ \t]*(\S[^\n]*)$", re.MULTILINE)
_PHRASE = re.compile(
    r"(?:answer|correct\s+(?:option|choice)|right\s+(?:option|choice)|option|result)\s+(?:to\s+[^.\n]{1,60}\s+)?"
    r"(?:is|are|equals|becomes|would\s+be|must\s+be|should\s+be)\b\s*:?(?:\s+(?:option|choice|simply|just|thus|therefore|exactly))?\s*|"
    r"(?:答案是|答案为|答案為|结果是|答えは|antwort\s+(?:ist|lautet)|respuesta\s+es|réponse\s+est|resposta\s+é|"
    r"risposta\s+è|ответ\s+равен)\s*[:：]?\s*",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\.(?=\s|$)(?!\s*\d)|[。!?！？](?=\s|$)|\n|\*\*|,?\s+(?:not|rather\s+than|instead\s+of|because|since|which|as|so)\s|\s+\((?=[A-Za-z]{3})|[,;]\s+(?:and|but)\s+(?:not|the|we|this|it)\b"
)
_CONTINUES = re.compile(
    r"\s*(?:[a-z%°,;=<>≤≥≈∪+/€£(-]|\\(?:text|%|pm|cup)|\$[^$\n]+\$|\\\((?!\\(?:blacksquare|square|Box|qed)))"
)
"""After a leading formula the answer goes on: a unit, another value, a joining word."""
_CLOSING_DOLLAR = re.compile(r"(?<!\\)\$")
_BOLD = re.compile(r"\*\*\s*([^*\n]{1,200}?)\s*\*\*\s*[.!]?\s*$")
_WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}|[\u3040-\u30ff\u4e00-\u9fff]{2,}")
_SENTENCE_BREAK = re.compile(r"[.!?。;:]\s|\n")
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
_NOT_SPACE = re.compile(r"\S")
_WINDOW = 20_000
"""Characters after a marker in which its answer is looked for; it bounds the work for a text of
nothing but markers.
"""
_MAX_FORMULAS = 64
_TAIL = 4_000
"""Characters at the end in which a phrase is looked for first: a phrase there is the last one."""
_LAST_PHRASES = 32
_LAST_LINES = 4_096
_MATH_SPAN = re.compile(r"\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_VALUE = re.compile(r"(?<![\w.])[-−]?[$€£]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")


def extract_answer(text: str, policy: AnswerPolicy) -> AnswerSpan:
    r"""Returns the span of `text` that `policy` grades.

    Nothing raises: a text without an answer gives a span whose `text` is None and whose `reason`
    says why.

    >>> extract_answer(r"First \boxed{3}. No, wait: \boxed{5}.", AnswerPolicy()).text
    '5'
    >>> extract_answer("<think>so \boxed{5}", AnswerPolicy()).reason
    <Reason.TRUNCATED: 'truncated'>

    """
    start, closed = split_reasoning(text)
    if not closed:
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="the reasoning never ends")
    boxes, open_box = _boxes(text, start)
    if open_box:
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="an unfinished box")
    found = _commitments(text, start, boxes, policy)
    if found:
        return _choose(text, found, policy)
    if boxes or policy.box_only:
        detail = "an empty box" if boxes else "no box"
        return AnswerSpan(None, reason=Reason.NO_ANSWER, detail=detail)
    final = text[start:]
    if not final.strip():
        return AnswerSpan(
            None,
            reason=Reason.NO_ANSWER,
            detail="nothing after the reasoning" if start else "empty",
        )
    for use, finder in (
        (policy.phrases, _phrase),
        (policy.phrases, _bold_line),
        (policy.last_expression, _last_expression),
    ):
        span = finder(text, start) if use else None
        if span is not None:
            return span
    return AnswerSpan(None, reason=Reason.NO_ANSWER, detail="nothing commits to an answer")


def _boxes(text: str, start: int) -> tuple[list[_Found], bool]:
    """Returns the outermost boxes from `start` on, and whether one of them is never closed."""
    if "boxed" not in text and "fbox" not in text:
        return [], False
    if text.count("boxed", start) + text.count("fbox", start) == 1:
        box = _BOX.search(text, start)
        if box:
            close = matching_brace(text, box.end() - 1)
            if close < 0:
                return [], True
            return [
                _Found(text[box.end() : close], box.end(), close, box.start(), close + 1, "box")
            ], False
    boxes, stack = list[_Found](), list[tuple[int, int, bool]]()
    open_boxes = 0
    for mark in _BRACES.finditer(text, start):
        sign = mark.group()
        if sign == "}":
            if stack:
                outer, inner, is_box = stack.pop()
                open_boxes -= is_box
                if is_box and not open_boxes:
                    content = text[inner : mark.start()]
                    boxes.append(_Found(content, inner, mark.start(), outer, mark.end(), "box"))
        elif sign.endswith("{") and len(sign) != 2:
            is_box = len(sign) > 2
            open_boxes += is_box
            stack.append((mark.start(), mark.end(), is_box))
    for bare in _BARE_BOX.finditer(text, start):
        group = 1 if bare[1] else 2
        value = bare[group].rstrip(".,;)")
        if value and not any(b.outer_start <= bare.start() < b.outer_end for b in boxes[-8:]):
            boxes.append(
                _Found(
                    value,
                    bare.start(group),
                    bare.start(group) + len(value),
                    bare.start(),
                    bare.end(),
                    "box",
                )
            )
    boxes.sort(key=lambda b: b.start)
    return boxes, open_boxes > 0


def _stripped(text: str, start: int, end: int, outer: tuple[int, int], marker: Marker) -> _Found:
    """Returns the span without surrounding white space and bold marks."""
    while start < end and (text[start].isspace() or text[start] in "*_`"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_`"):
        end -= 1
    return _Found(text[start:end], start, end, *outer, marker)


def _commitments(text: str, start: int, boxes: list[_Found], policy: AnswerPolicy) -> list[_Found]:
    found = [b for b in boxes if b.text.strip(" \t\n~$")]
    if "<" in text:
        for tag in _TAG.finditer(text, start):
            inside = next((b for b in found if tag.start() < b.start < tag.end()), None)
            if inside is None and tag[2].strip():
                found.append(_stripped(text, tag.start(2), tag.end(2), tag.span(), "tag"))
    if not policy.box_only:
        found += _lines(text, start, boxes)
    found.sort(key=lambda f: f.outer_start)
    return found


def _lines(text: str, start: int, boxes: list[_Found]) -> Iterator[_Found]:
    starts = [b.start for b in boxes]

    def holds_box(low: int, high: int) -> bool:
        at = bisect_left(starts, low)
        return at < len(starts) and starts[at] < high

    for mark in _HASHES.finditer(text, start):
        if not holds_box(*mark.span()):
            yield _stripped(text, mark.start(1), mark.end(1), mark.span(), "line")
    if '"' in text:
        for mark in _JSON_FIELD.finditer(text, start):
            quoted = mark[1].startswith('"')
            low, high = mark.start(1) + quoted, mark.end(1) - quoted
            value = text[low:high]
            if quoted and "\\" in value:
                with contextlib.suppress(ValueError):
                    value = str(json.loads(mark[1]))
            if value.strip() and not holds_box(*mark.span()):
                yield _Found(value, low, high, mark.start(), mark.end(), "json")
    labels = list(deque(_LINE.finditer(text, start), maxlen=_LAST_LINES))
    if not labels and not boxes:
        labels = list(_SHORT_LABEL.finditer(text, start))[-1:]
    for mark in labels:
        low, high = (
            (mark.start("value"), mark.end("value"))
            if "value" in mark.re.groupindex and mark["value"] is not None
            else mark.span(1)
        )
        if mark.re is _LINE and not text[low:high].strip(" *_$"):
            low, high = _next_line(text, mark.end())
        if not holds_box(mark.start(), high):
            span = _cut_sentence(text, low, high)
            if span[0] < span[1]:
                yield _stripped(text, *span, (mark.start(), high), "line")


def _skip_space(text: str, at: int) -> int:
    found = _NOT_SPACE.search(text, at)
    return found.start() if found else len(text)


def _next_line(text: str, at: int) -> tuple[int, int]:
    at = _skip_space(text, at)
    end = text.find("\n", at, at + _WINDOW)
    end = min(len(text), at + _WINDOW) if end < 0 else end
    if text.startswith(("```", "{"), at):
        return at, at
    if text.startswith(("\\[", "$$"), at):  # A display may span lines.
        close = text.find("\\]" if text.startswith("\\[", at) else "$$", at + 2)
        end = close + 2 if 0 <= close < at + 4_000 else end
    return at, end


def _cut_sentence(text: str, low: int, high: int) -> tuple[int, int]:
    """Returns the part of a line up to the end of its first sentence, outside of formulas."""
    while low < high and text[low] in " \t*_":
        low += 1
    if text.startswith("$", low) and not text.startswith("$$", low):
        dollar = _CLOSING_DOLLAR.search(text, low + 1, high)
        close = dollar.start() if dollar else -1
        at = close + 1 if close > 0 else low
        if close > 0 and not _CONTINUES.match(text, at, high):
            return low, at
    elif text.startswith("\\(", low):
        close = text.find("\\)", low + 2, high)
        at = close + 2 if close > 0 else low
        if close > 0 and not _CONTINUES.match(text, at, high):
            return low, at
    else:
        at = low
    for _ in range(_MAX_FORMULAS):
        cut = _CUT.search(text, at, high)
        formula = _MATH_SPAN.search(text, at, high)
        if formula is None or (cut is not None and cut.start() < formula.start()):
            break
        at = formula.end()
    else:
        cut = None
    return low, cut.start() if cut else high


def _choose(text: str, found: list[_Found], policy: AnswerPolicy) -> AnswerSpan:
    last = found[-1]
    if len(found) == 1:
        answer = last.text.strip()
        return AnswerSpan(answer, last.start, last.end, last.marker, rivals=(answer,))
    distinct = list(dict.fromkeys(_squeezed(f.text) for f in found))
    rivals = tuple(dict.fromkeys(f.text.strip() for f in found))
    if len(distinct) > 1:
        conflict = _conflict(text, found, distinct, policy)
        if conflict:
            return AnswerSpan(
                None, last.start, last.end, last.marker, Reason.AMBIGUOUS, conflict, rivals
            )
    return AnswerSpan(last.text.strip(), last.start, last.end, last.marker, rivals=rivals)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s$*]+|\\[,;! ]|\.$", "", text)


def _conflict(text: str, found: list[_Found], distinct: list[str], policy: AnswerPolicy) -> str:
    """Returns why several different commitments are no answer, or ''."""
    if policy.several == "reject":
        return f"{len(distinct)} different answers"
    if len(distinct) > policy.max_spans:
        return f"a spray of {len(distinct)} different answers"
    last = found[-1]
    earlier = next(
        (f for f in reversed(found[:-1]) if _squeezed(f.text) != _squeezed(last.text)), None
    )
    if earlier is None:
        return ""
    between = text[earlier.outer_end : last.outer_start]
    if last.marker == "line" or last.marker == "tag":
        between += text[last.outer_start : last.start] if earlier.marker != last.marker else ""
    if _WORDS.search(between) and _SENTENCE_BREAK.search(between):
        return ""
    return f"{len(distinct)} different answers side by side"


def _phrase(text: str, start: int) -> AnswerSpan | None:
    for begin in dict.fromkeys((max(start, len(text) - _TAIL), start)):
        span = _last_phrase(text, begin)
        if span is not None:
            return span
    return None


def _last_phrase(text: str, start: int) -> AnswerSpan | None:
    marks = deque(_PHRASE.finditer(text, start), maxlen=_LAST_PHRASES)
    for mark in reversed(marks):
        low, high = _cut_sentence(text, mark.end(), _line_end(text, mark.end()))
        if text[low:high].strip(" *_.:"):
            span = _stripped(text, low, high, (low, high), "phrase")
            return AnswerSpan(span.text, span.start, span.end, "phrase")
    return None


def _line_end(text: str, at: int) -> int:
    """Returns where the paragraph's line ends.

    A line break right after the phrase is passed over.
    """
    at = _skip_space(text, at)
    if text.startswith(("\\[", "$$"), at):
        return _next_line(text, at)[1]
    end = text.find("\n", at, at + _WINDOW)
    return min(len(text), at + _WINDOW) if end < 0 else end


def _bold_line(text: str, start: int) -> AnswerSpan | None:
    body = text[start:].rstrip()
    line_start = max(body.rfind("\n") + 1, len(body) - 2_000)
    bold = _BOLD.search(body, line_start)
    if not bold or not bold[1].strip():
        return None
    return AnswerSpan(bold[1], start + bold.start(1), start + bold.end(1), "bold")


def _last_expression(text: str, start: int) -> AnswerSpan | None:
    """Returns the last value of the last sentence, if the text ends as finished texts do."""
    body = text[start:].rstrip()
    if not body or (body[-1] not in ".!?。$)]}%*`\"'" and not body[-1].isdigit()):
        return AnswerSpan(None, reason=Reason.TRUNCATED, detail="the text stops in mid-sentence")
    tail_at = max(0, len(body) - 2_000)
    breaks = [
        m.end() for m in re.finditer(r"[.!?。]\s+(?=[^\d\s])|\n+", body[tail_at : len(body) - 1])
    ]
    low = tail_at + (breaks[-1] if breaks else 0)
    sentence = body[low:]
    if _I_REFUSE.search(body[-_REFUSAL_CHARS:]) or _REFUSAL.search(sentence):
        return None
    if len(sentence) >= _SHORT and not _CONCLUSION.search(sentence):
        return None
    formulas = list(_MATH_SPAN.finditer(sentence))
    values = [
        m
        for m in _VALUE.finditer(sentence)
        if not any(f.start() < m.start() < f.end() for f in formulas)
    ]
    last = max([*formulas, *values], key=lambda m: m.start(), default=None)
    if last is None:
        return None
    group = next((g for g in range(1, (last.re.groups or 0) + 1) if last[g] is not None), 0)
    value = last[group].strip().rstrip(",")
    return AnswerSpan(value, start + low + last.start(group), start + low + last.end(group), "last")
