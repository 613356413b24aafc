"""The verdict on one answer span.

Tiers from the cheapest to the dearest, each says yes, no, or passes on.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewardkit.verdict import Reason
from rewardkit.verifiers.math._compare import compare
from rewardkit.verifiers.math._comparer import Comparer
from rewardkit.verifiers.math._decision import Decision, different, equal, oversized, undecided
from rewardkit.verifiers.math._lexer import Reading, clean, single_spaces
from rewardkit.verifiers.math._limits import MAX_ANSWER_CHARS, NotMathError, TooLargeError
from rewardkit.verifiers.math._literals import read_literal
from rewardkit.verifiers.math._nodes import (
    Add,
    BigOp,
    Call,
    Const,
    Div,
    Listing,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Rel,
    Seq,
    Sym,
)
from rewardkit.verifiers.math._reference import (
    MathReference,
    read_labelled,
    read_math,
    same_words,
    squeeze,
)
from rewardkit.verifiers.math._rewrite import free_symbols, rebuild, walk
from rewardkit.verifiers.math._rules_values import is_unevaluated
from rewardkit.verifiers.math._scalar import Scalar, compare_scalars, is_literal
from rewardkit.verifiers.math._spellings import other_spellings
from rewardkit.verifiers.math._text_forms import (
    denies,
    full_weekday,
    means_empty,
    normal_text,
    plain_text,
    read_clock,
    read_date,
    read_named_set,
    read_number_words,
    read_options,
    strip_lead_in,
)

__all__ = ["Judgement", "judge"]

_SYMBOLIC = (Num, Sym, Const, Add, Mul, Div, Neg, Pow, Percent, Call, BigOp)
_OPTION_LABEL = re.compile(
    r"^\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{\s*)?\([A-J]\)\s*\}?\s*:?\s*(?=[\d\\$.-])"
)
_LABEL_LIKE = re.compile(r"[A-Za-z0-9]\s*[):]|[A-Za-z]{3}")
_BARE_WORD = re.compile(r"(?!pi$)[A-Za-z]{2,3}")
"""Letters without an operator are compared as they stand: net is not ten."""
_ASIDE = re.compile(r"\([^()\d]{3,80}\)|,\s*as\s+\w+$")
_WORD = re.compile(r"[^\W\d_]+")
_STRANGE = re.compile(r"\\(?!frac\b|times\b|cdot\b|pi\b|sqrt\b)[A-Za-z]")
"""A command that is no word: \\neg 12, \\cancel{12}, \\ge 12 are not twelve."""
_QUADS = re.compile(r"(?<![,;&}\s])\s*(?:\\q?quad\s*)+(?![,;&}\s]|\\(?:q?quad|text))")
"""Room between two values that has nothing else to part them."""
_WORDS_ONLY = re.compile(r"[A-Za-z]+(?:[ -][A-Za-z]+)*")
_NUMBER = re.compile(
    r"(?<![\w.])[-−]?[$€£]?\d[\d,]*(?:\.\d+)?(?:/\d+)?\s*\\?%?(?![\w^=+*/<>])|\\frac\{\d+\}\{\d+\}"
)
_PLACEHOLDER = re.compile(
    r"^(?:|\?+|\.{2,}|…|-+|_+|answer|your answer|final answer|see above|nan|none|null|undefined|unknown|tbd|n/a|todo|"
    r"x|the answer|result|value)$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\\(?:write18|immediate|input|include|openout|csname|def)\b|__\w+__|(?<!\\)\blambda\b[\w\s,]{0,40}:|\b(?:import|exec|eval|getattr|globals|subprocess|os\.|sys\.|open)\s*[(.]|\w\(\s*[\"'][^\"']*[\"']|\(\)\."
)
_TAKEN_BACK = re.compile(
    r"\b(?:yes|no|true|false|or|maybe|perhaps|kidding|wrong|unsure|unlikely|nope|nah|hardly|not\s+really|never\s+mind|incorrect)\b",
    re.IGNORECASE,
)
_SEVERAL_LETTERS = re.compile(r"(?=[A-F]{2,5}$)A?B?C?D?E?F?")
_MAX_COMMA_CHARS = 80
_MACHINE_DIGITS = 18
_SET_OF_GROUPS = re.compile(r"\\?[{\[]\s*\d+(?:,\d{3})+\s*\\?[}\]]$")
_LISTED = re.compile(r"[(\[{]\s*\d+(?:,\d{3})+\s*\\?[)\]}]")
"""Digit groups that fill a bracket: more likely \\gcd(84,126) than a number."""
_DECIMAL_COMMA = re.compile(r"^(?:[A-Za-z]\s*=\s*)?[^A-Za-z(\[{]*?\d[\d. ]*,\d+(?![\d,])[^,]*$")
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_TASK = re.compile(
    r"(?:comput|evaluat|calculat|find|simplif|determin|what\s+is|solve|value\s+of|asked\s+for|work\s+out|problem|question|expand|prove)"
    r"[^.\n]{0,80}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A decision with the reason code that it gets."""

    decision: Decision
    reason: Reason
    open: bool = False
    """True if a symbolic engine may still decide."""


