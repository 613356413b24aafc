"""References, read once: what kind of answer is asked for, and how ambiguous answers are taken."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from rewardkit._spaces import drop_idle_spaces
from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers.math._decision import NO_TOLERANCE, Tolerance
from rewardkit.verifiers.math._lexer import Reading, clean
from rewardkit.verifiers.math._limits import (
    MAX_ANSWER_CHARS,
    MAX_TREE_DEPTH,
    NotMathError,
    TooLargeError,
)
from rewardkit.verifiers.math._literals import read_literal
from rewardkit.verifiers.math._nodes import (
    BigOp,
    Const,
    Labelled,
    Listing,
    Node,
    Num,
    PlusMinus,
    Quantity,
    Ratio,
    Seq,
    Sym,
    children,
)
from rewardkit.verifiers.math._parser import parse
from rewardkit.verifiers.math._rewrite import depth, walk
from rewardkit.verifiers.math._scalar import Scalar, is_literal
from rewardkit.verifiers.math._text_forms import (
    Clock,
    Date,
    denies,
    means_empty,
    normal_text,
    plain_text,
    read_clock,
    read_date,
    read_named_set,
    read_number_words,
    read_options,
    split_labels,
    strip_lead_in,
)
from rewardkit.verifiers.math._units import parse_unit

__all__ = ["Kind", "MathReference", "compile_reference", "read_math", "reference_text", "squeeze"]

Kind = Literal["math", "options", "clock", "date", "truth", "text", "opaque"]

_TRUTHS = {"yes": "yes", "no": "no", "true": "true", "false": "false"}
_BOX_POLICY = AnswerPolicy(box_only=True)
_EULER_OR_EXPONENT = re.compile(r"\d[eE][+-]\d")
_OPTION_LABEL = re.compile(r"^.*?\([A-J]\)\s*\}?\s*(?:\\ )?\s*")
_PLAIN_UNIT = re.compile(
    r"-?\d[\d.,]*\s+([A-Za-z]{1,3}(?:\^-?\d)?(?:\s*[/*·]\s*[A-Za-z]{1,3}(?:\^\{?-?\d\}?)?)*)"
)
_COUNTED = re.compile(r"(-?\d[\d.,]*)\s+([A-Za-z]{3,}(?:\s[A-Za-z]+){0,2})")
_CAPITALS = re.compile(r"[A-Z]{2,}|[A-Z]{1,2}[a-z]?(?:_?\{?\d\}?[A-Z][a-z]?|[A-Z]_?\{?\d\}?)+")
"""HTH, NW, ABC, H_2O: letters whose order counts, not a product."""
_GROUPING = re.compile(r"\d,\d{3}")
_LATEX_COMMAND = re.compile(r"\\[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class MathReference:
    """A compiled reference.

    It is immutable, shared by all rollouts of a prompt, and pickles as its text.
    """

    text: str
    """The reference as it was given."""
    kind: Kind
    """How answers are read."""
    readings: tuple[Node, ...] = ()
    """For kind math: the ways to read the text, the likeliest first."""
    value: Any = None
    """For the other kinds: the option letters, the time, the date, the normal text."""
    canonical: str = ""
    """The cleaned text without spaces that mean nothing; an equal answer needs no reading."""
    warnings: tuple[str, ...] = ()
    """What a person should know before training on it."""
    tolerance: Tolerance = NO_TOLERANCE
    scalars: Mapping[Node, Scalar] = field(default_factory=dict, compare=False, repr=False)
    """The values of the readings' parts, computed when first needed and shared by all answers."""

    number: Scalar | None = None
    """The value, where the reference is nothing but a number."""

    @property
    def open(self) -> bool:
        """True if other spellings of it may need the last tier: a sum, an integral, a limit."""
        return self.kind == "opaque" or any(isinstance(part, BigOp) for part in self.scalars)

    @property
    def arity(self) -> int:
        """The number of parts that are asked for; 1 for a single value."""
        node = self.readings[0] if self.readings else None
        match node:
            case Seq(items, _, _) | Listing(items, _):
                return len(items)
            case Labelled(items):
                return len(items)
            case PlusMinus():
                return 2
            case _:
                return len(self.value) if self.kind == "options" else 1

    def __reduce__(self) -> tuple[Any, tuple[str, Tolerance]]:
        return _compile, (self.text, self.tolerance)


def squeeze(text: str) -> str:
    """Returns a cleaned text without the spaces that mean nothing.

    `2 3/4` keeps its space, `x + 1` loses both; a sentence's full stop goes, an ellipsis stays.
    """
    for command in ("\\left", "\\right", "\\displaystyle", "\\,", "\\;", "\\ "):
        if command in text:
            text = text.replace(command, " ")
    text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.rstrip()
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1]
    return drop_idle_spaces(text)


