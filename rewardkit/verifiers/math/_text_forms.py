"""Answers in words: option letters.

Clock times, dates, number words, labelled parts, plain text.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

_NAMED_SETS = {
    "real": "R", "reals": "R", "real numbers": "R", "real number": "R", "real values": "R", "real x": "R", "integers": "Z",
    "integer": "Z", "natural numbers": "N", "rational numbers": "Q", "complex numbers": "C", "numbers": "R",
}  # fmt: skip

__all__ = [
    "Clock",
    "Date",
    "denies",
    "full_weekday",
    "means_empty",
    "normal_text",
    "plain_text",
    "read_clock",
    "read_date",
    "read_named_set",
    "read_number_words",
    "read_options",
    "split_labels",
    "strip_lead_in",
]

_COMMAND_GROUP = re.compile(
    r"\\(?:text|texttt|textsf|mathtt|textbf|textit|mathrm|mathbf|mathsf|mathit|rm|bf|operatorname|mbox|hbox|textrm|textnormal|boldsymbol|emph|underline|boxed|fbox|textup)\s*\{([^{}]*)\}"
)
_SPACES = re.compile(
    r"(?:\\[ ,;:!>/]|~|\\(?:q?quad|enspace|(?:neg)?(?:thin|med|thick)space|hfill|left|right|displaystyle)(?![A-Za-z])"
    r"|[ \t\n\r\f\v])+"
)


def plain_text(text: str) -> str:
    r"""Returns the words of an answer without LaTeX around them.

    >>> plain_text(r"$\text{March 5}$, \mathbf{2021}")
    'March 5, 2021'
    """
    for _ in range(4):
        text, count = _COMMAND_GROUP.subn(r" \1 ", text)
        if not count:
            break
    text = text.replace("\\$", "\0").replace("$", " ").replace("\0", "$")
    text = text.replace("\\(", " ").replace("\\)", " ").replace("\\[", " ").replace("\\]", " ")
    text = _SPACES.sub(" ", text).replace("**", "").strip(' .,;:!*`"')
    text = re.sub(r"\s+([,.;:])", r"\1", text)
    return re.sub(r"\(\s+|\s+\)", lambda m: m.group().strip(), text).strip()


_LEAD_IN = re.compile(
    r"^\s*(?:\\text(?:bf)?\s*\{)?\s*(?:(?:so|thus|hence|therefore),?\s+)?(?:the\s+)?(?:final\s+|correct\s+)?"
    r"(?:answer|result|solution|value)\s*(?:is|are|equals|:|=)\s*:?\s*(?P<close>\})?\s*",
    re.IGNORECASE,
)


_LONG_LEAD_IN = re.compile(
    r"^\s*(?:\\text(?:bf)?\s*\{)?\s*(?:(?:so|thus|hence|therefore),?\s+)?(?:there\s+|the\s[a-z][a-z ',-]{0,80}?)"
    r"(?:\bis|\bare|\bequals|=|:)\s*:?\s*(?P<close>\})?\s*"
    r"(?=[\d\\$(\[{+.-]|[A-Za-z](?:_\{?\w+\}?)?\s*(?:[=<>]|\\(?:in|leq?|geq?|neq?|equiv)\b)|$)",
    re.IGNORECASE,
)
_NOUN_LEAD_IN = re.compile(
    r"^\s*(?:\\text\s*\{)?\s*the\s+(?:points?|line|interval|set|vector|matrix|function|equation|number|value)\s*"
    r"(?P<close>\})?\s*(?=[\\(\[{$])",
    re.IGNORECASE,
)
_ALL_BUT = re.compile(
    r"^(?:\\text\s*\{)?\s*all\s+reals?(?:\s+numbers?|\s+values?)?(?:\s+\$?x\$?)?\s+except\s+(?:for\s+)?(?:when\s+)?\}?"
    r"\s*(?:\$?x\s*=\s*)?([^{}]{1,60}?)\s*\}?$",
    re.IGNORECASE,
)


_DENYING = re.compile(
    r"\b(?:or|but|maybe|perhaps|possibly|could|might|may\s+be|if|unless|isn|wasn|don|doesn|cannot|unsure|sure|guess|either|neither|nor|between|"
    r"squared|cubed|doubled|tripled|dozen|hundred|thousand|million|billion|percent|plus|factorial)\b",
    re.IGNORECASE,
)
_TWISTED = re.compile(
    r"\b(?:wrong|incorrect|not|never|square|squared|cube|root|half|twice|double|triple|minus|plus|times|more|less|fewer|"
    r"greater|least|most|than|over|under|except|before|after|negative|reciprocal|inverse|opposite|near|about|third|quarter)\b",
    re.IGNORECASE,
)
"""Words in a lead-in that make the number after it another than the answer."""


def denies(words: str) -> bool:
    """Returns True if words around a number make it another one, or no answer."""
    return bool(_TWISTED.search(words) or _DENYING.search(words))


def strip_lead_in(text: str, *, long: bool = False) -> str:
    """Returns the text without "The answer is" and its like before the answer.

    With `long`, also without a sentence such as "The number of pairs is" before a formula.
    """
    found = _LEAD_IN.match(text)
    if long and not found:
        found = _LONG_LEAD_IN.match(text) or _NOUN_LEAD_IN.match(text)
        text = _ALL_BUT.sub(r"\\mathbb{R}\\setminus\\{\1\\}", text)
    if found and _TWISTED.search(found.group()):
        return text
    if not found:
        return text
    rest = text[found.end() :]
    if found.group().count("{") > found.group().count("}"):
        return "\\text{" + rest
    return rest


_OPTION = r"(?:\(\s*([A-Ja-j])\s*\)|\[([A-Ja-j])\]|\b([A-J])\b)"
_OPTION_WHOLE = re.compile(
    r"^(?:(?:the\s+)?(?:correct\s+)?(?:option|choice|answer|letter)s?\s*(?:is|are|:)?\s*)*"
    + _OPTION
    + r"\s*(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_OPTION_LIST = re.compile(
    r"^\(?([A-J])\)?(?:\s*(?:,|;|and|or|&|/)+\s*(?:and\s+|or\s+)?\(?([A-J])\)?)+$", re.IGNORECASE
)
_OPTION_WORD = re.compile(r"(?:the|correct|option|choice|answer|letter)\b", re.IGNORECASE)
_OTHER_OPTION = re.compile(
    r"[(\[]\s*([A-Ja-j])\s*[)\]]|(?:\b(?:or|and|option|choice|possibly|maybe|perhaps|then|not)\s+|[,;/&–—-]\s*|^[.:]\s*)"
    r"\(?([A-J])\)?(?=[\s.,;:)]|$)|\b([A-J])\s*[.):](?=\s)|\b([B-J])\.?$"
)
_LETTER = re.compile(r"\b[A-Ja-j]\b")
_REJECTED = re.compile(
    r"(?:is|was|seems)\s+(?:wrong|incorrect|false|excluded|eliminated|ruled\s+out|"
    r"not\s+(?:correct|right|it\b|the\s+(?:answer|correct|right)))|[(:,-]*\s*(?:wrong|incorrect)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|but(?:\s+also)?)\s+\(?[A-J]\)?(?=\s*(?:$|[.,;)]|is\b|are\b|too\b))"
    r"|\b[A-J]\)?\s+(?:is|are)\s+(?:also\s+)?(?:possible|correct|right|fine)\b"
)


def read_options(plain: str) -> tuple[str, ...] | None:
    """Returns the option letters that a text chooses.

    In upper case and in order, or None if it chooses none.

    One letter may be followed by its option's text: `E: the slope`, `(D) 36`. Words are no letters.

    >>> read_options("(C)"), read_options("A and C"), read_options("Answer not determined")
    (('C',), ('A', 'C'), None)


    """
    plain = plain.strip().strip("{}").strip()
    if len(plain) == 1:
        return (plain.upper(),) if plain.upper() in "ABCDEFGHIJ" else None
    if _OPTION_LIST.match(plain):
        return tuple(dict.fromkeys(letter.upper() for letter in _LETTER.findall(plain)))
    compact = re.fullmatch(r"[A-J]{2,5}", plain)
    if compact and list(plain) == sorted(set(plain)):
        return tuple(plain)
    found = _OPTION_WHOLE.match(plain)
    if not found:
        return None
    letter = next(g for g in found.groups()[:3] if g)
    rest = found["rest"].strip()
    if _REJECTED.match(rest):
        return None
    if _HEDGED.search(rest):
        return (letter.upper(), "?")
    named = _OPTION_WORD.match(plain)
    if rest and found[3] is not None and rest[0] not in ".:)-–—,(" and not named:
        return None
    if re.match(r"[,.;:]?\s*(?:or|and)\b", rest):
        return (letter.upper(), "?")
    others = {mark.upper() for pair in _OTHER_OPTION.findall(rest) for mark in pair if mark}
    return tuple(sorted({letter.upper(), *others}))


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day. `half` is am, pm, or '' where it is not said (an hour above 12 says it)."""

    hour: int
    minute: int
    second: int
    half: str
    padded: bool = False
    """Written 08:05: a clock of 24 hours, though some write so on one of twelve."""

    def same_as(self, other: "Clock") -> bool:
        """Returns True if both are the same time; an unsaid half of the day matches only another."""
        if (self.minute, self.second) != (other.minute, other.second):
            return False
        return bool(self._hours() & other._hours())

    def _hours(self) -> set[tuple[int, str]]:
        if self.half:
            hour = self.hour % 12 + (12 if self.half == "pm" else 0)
            return {(hour, "said")}
        if self.hour > 12 or self.hour == 0:
            return {(self.hour % 24, "said")}
        return {(self.hour, "unsaid"), *([(self.hour, "said")] if self.padded else [])}