_SAME_TEXT = Judgement(equal("canonical", "the same text"), Reason.MATCH)
_SAME_NUMBER = Judgement(equal("exact", "equal whole numbers"), Reason.MATCH)
_OTHER_NUMBER = Judgement(different("exact", "different whole numbers"), Reason.MISMATCH)


def judge(
    reference: MathReference, span: str, *, decimal_comma: bool = False, task: str = ""
) -> Judgement:
    """Returns the judgement on an answer span.

    Args:
        reference: what is asked for.
        span: the answer as the completion spells it.
        decimal_comma: read `3,5` as 3.5 and `1.234` as 1234, always.
        task: the prompt and the text before the answer, in which a restated task is looked for.
    """
    try:
        return _judge(reference, span, decimal_comma=decimal_comma, task=task)
    except RecursionError:
        return Judgement(different("guard", "nested too deep"), Reason.SIZE_LIMIT)
    except Exception as error:  # The boundary: what a tier does not foresee is an abstention.
        return Judgement(undecided("failure", type(error).__name__), Reason.ENGINE_FAILURE)


def _judge(reference: MathReference, span: str, *, decimal_comma: bool, task: str) -> Judgement:
    if len(span) > MAX_ANSWER_CHARS:
        return _oversized(reference, span)
    if span and span == reference.canonical:
        return _SAME_TEXT
    if (
        span.isdecimal()
        and span.isascii()
        and len(span) < _MACHINE_DIGITS
        and (known := _whole_number(reference)) is not None
    ):
        return _SAME_NUMBER if int(span) == known else _OTHER_NUMBER
    cleaned = clean(strip_lead_in(single_spaces(span), long=reference.kind == "math"))
    if reference.kind == "math":
        cleaned = _OPTION_LABEL.sub("", cleaned)
        if cleaned.startswith("="):
            cleaned = cleaned[1:].lstrip()
    canonical = squeeze(cleaned)
    if canonical and canonical == reference.canonical:
        return _SAME_TEXT
    if reference.number is not None and not decimal_comma:
        literal = read_literal(canonical)
        if literal is not None:
            return _judge_number(reference, reference.number, literal)
    plain = plain_text(cleaned)
    if _CODE.search(cleaned):
        return Judgement(different("guard", "program text is no answer"), Reason.FORBIDDEN)
    if reference.kind == "math" and all(
        map(_BARE_WORD.fullmatch, (canonical, reference.canonical))
    ):
        return _mismatch("words", "other letters")
    if (
        _PLACEHOLDER.match(plain)
        and not (reference.kind == "math" and means_empty(plain))
        and not (reference.kind == "text" and normal_text(plain) == reference.value)
    ):
        return Judgement(different("guard", "a placeholder is no answer"), Reason.NO_ANSWER)
    if reference.kind == "opaque":
        return Judgement(
            undecided("canonical", "the reference is not understood"), Reason.UNPROVED, open=True
        )
    if reference.kind not in ("math",) and (reference.kind != "clock" or not reference.readings):
        return _judge_words(reference, cleaned, plain)
    if reference.kind == "clock":
        if not reference.readings:
            return _judge_words(reference, cleaned, plain)
        words = _judge_words(reference, cleaned, plain)
        if words.decision or read_clock(plain):
            return words
    return _judge_math(reference, cleaned, plain, decimal_comma, task)


