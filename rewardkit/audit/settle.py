"""How a reward wants to be called, by trial; and why no right answer of it is paid."""

from collections.abc import Sequence

from rewardkit.audit.context import SHAPES, Context
from rewardkit.audit.finding import Level
from rewardkit.errors import ConfigError
from rewardkit.testing.frames import FRAMES

__all__ = ["say_why_never_paid", "settle_chat", "settle_shape"]


def settle_shape(context: Context) -> None:
    """Finds out by a trial call whether lists or single completions are taken."""
    session = context.session
    for batched in (context.description.plan.batched, not context.description.plan.batched):
        session.as_batches(batched=batched)
        rows = [session.case(text, "42") for text in SHAPES[:3]]
        result = session.score([rows])[0]
        if result.ok and not any(cell.wrong for cell in result.cells):
            break
    else:
        session.as_batches(batched=context.description.plan.batched)
    context.description = session.describe()


def settle_chat(context: Context) -> None:
    """Sends message lists to a reward that raises on every text and not on them."""
    session = context.session
    for reference in ("42", 42, ["42"]):
        for chat in (False, True):
            session.chat = chat
            rows = [session.case(text, reference) for text in SHAPES]
            results = session.score([[row] for row in rows])
            if any(r.ok for r in results):
                return
    session.chat = False
    problem = session.row(session.case(SHAPES[0], "42"))
    if problem.fate or problem.shape:
        return
    raise ConfigError(
        f"{session.spec.place}:{session.spec.name} cannot be called: it raises {problem.error}. "
        "Name its reference column with --reference-column, and its kind with --kind"
    )


def say_why_never_paid(context: Context) -> None:
    """No frame pays a right answer more than a wrong one: it is constant, or ignores the reference."""
    session = context.session
    if context.description.plan.prompt is not None and _kept_by_prompt(context):
        return
    pairs: Sequence[tuple[str, str]] = (("42", "42"), ("58", "42"), ("B", "B"), ("C", "B"))
    values: dict[str, list[float | None]] = {}
    for frame in FRAMES:
        values[frame.name] = [session.value(frame.fill(a), r) for a, r in pairs]
    blank = session.value("I do not know.", "42")
    known = [v for row in values.values() for v in row if v is not None]
    case = session.case(FRAMES[0].fill("42"), "42")
    if not known:
        context.notes.append("It gave no number for any right answer that was tried.")
        cause = "never_scores: no completion gets a number, right ones neither"
    elif len({*known, *([] if blank is None else [blank])}) == 1:
        cause = (
            f"constant: right, wrong and missing answers all get {known[0]:g} (a swallowed error, or "
            "an answer that is never found)"
        )
    elif blank is not None and max(known) > blank:
        cause = (
            "reference_ignored: the answer is not compared with the reference, any value in the "
            "right place is paid"
        )
        name = next(n for n, row in values.items() if max(known) in row)
        frame = next(f for f in FRAMES if f.name == name)
        case = session.case(frame.fill("58"), "42")
    else:
        cause = (
            "right_answer_refused: no right answer is worth more than a wrong one in any form tried"
        )
    context.add(
        "depends_on_the_answer", Level.CONTRACT, cause, [case], f"values {sorted(set(known))[:5]}"
    )


def _kept_by_prompt(context: Context) -> bool:
    """Returns whether right answers are paid to prompts that were never seen: it remembers prompts."""
    session = context.session
    for frame in FRAMES:
        right, wrong = frame.fill("42"), frame.fill("58")
        news = [f"A task with the name {frame.name}, {sort}." for sort in ("one", "two")]
        first = session.value(right, "42", news[0])
        other = session.value(wrong, "42", news[1])
        if first is None or other is None or first <= other + 1e-9:
            continue
        again = session.value(wrong, "42", news[0])
        if again is not None and again >= first - 1e-9:
            cases = [session.case(right, "42", news[0]), session.case(wrong, "42", news[0])]
            context.add(
                "no_state",
                Level.CONTRACT,
                "state: a value depends on earlier calls (it is kept under the prompt alone)",
                cases,
                f"{first:g} and then {again:g}; {other:g} under a prompt of its own",
                expect="scores[1] < scores[0]",
            )
            return True
    return False