def reference_text(reference: Json) -> str:
    """Returns the text of a reference.

    A string or a number; of a worked solution, its final answer.

    Raises:
        InvalidReferenceError: the reference has another type, is empty, or is not a number.
    """
    if isinstance(reference, bool):
        return "True" if reference else "False"
    if isinstance(reference, int):
        return str(reference) if abs(reference) < 10**4000 else hex(reference)
    if isinstance(reference, float):
        if not math.isfinite(reference):
            raise InvalidReferenceError(f"a math reference is finite, not {reference!r}")
        return repr(reference)
    if not isinstance(reference, str):
        raise InvalidReferenceError(
            f"a math reference is a string or a number, not {type(reference).__name__}; "
            'give the final answer alone, such as "\\\\frac{1}{2}"'
        )
    text = reference
    if "####" in text:
        text = text.rsplit("####", 1)[1]
    elif "boxed" in text and len(text) > 40:
        boxed = extract_answer(text, _BOX_POLICY).text
        text = boxed if boxed is not None else text
    if not text.strip(" \t\r\n$."):
        raise InvalidReferenceError("an empty math reference")
    return text.strip()


def compile_reference(reference: Json, *, tolerance: Tolerance = NO_TOLERANCE) -> MathReference:
    """Returns the compiled reference; equal texts are compiled once and shared.

    Raises:
        InvalidReferenceError: it is empty, not finite, or of another type than string or number.
    """
    return _compile(reference_text(reference), tolerance)


@lru_cache(maxsize=8192)
def _compile(text: str, tolerance: Tolerance) -> MathReference:
    cleaned = clean(strip_lead_in(text)) if len(text) <= MAX_ANSWER_CHARS else text
    canonical = squeeze(cleaned)
    plain = plain_text(cleaned)

    def made(
        kind: Kind, *, value: Any = None, readings: tuple[Node, ...] = (), warning: str = ""
    ) -> MathReference:
        warnings = (warning,) if warning else ()
        scalars = {part: Scalar(part) for reading in readings for part in walk(reading)}
        number = scalars[readings[0]] if len(readings) == 1 and is_literal(readings[0]) else None
        if number is not None and number.exact is None:
            number = None
        return MathReference(
            text, kind, readings, value, canonical, warnings, tolerance, scalars, number
        )

    if not canonical:
        raise InvalidReferenceError(f"a math reference without content: {text[:60]!r}")
    if plain.lower() in ("nan", "null", "n/a", "unknown", "?"):
        raise InvalidReferenceError(f"a math reference that is a placeholder: {text[:60]!r}")
    if re.fullmatch(
        r"\(?[a-dA-J]\)?|\(?[A-J]\)?(?:\s*(?:,|;|and|&)+\s*(?:and\s+)?\(?[A-J]\)?)*", plain
    ):
        return made("options", value=read_options(plain))
    labelled_option = re.fullmatch(r"\(([A-J])\)\s*(\S.*)", plain)
    if labelled_option:
        value = clean(_OPTION_LABEL.sub("", cleaned))
        readings, _ = _readings(value, plain_text(value))
        return made("options", value=(labelled_option[1],), readings=readings)
    truth = _TRUTHS.get(normal_text(plain))
    if truth:
        return made("truth", value=truth)
    clock = read_clock(plain)
    if clock and (clock.half or clock.hour > 12 or re.search(r":\d\d:", plain)):
        return made("clock", value=clock)
    date = read_date(plain)
    if date:
        return made("date", value=date)
    if _CAPITALS.fullmatch(cleaned):
        return made("text", value=normal_text(plain))
    literal = read_literal(canonical)
    readings, problem = ((literal,), "") if literal is not None else _readings(cleaned, plain)
    if clock and re.fullmatch(r"\d{1,2}:[0-5]\d", plain):
        if math.gcd(clock.hour, clock.minute) != 1:
            return made("clock", value=clock)  # A ratio would be in lowest terms.
        return made(
            "clock", value=clock, readings=readings, warning="read as a time of day or as a ratio"
        )
    if readings:
        return made("math", readings=readings, warning=_ambiguity(cleaned, readings))
    words = normal_text(plain)
    if re.search(r"[^\W\d_]{2}", words) and not _LATEX_COMMAND.search(plain):
        return made("text", value=words)
    return made(
        "opaque", warning=f"not understood ({problem}); only an identical answer is accepted"
    )