def _whole_number(reference: MathReference) -> int | None:
    """Returns the value of a reference that is a plain whole number, to be met exactly."""
    node = reference.number.node if reference.number is not None else None
    if not isinstance(node, Num) or reference.tolerance.significant_figures is not None:
        return None
    return node.value if isinstance(node.value, int) and node.places is None else None


def _judge_number(reference: MathReference, number: Scalar, literal: Node) -> Judgement:
    """Judges a plain number against a plain number, without the grammar."""
    decision = compare_scalars(number, Scalar(literal), reference.tolerance)
    return Judgement(decision, Reason.MATCH if decision else Reason.MISMATCH)


def _oversized(reference: MathReference, span: str) -> Judgement:
    if squeeze(span) == squeeze(reference.text):
        return Judgement(equal("canonical", "the same text"), Reason.MATCH)
    return Judgement(
        different("guard", f"an answer of {len(span):,} characters"), Reason.SIZE_LIMIT
    )


def _judge_words(reference: MathReference, cleaned: str, plain: str) -> Judgement:
    match reference.kind:
        case "options":
            letters = read_options(plain)
            if letters is None and reference.readings:
                return _judge_math(reference, cleaned, plain, False, "")
            if letters is None:
                return _mismatch("words", "no option letter")
            if set(letters) == set(reference.value):
                return Judgement(equal("words", "the same option"), Reason.MATCH)
            return _mismatch("words", f"option {', '.join(letters)}")
        case "clock":
            same = same_words(reference.value, read_clock(plain))
        case "date":
            same = same_words(reference.value, read_date(plain))
        case "truth":
            same = _same_truth(str(reference.value), plain)
        case _:
            words = normal_text(plain)
            same = reference.value in (words, full_weekday(words)) or _same_letters(
                reference.canonical, plain
            )
    return (
        Judgement(equal("words", "the same"), Reason.MATCH)
        if same
        else _mismatch("words", "other words")
    )


def _same_letters(reference: str, plain: str) -> bool:
    """Returns True if `B, D` answers a reference that has its option letters in one word."""
    letters = read_options(plain) if _SEVERAL_LETTERS.fullmatch(reference) else None
    return letters is not None and list(reference) == sorted(letters)


def _same_truth(reference: str, plain: str) -> bool:
    """Returns True if a text says yes (or no) and not the opposite: `Yes, since 3 > 2`."""
    if plain in ("T", "F"):
        return reference == {"T": "true", "F": "false"}[plain]
    first = re.match(r"(?:yes|no|true|false)\b", plain.lower())
    if not first or first.group() != reference:
        return False
    rest = plain[first.end() :].strip()
    if not rest:
        return True
    return rest[0] in ",.;:-–—(" and not _TAKEN_BACK.search(rest)


def _mismatch(tier: str, why: str) -> Judgement:
    return Judgement(different(tier, why), Reason.MISMATCH)