_CLOCK = re.compile(
    r"^(?:at\s+)?(?P<h>\d{1,2})(?:\s*[:.h]\s*(?P<m>\d{2}))?(?::(?P<s>\d{2}))?\s*(?:o'?clock)?\s*"
    r"(?P<half>[ap]\.?\s?m\.?|in the (?:morning|afternoon|evening)|at night)?\s*(?:hours|h|hrs|uhr)?\.?$",
    re.IGNORECASE,
)


def read_clock(plain: str) -> Clock | None:
    """Returns a time of day such as `3:45 PM`, `15:45`, `7 a.m.`, or None.

    A bare number is no time; `noon` and `midnight` are.
    """
    lower = plain.lower().strip()
    if lower in ("noon", "12 noon", "midday"):
        return Clock(12, 0, 0, "pm")
    if lower in ("midnight", "12 midnight"):
        return Clock(12, 0, 0, "am")
    found = _CLOCK.match(lower)
    if not found or (found["m"] is None and not found["half"] and "clock" not in lower):
        return None
    if found["m"] is not None and re.match(r"^\d+\.\d+$", lower):
        return None
    hour, minute, second = int(found["h"]), int(found["m"] or 0), int(found["s"] or 0)
    if hour > 24 or minute > 59 or second > 59:
        return None
    half = (found["half"] or "").replace(".", "").replace(" ", "")
    half = {
        "am": "am",
        "pm": "pm",
        "inthemorning": "am",
        "intheafternoon": "pm",
        "intheevening": "pm",
        "atnight": "pm",
    }.get(half, "")
    if hour > 12:
        half = ""
    return Clock(hour, minute, second, half, padded=lower.startswith("0"))