def _readings(cleaned: str, plain: str) -> tuple[tuple[Node, ...], str]:
    """Returns the ways to read a reference as mathematics, and why there is none."""
    if means_empty(plain):
        return (Const("empty"),), ""
    unit = _PLAIN_UNIT.fullmatch(cleaned)
    if unit and parse_unit(unit[1]).dimension and not parse_unit(unit[1]).noun:
        number, words = cleaned.split(maxsplit=1)
        return (Quantity(read_math(number, Reading()), words), read_math(cleaned, Reading())), ""
    spelled = read_number_words(plain)
    if spelled is not None:
        return (Num(spelled),), ""
    named = read_named_set(plain)
    if named:
        return (Const(named),), ""
    labelled = read_labelled(cleaned, Reading())
    if labelled is not None:
        return (labelled,), ""
    first = Reading(grouped=not re.match(r"(?:\\left\s*)?\\?[(\[{]", cleaned))
    nodes, problem = list[Node](), ""
    grouping = bool(_GROUPING.search(cleaned))
    ways = [first, Reading(grouped=not first.grouped)] if grouping else [Reading()]
    if _EULER_OR_EXPONENT.search(cleaned):
        ways.append(Reading(scientific=False))
    for reading in ways:
        node: Node | None = None
        try:
            node = read_math(cleaned, reading)
        except (NotMathError, TooLargeError) as error:
            problem = str(error)
            continue
        if grouping and reading is ways[1]:
            node = _second_reading(node)
        if node is not None and node not in nodes and not _is_prose(node, plain):
            nodes.append(node)
    counted = _COUNTED.fullmatch(cleaned) if not nodes else None
    if counted and not denies(counted[2]):
        nodes.append(Quantity(read_math(counted[1], Reading()), counted[2]))
    return tuple(nodes), problem


def _second_reading(node: Node) -> Node | None:
    """Returns `1,200` as a list in its order; a bracketed list has no second reading as a number."""
    zeros = any(isinstance(n, Num) and n.value == 0 for n in children(node))
    return Seq(node.items, "<", ">") if isinstance(node, Listing) and not zeros else None


def _is_prose(node: Node, plain: str) -> bool:
    """Returns True if letters that were read as a product are a word: `odd`, `red`."""
    return (
        bool(re.fullmatch(r"[A-Za-z]{3}", plain))
        and plain.lower() in _SHORT_WORDS
        and not isinstance(node, Sym)
    )


_SHORT_WORDS = frozenset(
    "odd yes all any one two six ten red day bus cat dog car man men boy her his she him may sum max min tie top win "
    "lie not out end sun mon tue wed thu fri sat son age ace cow hen pig rat fox owl bob tom sam ann amy joe jim ben "
    "dan ted tim kim lee leo mia zoe eva ian max ray roy sue pat peg meg liz kay jay jan ivy eve don deb dad mom big".split()
)


def read_math(cleaned: str, reading: Reading) -> Node:
    """Returns the tree of a cleaned text.

    Raises:
        NotMathError, TooLargeError: as `parse`; nesting beyond the interpreter's stack counts as
            too large.
    """
    if len(cleaned) > MAX_ANSWER_CHARS:
        raise TooLargeError(f"more than {MAX_ANSWER_CHARS} characters")
    try:
        node = parse(cleaned, reading)
        if depth(node) > MAX_TREE_DEPTH:
            raise TooLargeError(f"a tree more than {MAX_TREE_DEPTH} deep")
        return node
    except RecursionError:
        raise TooLargeError("nested too deep") from None


def read_labelled(cleaned: str, reading: Reading) -> Labelled | None:
    """Returns an answer in labelled parts, `(a) 5, (b) 7`, or None."""
    pairs = split_labels(cleaned)
    if pairs is None or len(pairs) > 64:
        return None
    items = list[tuple[str, Node]]()
    for label, body in pairs:
        try:
            items.append((label, read_math(body, reading)))
        except (NotMathError, TooLargeError):
            words = normal_text(plain_text(body))
            if not re.search(r"[^\W\d_]{2}", words):
                return None
            items.append((label, Sym(f"word {words}")))
    return Labelled(tuple(items))


def _ambiguity(cleaned: str, readings: tuple[Node, ...]) -> str:
    if len(readings) > 1:
        return "has two readings: a number with thousands separators, or a list"
    if (
        isinstance(readings[0], Ratio)
        and len(readings[0].parts) == 2
        and re.fullmatch(r"\d+:\d+", cleaned)
    ):
        return ""
    return ""


def same_words(reference: "str | Clock | Date", answer: Any) -> bool:
    """Returns True if two answers in words are the same."""
    if isinstance(reference, Clock):
        return isinstance(answer, Clock) and reference.same_as(answer)
    if isinstance(reference, Date):
        return isinstance(answer, Date) and reference.same_as(answer)
    return bool(reference == answer)


def answer_text(text: str) -> str:
    """Returns an answer span without a lead-in such as "The answer is"."""
    return strip_lead_in(text)