def _judge_math(
    reference: MathReference, cleaned: str, plain: str, decimal_comma: bool, task: str
) -> Judgement:
    nodes, problem = _answer_nodes(reference, cleaned, plain, decimal_comma)
    if not nodes:
        return problem
    best: Decision | None = None
    comparer = Comparer(compare, reference.tolerance, reference.scalars)
    for wanted, node in _pairs(reference.readings, nodes):
        if is_unevaluated(wanted, node) or _restates(wanted, node, cleaned, task):
            return Judgement(different("guard", "the task, not its value"), Reason.UNEVALUATED)
        try:
            decision = comparer.compare(wanted, node)
        except TooLargeError as error:
            decision = oversized(str(error))
        if decision:
            return Judgement(decision, Reason.MATCH)
        if best is None or (best.same is False and decision.same is None):
            best = decision
    for wanted, node in itertools.product(reference.readings, nodes):
        for spelling in other_spellings(wanted, node):
            decision = comparer.compare(wanted, spelling)
            if decision:
                return Judgement(decision, Reason.MATCH)
    if best is not None and best.too_large:
        return Judgement(different("guard", best.why), Reason.SIZE_LIMIT)
    if best is None or best.same is None:
        open_ = _is_symbolic(reference.readings[0], nodes[0])
        decision = best if best is not None else undecided("structure")
        return Judgement(decision, Reason.UNPROVED, open=open_)
    return Judgement(best, Reason.MISMATCH)


def _pairs(readings: Sequence[Node], nodes: Sequence[Node]) -> Iterator[tuple[Node, Node]]:
    """Yields each reading of a reference with each of the answer.

    A log without a base is natural in analysis and decimal elsewhere: on both sides the one, or on
    both the other.
    """
    yield from itertools.product(readings, nodes)
    if any(_has_bare_log(node) for node in (*readings, *nodes)):
        yield from itertools.product(map(_decimal_logs, readings), map(_decimal_logs, nodes))


def _has_bare_log(node: Node) -> bool:
    return any(isinstance(part, Call) and part.name == "log" for part in walk(node))


def _decimal_logs(node: Node) -> Node:
    node = rebuild(node, _decimal_logs)
    if isinstance(node, Call) and node.name == "log":
        return Call("logb", (node.args[0], Num(10)))
    return node


def _is_symbolic(wanted: Node, node: Node) -> bool:
    """Returns True if a symbolic engine may know more: a sum, an integral or a limit is in it."""
    operators = any(isinstance(part, BigOp) for n in (wanted, node) for part in walk(n))
    return operators and _translatable(wanted) and _translatable(node)


def _translatable(node: Node) -> bool:
    """Returns True if a symbolic engine has a counterpart of every part.

    Values only, no unknown functions.
    """
    return all(isinstance(part, _SYMBOLIC) and not _indexes_a_symbol(part) for part in walk(node))


def _indexes_a_symbol(node: Node) -> bool:
    """Returns True for a sum over c_k: the symbol depends on the index only by its name."""
    return isinstance(node, BigOp) and any(
        node.variable in name.partition("_")[2] for name in free_symbols(node.body)
    )


def _answer_nodes(
    reference: MathReference, cleaned: str, plain: str, decimal_comma: bool
) -> tuple[list[Node], Judgement]:
    """Returns the readings of an answer that its reference allows, or the judgement.

    Where there is none.
    """
    wanted = reference.readings[0]
    if isinstance(wanted, Const) and wanted.name == "empty" and means_empty(plain):
        return [wanted], _mismatch("words", "")
    if _WORDS_ONLY.fullmatch(plain) and (spelled := read_number_words(plain)) is not None:
        return [Num(spelled)], _mismatch("words", "")
    labelled = read_labelled(cleaned, Reading()) if _LABEL_LIKE.search(cleaned) else None
    if labelled is not None:
        return [labelled], _mismatch("structure", "")
    if isinstance(wanted, Seq | Listing) and "quad" in cleaned:
        cleaned = _QUADS.sub(", ", cleaned)
    nodes = list[Node]()
    problem = Judgement(different("parse", "not read"), Reason.UNPARSABLE)
    for reading in _readings(wanted, cleaned, decimal_comma):
        try:
            node = read_math(cleaned, reading)
        except NotMathError as error:
            problem = Judgement(different("parse", str(error)), Reason.UNPARSABLE)
        except TooLargeError as error:
            problem = Judgement(different("guard", str(error)), Reason.SIZE_LIMIT)
            break
        else:
            if node not in nodes:
                nodes.append(node)
    if not nodes and problem.reason is Reason.UNPARSABLE:
        spelled = read_number_words(plain)
        if spelled is not None:
            return [Num(spelled)], problem
        trimmed = _spelled_quantity(plain) or _number_in_words(wanted, plain)
        if trimmed is not None:
            return [trimmed], problem
        if means_empty(plain):
            return [Const("empty")], problem
        named = read_named_set(plain)
        if named:
            return [Const(named)], problem
        if re.search(r"[^\W\d_]{3}", plain):
            problem = replace(problem, reason=Reason.MISMATCH)
    return nodes, problem


