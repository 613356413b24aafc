"""Where answers may stand: boxes, tags, labelled lines, phrases; linear in the text's length."""

import contextlib
import json
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from rewardkit._braces import matching_brace

__all__ = [
    "Found",
    "Marker",
    "find_bold_line",
    "find_boxes",
    "find_lines",
    "find_phrase",
    "find_tags",
]

Marker = Literal["box", "tag", "line", "json", "phrase", "bold", "last"]
"""What makes a span an answer."""


class Found(NamedTuple):
    """A span that commits to an answer; the outer span holds its marker, too."""

    text: str
    start: int
    end: int
    outer_start: int
    outer_end: int
    marker: Marker


_BRACES = re.compile(r"\\{1,2}(?:boxed|fbox|framebox)\s*\{|\\.|[{}]", re.DOTALL)
_BOX = re.compile(r"\\{1,2}(?:boxed|fbox|framebox)\s*\{")
_BARE_BOX = re.compile(
    r"\\(?:boxed|fbox|framebox)[ \t]*(?![\s{A-Za-z])([^\s{}$\\]{1,40})|"
    r"\\(?:boxed|fbox|framebox)[ \t]+([A-Za-z])\b"
)
# It begins with plain characters, so that a search runs at the speed of a scan for them.
_HASHES = re.compile(r"####[ \t]*([^\n#].*)$", re.MULTILINE)
_JSON_FIELD = re.compile(
    r'"(?:final_?answer|answer)"\s*:\s*(-?\d[\d.eE+-]*|true|false|"(?:[^"\\\n]|\\.){0,2000}")',
    re.IGNORECASE,
)
_LABELS = (
    r"(?:the\s+)?(?:final\s+|correct\s+)?answer(?:\s+is)?|final\s+result|答案|最终答案|答|故选|答え|正解|정답|답|antwort|endergebnis|"
    r"respuesta(?:\s+final)?|réponse(?:\s+finale)?|resposta(?:\s+final)?|risposta(?:\s+finale)?|ответ|odpowiedź|cevap"
)
_LINE = re.compile(
    rf"^[ \t>*_#✅☑️🎯-]*(?:{_LABELS})[ \t*_]*[:：][ \t*_]*(?P<value>[^\n]*)$|"
    rf"^[ \t>#]*\*\*[ \t]*(?:{_LABELS})[ \t]*[.:]?[ \t]*\*\*[ \t]*(?P<bold>)$|"
    rf"^[ \t]*#{{1,6}}[ \t]+(?:{_LABELS})[ \t]*(?P<heading>)$",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL_SIGNS = (":", "：", "**", "#")
"""What no labelled line is without."""
_ASCII_LABELS = (
    *("answer", "result", "antwort", "endergebnis", "respuesta", "resposta", "risposta", "cevap"),
)
"""One of these is in every labelled line of an ASCII text: to look for them first is cheaper."""
_SHORT_LABEL = re.compile(r"A:[ \t]*(\S[^\n]*)$", re.MULTILINE)
_PHRASE = re.compile(
    r"(?:answers?|correct\s+(?:option|choice)|right\s+(?:option|choice)|option|result)\s+(?:to\s+[^.\n]{1,60}\s+)?"
    r"(?:is|are|equals|becomes|would\s+be|must\s+be|should\s+be)\b\s*:?\s*(?:(?:option|choice|simply|just|thus|therefore|exactly|also|donc|entonces|por\s+tanto)\b\s*)?|"
    r"(?:答案是|答案为|答案為|结果是|答えは|antwort\s+(?:ist|lautet)|respuesta\s+(?:correcta\s+|final\s+)?es|故选\s*|réponse\s+est|resposta\s+é|"
    r"risposta\s+è|ответ\s+равен)\s*[:：]?\s*",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s+[*($]*([A-J])[*)$]*\s+is\s+(?:the\s+)?(?:correct|right)\b"
    r"(?!\s*(?:\?|if\b))"
)
_CUT = re.compile(
    r"\.(?=\s|$)(?!\s*\d)|[。?！？](?=\s|$)|!(?=\s+[A-Z]|\s*$)|\n|\*\*|,?\s+(?:not|rather\s+than|instead\s+of|because|since|which|as|so)\s|\s+\((?=[A-Za-z]{3})|[,;]\s+(?:and|but)\s+(?:not|the|we|this|it)\b"
)
_CONTINUES = re.compile(
    r"\s*(?:[a-z%°,;=<>≤≥≈∪+/€£(-]|\\(?:text|%|pm|cup)|\$[^$\n]+\$|\\\((?!\\(?:blacksquare|square|Box|qed)))"
)
"""After a leading formula the answer goes on: a unit, another value, a joining word."""
_CLOSING_DOLLAR = re.compile(r"(?<!\\)\$")
_BOLD = re.compile(r"\*\*\s*([^*\n]{1,200}?)\s*\*\*\s*[.!]?\s*$")
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
_FORMULA = re.compile(r"\$\$?[^$]+\$\$?|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_OPEN_TAG = re.compile(r"<(?:final_?)?answer>", re.IGNORECASE)
_CLOSE_TAG = re.compile(r"</(?:final_?)?answer>", re.IGNORECASE)


def find_boxes(text: str, start: int) -> tuple[list[Found], bool]:
    """Returns the outermost boxes from `start` on, and whether one of them is never closed."""
    if "box" not in text:
        return [], False
    if text.count("boxed", start) + text.count("fbox", start) + text.count("framebox", start) == 1:
        box = _BOX.search(text, start)
        if box:
            close = matching_brace(text, box.end() - 1)
            if close < 0:
                return [], True
            return [
                Found(text[box.end() : close], box.end(), close, box.start(), close + 1, "box")
            ], False
    boxes, stack = list[Found](), list[tuple[int, int, bool]]()
    open_boxes = 0
    for mark in _BRACES.finditer(text, start):
        sign = mark.group()
        if sign == "}":
            if stack:
                outer, inner, is_box = stack.pop()
                open_boxes -= is_box
                if is_box and not open_boxes:
                    content = text[inner : mark.start()]
                    boxes.append(Found(content, inner, mark.start(), outer, mark.end(), "box"))
        elif sign.endswith("{") and len(sign) != 2:
            is_box = len(sign) > 2
            open_boxes += is_box
            stack.append((mark.start(), mark.end(), is_box))
    for bare in _BARE_BOX.finditer(text, start):
        group = 1 if bare[1] else 2
        value = bare[group].rstrip(".,;)")
        if value and not any(b.outer_start <= bare.start() < b.outer_end for b in boxes[-8:]):
            boxes.append(
                Found(
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


def find_tags(text: str, start: int, boxes: Sequence[Found]) -> Iterator[Found]:
    """Yields the contents of `<answer>…</answer>` that hold no box."""
    closings = [(m.start(), m.end()) for m in _CLOSE_TAG.finditer(text, start)]
    starts = [b.start for b in boxes]
    done = start
    for opening in _OPEN_TAG.finditer(text, start):
        if opening.start() < done:
            continue
        at = bisect_left(closings, (opening.end(), 0))
        if at == len(closings):
            return
        low, high = opening.end(), closings[at][0]
        done = closings[at][1]
        if not _any_between(starts, low, high) and text[low:high].strip():
            yield _stripped(text, low, high, (opening.start(), done), "tag")


def _any_between(starts: Sequence[int], low: int, high: int) -> bool:
    at = bisect_left(starts, low)
    return at < len(starts) and starts[at] < high


def find_lines(text: str, start: int, boxes: Sequence[Found]) -> Iterator[Found]:
    """Yields the answers of `#### 5`, `"answer": 5` and `Answer: 5` that hold no box."""
    text = _from_a_line_start(text, start)
    starts = [b.start for b in boxes]

    def holds_box(low: int, high: int) -> bool:
        return _any_between(starts, low, high)

    for mark in _opening_lines(_HASHES, text, start) if "####" in text else ():
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
                yield Found(value, low, high, mark.start(), mark.end(), "json")
    labels = []
    if any(sign in text for sign in _LABEL_SIGNS) and _may_be_labelled(text):
        labels = list(deque(_LINE.finditer(text, start), maxlen=_LAST_LINES))
    if not labels and not boxes:
        labels = list(deque(_opening_lines(_SHORT_LABEL, text, start), maxlen=1))
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


def _opening_lines(pattern: re.Pattern[str], text: str, start: int) -> Iterator[re.Match[str]]:
    """Yields the matches before which nothing but blanks stands on their line."""
    for mark in pattern.finditer(text, start):
        line = text.rfind("\n", 0, mark.start()) + 1
        if not text[line : mark.start()].strip(" \t"):
            yield mark


def _may_be_labelled(text: str) -> bool:
    if not text.isascii():
        return True
    lowered = text.lower()
    return any(label in lowered for label in _ASCII_LABELS)


def _from_a_line_start(text: str, start: int) -> str:
    """Returns the text with a line break before `start`, so that what begins there begins a line.

    The places of all characters stay as they are.
    """
    return text[: start - 1] + "\n" + text[start:] if start else text


def find_phrase(text: str, start: int, stop: int | None = None) -> Found | None:
    """Returns the answer of the last "the answer is …" between two places."""
    stop = len(text) if stop is None else stop
    for begin in dict.fromkeys((max(start, stop - _TAIL), start)):
        found = _last_phrase(text, begin, stop)
        if found is not None:
            return found
    return None


def _last_phrase(text: str, start: int, stop: int) -> Found | None:
    chosen = deque(_CHOSEN.finditer(text, start, stop), maxlen=1)
    if chosen:
        mark = chosen[0]
        return _stripped(text, mark.start(1), mark.end(1), mark.span(), "phrase")
    marks = deque(_PHRASE.finditer(text, start, stop), maxlen=_LAST_PHRASES)
    for mark in reversed(marks):
        low, high = _cut_sentence(text, mark.end(), _line_end(text, mark.end()))
        if text[low:high].strip(" *_.:"):
            return _stripped(text, low, high, (mark.start(), high), "phrase")
    return None


def find_bold_line(text: str, start: int) -> Found | None:
    """Returns what stands in bold at the end of the last line."""
    body = text[start:].rstrip()
    line_start = max(body.rfind("\n") + 1, len(body) - 2_000)
    bold = _BOLD.search(body, line_start)
    if not bold or not bold[1].strip():
        return None
    low, high = start + bold.start(1), start + bold.end(1)
    return Found(bold[1], low, high, start + bold.start(), start + bold.end(), "bold")


def _stripped(text: str, start: int, end: int, outer: tuple[int, int], marker: Marker) -> Found:
    """Returns the span without surrounding white space and bold marks."""
    while start < end and (text[start].isspace() or text[start] in "*_`"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_`"):
        end -= 1
    return Found(text[start:end], start, end, *outer, marker)


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
    line = text.rfind("\n", 0, low) + 1
    for _ in range(_MAX_FORMULAS):
        cut = _CUT.search(text, at, high)
        formula = _FORMULA.search(text, at, high)
        if formula is not None and (cut is None or formula.start() <= cut.start()):
            at = formula.end()
        elif (
            cut is not None and cut.group() == "**" and not text.count("**", line, cut.start()) % 2
        ):
            at = cut.end()  # It opens bold text within the answer.
        else:
            break
    else:
        cut = None
    return low, cut.start() if cut else high


def _line_end(text: str, at: int) -> int:
    """Returns where the paragraph's line ends.

    A line break right after the phrase is passed over.
    """
    at = _skip_space(text, at)
    if text.startswith(("\\[", "$$"), at):
        return _next_line(text, at)[1]
    end = text.find("\n", at, at + _WINDOW)
    return min(len(text), at + _WINDOW) if end < 0 else end