@dataclass(frozen=True, slots=True)
class Date:
    year: int | None
    month: int
    day: int | None
    weekday: str = ""
    """Such as `tues`; '' where it is not said."""

    def same_as(self, other: "Date") -> bool:
        """Returns True if both are the same date; a day of the week counts where both have one."""
        if self.weekday and other.weekday and self.weekday != other.weekday:
            return False
        return (self.year, self.month, self.day) == (other.year, other.month, other.day)


_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = re.compile(
    r"^(?:on\s+)?(?P<a>mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?"
    r"|,?\s*\(?\b(?P<b>mon|tues|wednes|thurs|fri|satur|sun)day\)?$",
    re.IGNORECASE,
)
_SHORT_WEEKDAYS = {
    short: name
    for name, shorts in {
        "monday": "mon", "tuesday": "tue tues", "wednesday": "wed", "thursday": "thu thur thurs",
        "friday": "fri", "saturday": "sat", "sunday": "sun",
    }.items()
    for short in shorts.split()
}  # fmt: skip
_DATES = [
    re.compile(
        rf"^(?:on\s+)?{_MONTH}\s+(?:the\s+)?{_DAY}(?:\s*,?\s+(?P<year>\d{{4}}))?$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?:on\s+)?(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}(?:\s*,?\s+(?P<year>\d{{4}}))?$",
        re.IGNORECASE,
    ),
    re.compile(rf"^{_MONTH},?\s+(?P<year>\d{{4}})$", re.IGNORECASE),
    re.compile(r"^(?P<year>\d{4})[-/.](?P<number>\d{1,2})[-/.](?P<day>\d{1,2})$"),
    re.compile(r"^(?P<number>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})$"),
    re.compile(r"^(?P<day>\d{1,2})\.\s?(?P<number>\d{1,2})\.\s?(?P<year>\d{4})$"),
]