def _spelled_quantity(plain: str) -> Node | None:
    """Returns `twelve apples` as a quantity."""
    head, _, noun = plain.rpartition(" ")
    spelled = read_number_words(head) if head else None
    return Quantity(Num(spelled), noun) if spelled is not None else None


def _number_in_words(wanted: Node, plain: str) -> Node | None:
    """Returns the only number of a short sentence such as `There are 42 pages`."""
    bare = wanted.body if isinstance(wanted, Quantity) else wanted
    text = _ASIDE.sub(" ", plain)
    words = _WORD.findall(text)
    numbers = _NUMBER.findall(text)
    if not is_literal(bare) or len(numbers) != 1 or not 0 < len(words) <= 16:
        return None
    rest = " ".join(word for word in words if len(word) > 1)
    if "\\" in text.replace("\\$", "").replace("\\%", "") and _STRANGE.search(text):
        return None
    if rest and (denies(rest) or any(read_number_words(w) is not None for w in words)):
        return None
    counted = text.split(numbers[0], 1)
    try:
        value = read_math(clean(numbers[0].rstrip(",.")), Reading())
        noun = counted[1].strip(" .") if not counted[0].strip() else ""
        return Quantity(value, noun) if noun else value
    except (NotMathError, TooLargeError):
        return None


def _readings(wanted: Node, cleaned: str, decimal_comma: bool) -> list[Reading]:
    """Returns the ways to read an answer, given what is asked for.

    A scalar allows a decimal comma.
    """
    if decimal_comma:
        return [Reading(decimal_comma=True)]
    sequence = isinstance(wanted, Seq | Listing)
    if _SET_OF_GROUPS.match(cleaned):
        return [Reading(grouped=False)]
    listed = "," in cleaned and (sequence or _LISTED.search(cleaned))
    readings = [Reading(grouped=False), Reading()] if listed else [Reading()]
    scalar = wanted.body if isinstance(wanted, Quantity) else wanted
    whole = isinstance(scalar, Num) and isinstance(scalar.value, int)
    if isinstance(scalar, Rel) and scalar.ops == ("=",):
        whole = isinstance(scalar.sides[1], Num) and isinstance(scalar.sides[1].value, int)
    spaced = cleaned.replace("\\,", " ")
    comma = len(cleaned) < _MAX_COMMA_CHARS and _DECIMAL_COMMA.match(spaced)
    if ";" in cleaned and _COMMA_IN_NUMBER.search(cleaned):
        readings.append(Reading(decimal_comma=True))  # (1,5; 2)
    elif comma and not sequence and not isinstance(wanted, Sym) and not whole:
        readings.append(Reading(decimal_comma=True))
    return readings


def _restates(wanted: Node, node: Node, cleaned: str, task: str) -> bool:
    """Returns True if the answer repeats an expression of the task where a number was asked for."""
    if not task or is_literal(node) or not is_literal(wanted):
        return False
    needle = squeeze(cleaned)
    if len(needle) < 3 or not re.search(r"\d|\\", needle):
        return False
    haystack = squeeze(clean(task[-4_000:]) if len(task) > 4_000 else clean(task))
    at = haystack.find(needle)
    return at >= 0 and bool(_TASK.search(haystack[max(0, at - 120) : at]))
