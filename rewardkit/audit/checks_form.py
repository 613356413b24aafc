"""A reward without a reference: it tells forms apart, and its form cannot be faked cheaply."""

import re

from rewardkit.audit._subject import Case
from rewardkit.audit.context import SHAPES, Context
from rewardkit.audit.finding import Level

__all__ = ["check_form"]

_TEXTS = (
    *SHAPES, "", " ", "I do not know.", "x" * 300, "word " * 1000, "a a a a a a a a a a",
    "<reasoning>\nA\n</reasoning>\n<answer>\n42\n</answer>", "# Title\n\n**bold**", "Yes! " * 4,
    '{"reasoning": "x", "answer": "y"}', "<think>a</think>", "Because of this, that follows.",
    "I think that, although it is late, we should go.", "Hello, world. How are you?", "1. a\n2. b",
    "Step 1: first we look, then we count, and finally we stop.",
)  # fmt: skip

_PAIRS = (
    ("<think>Let us see.</think><answer>42</answer>", "<think>Let us\nsee.</think><answer>4\n2</answer>"),
    ("<think>Let us see.</think>\n<answer>42</answer>", "<think>Let us\nsee.</think>\n<answer>4\n2</answer>"),
    ("<think>Let us see.</think> <answer>42</answer>", "<think>Let us\nsee.</think> <answer>4\n2</answer>"),
    ("<think>\nLet us see.\n</think>\n<answer>\n42\n</answer>", "<think>\nLet us\nsee.\n</think>\n<answer>\n4\n2\n</answer>"),
    ("<think>Let us see.</think>42", "<think>Let us\nsee.</think>4\n2"),
    ("<answer>42</answer>", "<answer>4\n2</answer>"),
    ("<reasoning>Let us see.</reasoning><answer>42</answer>", "<reasoning>Let us\nsee.</reasoning><answer>4\n2</answer>"),
)  # fmt: skip
"""A form on one line, and the same with line breaks inside its blocks."""

_BROKEN = {
    "duplicate_tags: a form with a block twice is paid like a clean one": (
        "{0}{0}", "{0}\n<answer>\n7\n</answer>", "{0}</answer>", "{0}\n<think>\nMore.\n</think>",
    ),
    "crossed_tags: closing tags before their opening ones are paid like a clean form": (
        "</think>{0}", "{1}",
    ),
}  # fmt: skip


def check_form(context: Context) -> None:
    """A form is told from another, and repeats, breaks and crossed tags are not paid."""
    session = context.session

    def value(text: str) -> float | None:
        return session.value(text, "42")

    spelled = context.description.literals
    looked_for = [*(f"So, {text} it is." for text in spelled), *spelled]
    values = {text: value(text) for text in (*_TEXTS, *looked_for)}
    known = [v for v in values.values() if v is not None]
    if (
        known
        and len(set(known)) == 1
        and len(known) > len(_TEXTS) // 2
        and not context.traits.group
    ):
        context.add(
            "depends_on_the_answer", Level.CONTRACT,
            "constant: every completion gets the same value, so nothing can be learned from it",
            [session.case(SHAPES[0], "42"), session.case("", "42")], f"always {known[0]:g}",
            expect="len(set(scores)) > 1",
        )  # fmt: skip
        return
    context.holds("depends_on_the_answer")
    if not known:
        return
    known = [v for text in _TEXTS if (v := values[text]) is not None]
    found = len(context.findings)
    _check_lines(context, max(0.25 * (max(known) - min(known)), 1e-6))
    known = [v for text in _TEXTS if (v := values[text]) is not None]
    best = max(known, default=0.0)
    clean = next((text for text in _TEXTS if values[text] == best), "")
    plain = [values[t] for t in ("Short.", "I do not know.", "Let us see. " * 30)]
    if len(context.findings) > found:
        return
    if _repeats_pay(context, values):
        return
    tagged = "<" in clean and all(v is not None and v < best for v in plain)
    if not tagged or context.traits.group:
        context.skips("duplicate_tags", "does not look at tags, or compares a group")
        return
    crossed = clean.replace("</", "\0").replace("<", "</").replace("\0", "<")
    looked_at = {
        tag: (value(re.sub(rf"</?{tag}>", "", clean)) or 0.0) < best for tag in ("think", "answer")
    }
    for cause, templates in _BROKEN.items():
        for template in templates:
            if any(f"{tag}>" in template and not looked_at[tag] for tag in looked_at):
                continue
            text = template.format(clean, crossed)
            got = value(text)
            if got is not None and got >= best - 1e-9:
                more = got > best + 1e-9
                context.add(
                    "duplicate_tags", Level.CONTRACT if more else Level.MEASURED,
                    "repetition_pays: repeating the form is worth more than the form once" if more else cause,
                    [session.case(text, "42")], f"{got:g}, and the clean form gets {best:g}",
                    expect=f"scores[0] < {best:g}",
                )  # fmt: skip
                return
    context.holds("duplicate_tags")


def _repeats_pay(context: Context, values: dict[str, float | None]) -> bool:
    """Returns whether the same words again are worth more, and more again."""
    session = context.session
    if context.traits.length_neutral is False or context.traits.group:
        return False
    least = min((v for v in values.values() if v is not None), default=0.0)
    for text, once in values.items():
        if once is None or once <= least + 1e-9 or not text.strip() or len(text) > 200:
            continue
        said = [" ".join([text] * times) for times in (3, 9)]
        thrice, often = (session.value(more, "42") for more in said)
        if thrice is None or often is None:
            continue
        if thrice >= once + 1.5 * (once - least) and often >= thrice + 3 * (once - least):
            context.add(
                "duplicate_tags", Level.CONTRACT,
                "repetition_pays: repeating the form is worth more than the form once",
                [session.case(said[0], "42")], f"{thrice:g}, {often:g} nine times over, and {once:g} once",
                expect=f"scores[0] <= {once:g}",
            )  # fmt: skip
            return True
    return False


def _check_lines(context: Context, least: float) -> None:
    session = context.session
    for one_line, lines in _PAIRS:
        first, second = session.value(one_line, "42"), session.value(lines, "42")
        none = session.value("I do not know.", "42") or 0.0
        if first is None or second is None:
            continue
        if first >= second + least and abs(second - none) < 1e-9:
            cases: list[Case] = [session.case(lines, "42")]
            context.add(
                "line_breaks", Level.DECLARED,
                "newline_in_tags: a line break inside of a block breaks the form (no DOTALL)",
                cases, f"{second:g}, and on one line {first:g}", expect=f"scores[0] >= {first:g}",
            )  # fmt: skip
            return
    context.holds("line_breaks")