def read_date(plain: str) -> Date | None:
    """Returns a calendar date such as `March 5, 2021`, `5 March`, `2021-03-05`, or None."""
    plain = plain.strip()
    named = _WEEKDAY.search(plain)
    weekday = (named["a"] or named["b"]).lower() if named else ""
    if named:
        plain = plain[: named.start()] + plain[named.end() :]
    for pattern in _DATES:
        found = pattern.match(plain)
        if found:
            parts = found.groupdict()
            month = _MONTHS[parts["month"].lower()] if parts.get("month") else int(parts["number"])
            day = int(parts["day"]) if parts.get("day") else None
            if 1 <= month <= 12 and (day is None or 1 <= day <= 31):
                year = int(parts["year"]) if parts.get("year") else None
                return Date(year, month, day, weekday)
    return None


_ONES = {word: n for n, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen".split())}  # fmt: skip
_TENS = {
    word: 10 * n
    for n, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_PARTS = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "quarters": 4,
    **{
        w: n
        for n, w in enumerate(
            "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=3
        )
    },
    **{
        w + "s": n
        for n, w in enumerate(
            "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=3
        )
    },
    "hundredth": 100,
    "hundredths": 100,
    "thousandth": 1000,
    "thousandths": 1000,
}


def read_number_words(plain: str) -> int | Fraction | None:
    """Returns the number that English words spell, or None.

    >>> (
    ...     read_number_words("forty-seven"),
    ...     read_number_words("three and a half"),
    ...     read_number_words("minus two thirds"),
    ... )
    (47, Fraction(7, 2), Fraction(-2, 3))
    """
    words = re.sub(r"[-–,]", " ", plain.lower()).split()
    if not words or len(words) > 24:
        return None
    sign = 1
    if words[0] in ("minus", "negative"):
        sign, words = -1, words[1:]
    if "point" in words:
        cut = words.index("point")
        digits = [_ONES.get(w, 10) for w in words[cut + 1 :]]
        whole = _whole(words[:cut]) if cut else 0
        if whole is None or not digits or any(d > 9 for d in digits):
            return None
        return sign * Fraction(int(str(whole) + "".join(map(str, digits))), 10 ** len(digits))
    if words and words[-1] in _PARTS:
        return _fraction_words(words, sign)
    value = _whole(words)
    return None if value is None else sign * value


def _fraction_words(words: list[str], sign: int) -> Fraction | None:
    bottom = _PARTS[words[-1]]
    rest = words[:-1]
    whole = 0
    if (
        "and" in rest
        and (head := _whole(rest[: len(rest) - rest[::-1].index("and") - 1])) is not None
    ):
        whole, rest = head, rest[len(rest) - rest[::-1].index("and") :]
    top = 1 if rest in ([], ["a"], ["an"]) else _whole(rest)
    return None if top is None else sign * (whole + Fraction(top, bottom))


def _whole(words: list[str]) -> int | None:
    total, group, seen = 0, 0, False
    for word in words:
        if word == "and" and seen:
            continue
        if word == "a" and not seen:
            group, seen = 1, True
        elif word in _ONES or word in _TENS:
            value = _ONES.get(word, _TENS.get(word, 0))
            if (group % 10 and seen) or (value >= 10 and group % 100):
                return None
            group, seen = group + value, True
        elif word == "hundred" and seen:
            group *= 100
        elif word in _SCALES and seen:
            total, group = total + group * _SCALES[word], 0
        elif word == "dozen" and seen:
            group *= 12
        else:
            return None
    return total + group if seen else None


_EMPTY = re.compile(
    r"^(?:(?:the|this)\s+[a-z]+(?:\s+[a-z]+)?\s+)?(?:(?:has|have)\s+)?(?:(?:there\s+(?:is|are|exists?|exist)\s+)?(?:no|none|not any)\b\s*(?:(?:such|real|integer|valid|possible|other)\s+)*"
    r"(?:solutions?|values?|roots?|answers?|numbers?|integers?|triangles?|functions?|pairs?|x|n)?(?:\s+exists?|\s+exist|\s+in\s+\w+)?|"
    r"(?:the\s+)?(?:empty|null)\s+set|does\s+not\s+exist|no\s+solutions?|inconsistent|dne|unsolvable|impossible)$",
    re.IGNORECASE,
)


def means_empty(plain: str) -> bool:
    """Returns True for "no solution", "none", "empty set" and their like."""
    return plain.lower() not in ("no", "not") and bool(_EMPTY.match(plain.strip()))


def read_named_set(plain: str) -> str:
    """Returns R, Z, N, Q or C for "all real numbers", "any integer" and their like, else ''."""
    found = re.fullmatch(
        r"(?:[a-z]\s+(?:is|can be|in)\s+)?(?:the\s+set\s+of\s+)?(?:all|any|every|the)\s+(?:the\s+)?(?:values? of \w\b|.*?)?\s*"
        r"(reals?(?: (?:numbers?|values|x))?|integers?|(?:natural|rational|complex) numbers)",
        plain.lower(),
    )
    return _NAMED_SETS.get(found[1], "") if found else ""


_ARTICLE = re.compile(r"^(?:a|an|the|it is|it's|on|in|at|by|is)\s+")


def full_weekday(words: str) -> str:
    """Returns `friday` for `fri`, '' for what is no short name of a day."""
    return _SHORT_WEEKDAYS.get(words, "")


_SUBJECT = re.compile(
    r"^(?:this )?(?:series|sequence|integral|limit|function|statement|system|matrix)\s+"
    r"(?:is\s+(?=\w)|(?=diverges|converges|does\b|increases|decreases))"
)
_SAME_WORDS = {"divergent": "diverges", "convergent": "converges"}
_INFINITE = re.compile(
    r"(?:there are )?(?:infinitely many|(?:an )?infinite number of)"
    r"(?: (?:real |distinct |such )?(?:solutions?|values?|answers?))?"
)


def normal_text(plain: str) -> str:
    """Returns a text answer in the form in which two are compared.

    Case, articles and punctuation do not count.
    """
    text = re.sub(r"[_\s]+", " ", plain.lower()).strip(" .,;:!?\"'`*(){}[]")
    text = re.sub(r"(?<=\w)[-–](?=\w)", " ", text)
    text = text.replace("’", "'")
    for _ in range(2):
        text = _ARTICLE.sub("", text)
    text = _SUBJECT.sub("", text)
    text = _SAME_WORDS.get(text, text)
    return "infinitely many" if _INFINITE.fullmatch(text) else text.strip()


_LABEL = re.compile(
    r"(?:\b(?:parts?|questions?|problems?)\.?\s*)?(?:\(\s*(?P<round>[a-h]|[ivx]{1,4}|\d)\s*\)|(?:^|(?<=[\s,;&]))(?P<bare>[a-h]|[ivx]{1,4}(?=\s*\))|[ivx]{2,4}|\d)\s*[):]|"
    r"\b(?P<word>max(?:imum)?|min(?:imum)?|largest|smallest|greatest|least|mean|median|mode|range|area|perimeter|volume|sum|product|"
    r"width|length|height|average|radius|diameter|circumference|first|second|third|quotient|remainder|numerator|denominator|"
    r"slope|intercept|center|centre)\b)\s*(?:value|part)?\s*(?:is|=|:|of)?\s*",
    re.IGNORECASE,
)
_SYNONYMS = {"max": "maximum", "min": "minimum", "largest": "maximum", "greatest": "maximum", "smallest": "minimum", "least": "minimum",
             "average": "mean", "centre": "center"}  # fmt: skip


def split_labels(text: str) -> list[tuple[str, str]] | None:
    """Returns (label, text) pairs of an answer in labelled parts, sorted by label, or None.

    >>> split_labels("(b) 7, (a) 5")
    [('a', '5'), ('b', '7')]
    """
    flat = re.sub(r"\\text(?:bf|it)?\s*\{([^{}]*)\}", r" \1 ", text)
    flat = re.sub(r"\\(?:quad|qquad|[ ,;:])|\\\\(?![A-Za-z])", " ", flat).strip()
    marks = list(_LABEL.finditer(flat))
    if len(marks) < 2 or flat[: marks[0].start()].strip(" ,;"):
        return None
    pairs = list[tuple[str, str]]()
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = flat[mark.end() : following.start() if following else len(flat)]
        label = (mark["round"] or mark["bare"] or mark["word"] or "").lower()
        body = re.sub(
            r"^\s*(?:and|,|;)+|(?:\band\b|[,;.\s])+$", "", body.strip(), flags=re.IGNORECASE
        ).strip()
        if not body:
            return None
        pairs.append((_SYNONYMS.get(label, label), body))
    labels = [label for label, _ in pairs]
    return sorted(pairs) if len(set(labels)) == len(labels) else None
