"""From probes that pay to root causes: one fault, one finding."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rewardkit.audit.finding import Level

__all__ = ["RULES", "Cause", "Rule", "explain"]

ALL = "*"
MENTIONS = "@mentions"


@dataclass(frozen=True, slots=True)
class Rule:
    """If one of `trigger` pays, `cause` is at work, and it also explains `explains`."""

    cause: str
    property: str
    trigger: tuple[str, ...]
    explains: tuple[str, ...] = ()
    level: Level = Level.CONTRACT
    every: bool = False
    """True: all of `trigger` must pay."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule that holds, with the probes that show it."""

    rule: Rule
    main: str
    symptoms: tuple[str, ...]


_EMPTY = ("empty answer", "special value", "wildcard")
_NOTHING = ("no answer", "nothing on both sides", "only in the prompt", "words that hold letters")
_SEVERAL = ("list of candidates", "two answers with or", "all options")
_NEGATED = ("negated", "negated, then another", "rejected after it was declared")

RULES: tuple[Rule, ...] = (
    Rule("reference_ignored: the answer is not compared with the reference, any value is paid",
         "near_misses", ("another value",), (ALL,)),
    Rule("reverse_substring: an answer that is a part of the reference is paid (`answer in reference`)",
         "near_misses", ("middle of the reference",),
         ("beginning of the reference", "end of the reference", *_EMPTY, *_NOTHING)),
    Rule("reverse_prefix: an answer that the reference begins with is paid (`reference.startswith(answer)`)",
         "near_misses", ("beginning of the reference",), (*_EMPTY, *_NOTHING)),
    Rule("reverse_suffix: an answer that the reference ends with is paid (`reference.endswith(answer)`)",
         "near_misses", ("end of the reference",), (*_EMPTY, *_NOTHING)),
    Rule("no_answer_pays: a text that commits to no answer is paid",
         "empty_and_blank", ("no answer",), ("empty answer", "only in the prompt", "nothing on both sides", "words that hold letters", "unusable reference")),
    Rule("unreadable_answer_pays: an answer that cannot be read is paid as a match (what raises is taken for a yes)",
         "near_misses", ("unreadable answer",), ("unusable reference", *_EMPTY, *_SEVERAL, "program text", "negated", "range of values", "letter moved in", "fake verdict")),
    Rule("substring: the reference anywhere in the completion is paid (`reference in text`), whatever the final answer is",
         "list_of_candidates", ("mention in prose",), (MENTIONS, "unusable reference", "opposite sign", "another tail", "ten times as much", "a hundred times as much", "a hundredth", "digits repeated", "words that hold letters", "word that begins with the letter", "power of ten", "only in the prompt", "fake verdict")),
    Rule("any_answer: several answers are declared and any of them counts, so listing candidates is paid",
         "list_of_candidates", ("declared in the middle",), (MENTIONS,)),
    Rule("first_match: the first declared answer counts, not the last, so a later correction is ignored",
         "last_declared_answer", ("declared first",), (*_NEGATED, "only in the reasoning")),
    Rule("similarity: an answer with one other digit is paid (texts are compared by likeness)",
         "near_misses", ("one character off", "reference, then more"), ("digits permuted", "digits repeated", "beginning of the reference", "reference, then more", "more, then the reference", "another tail", "decimal point moved in", "opposite sign", "negated", "ten times as much", "a hundred times as much", "reference within", "a thousandth off", "letter moved in", "a hundred times as much", "a hundredth", "four percent off"), every=True),
    Rule("substring_in_answer: the reference within the answer is paid (`reference in answer`)",
         "list_of_candidates", ("reference within",),
         ("reference, then more", "more, then the reference", *_SEVERAL, "negated", "opposite sign", "another tail", "ten times as much", "a hundred times as much", "a hundredth", "digits repeated", "unusable reference")),
    Rule("substring_in_answer: the reference within the answer is paid (`reference in answer`)",
         "list_of_candidates", ("all options", "word that begins with the letter"),
         (*_SEVERAL, *_NEGATED, "words that hold letters", "unusable reference"), every=True),
    Rule("prefix_match: an answer that begins with the reference is paid (`answer.startswith(reference)`)",
         "near_misses", ("reference, then more",), ("another tail", "ten times as much", "a hundred times as much", "a hundredth", "digits repeated", "two answers with or", "unusable reference")),
    Rule("suffix_match: an answer that ends with the reference is paid (`answer.endswith(reference)`)",
         "near_misses", ("more, then the reference",), ("a hundredth", "negated", "opposite sign", "digits repeated", "unusable reference")),
    Rule("list_of_candidates: one answer that names several candidates or all options is paid",
         "list_of_candidates", _SEVERAL, (*_NEGATED, "unusable reference")),
    Rule("words_are_options: a letter of an ordinary word is read as an option",
         "words_are_not_options", ("words that hold letters", "word that begins with the letter"), ("negated", "wildcard", "special value")),
    Rule("negation_ignored: an answer that is denied or taken back is paid",
         "negation", ("negated, then another", "rejected after it was declared"), ("negated",)),
    Rule("answer_in_reasoning: an answer in the reasoning is paid although the final answer is another",
         "answer_only_in_reasoning", ("only in the reasoning",)),
    Rule("prompt_graded: an answer that stands in the prompt is paid (echo)",
         "echo", ("only in the prompt",)),
    Rule("unusable_reference_pays: a reference that is empty, missing or cannot be read is paid as a match",
         "unusable_reference", ("unusable reference",), ("nothing on both sides",)),
    Rule("failure_equals_failure: nothing extracted on both sides compares equal (None == None)",
         "failure_sentinels", ("nothing on both sides",)),
    Rule("empty_answer_pays: an empty or blank answer is paid",
         "empty_and_blank", ("empty answer",)),
    Rule("range_of_values: an answer that is a range is paid for every value in it",
         "near_misses", ("range of values",)),
    Rule("scale_ignored: a value times a hundred, or a hundredth of it, is paid (a percent sign that is not there)",
         "near_misses", ("a hundredth", "a hundred times as much"), ("decimal point moved in", "ten times as much", "a hundred times as much", "digits permuted"), every=True),
    Rule("punctuation_dropped: digits are compared without sign or decimal point",
         "near_misses", ("opposite sign", "decimal point moved in"), ("program text", "negated", "another tail", "power of ten", "a hundredth", "letter moved in"), every=True),
    Rule("letters_dropped: letters within a number are removed, so 4x2 is paid for 42",
         "near_misses", ("letter moved in",), ("negated", "program text")),
    Rule("sign_ignored: a value of opposite sign is paid (abs)", "near_misses", ("opposite sign",)),
    Rule("decimal_point_dropped: a decimal point is removed, so 4.2 is paid for 42",
         "near_misses", ("decimal point moved in",), ("a hundredth",)),
    Rule("tolerance_too_wide: a number near the reference is paid as equal",
         "near_misses", ("next number", "four percent off", "a thousandth off", "one character off"), ("another tail",)),
    Rule("truncation: the fraction of a number is cut off or rounded away, so 42.7 is paid for 42 (int)",
         "near_misses", ("another tail",)),
    Rule("characters_compared: the characters are compared as a set or a bag, order and repeats are lost",
         "near_misses", ("digits permuted", "digits repeated", "letters permuted"),
         ("digits permuted", "digits repeated", "letters permuted", "ten times as much", "a hundred times as much", "a hundredth", "reference within", "beginning of the reference", "end of the reference", "middle of the reference")),
    Rule("scale_ignored: a number times a power of ten is paid", "near_misses", ("ten times as much", "a hundred times as much", "a hundredth"), ("decimal point moved in",)),
    Rule("special_value: nan, inf, None, a wildcard or another special value is paid as a match",
         "near_misses", ("wildcard", "special value")),
    Rule("evaluates_text: text of the model is evaluated as a program (eval)",
         "verdict_channel", ("program text",)),
    Rule("injection: text beside a wrong answer that claims a verdict is paid",
         "injection", ("fake verdict",)),
    Rule("negation_ignored: an answer that is denied is paid", "negation", ("negated",), level=Level.MEASURED),
)  # fmt: skip
"""In the order of asking: what is more general comes first."""


def explain(paying: Collection[str], mentions: Mapping[str, bool]) -> list[Cause]:
    """Returns the causes behind the probes that pay, each probe under one cause.

    Args:
        paying: names of probes.
        mentions: by probe, whether the reference stands in its text.
    """
    left = set(paying)
    causes = []
    for rule in RULES:
        hits = [name for name in rule.trigger if name in left]
        if not hits or (rule.every and len(hits) < len(rule.trigger)):
            continue
        covered = set(rule.trigger) | {n for n in rule.explains if not n.startswith(("*", "@"))}
        if ALL in rule.explains:
            covered |= left
        if MENTIONS in rule.explains:
            covered |= {name for name in left if mentions.get(name)}
        symptoms = sorted((left & covered) - {hits[0]})
        causes.append(Cause(rule, hits[0], tuple(symptoms)))
        left -= covered
    return causes
