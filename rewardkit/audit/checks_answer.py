"""A reward that grades answers: no trick is paid, and a right answer is."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from rewardkit.audit._subject import Case
from rewardkit.audit.baseline import Baseline
from rewardkit.audit.context import Context
from rewardkit.audit.finding import Level
from rewardkit.audit.probes import PROBES, Attempt, Probe
from rewardkit.audit.rules import explain
from rewardkit.testing.strategies import LETTERS, WORDS

__all__ = ["check_length", "check_right_answers", "check_tricks"]

_TOLERANT = ("next number", "four percent off", "another tail")


def check_tricks(context: Context) -> None:
    """Plays every trick, and says which faults are behind those that pay."""
    base = _base(context)
    paid: dict[str, tuple[Attempt, float]] = {}
    for probe in PROBES:
        if base.kind not in probe.kinds:
            continue
        if probe.name == "only in the prompt" and context.description.plan.prompt is None:
            continue
        if probe.name in _TOLERANT and _is_tolerant(context):
            continue
        if probe.name == "declared first" and context.traits.first_answer:
            continue
        attempt = _play(context, base, probe)
        if attempt is not None and not _pays_anyway(context, base, probe, attempt):
            paid[probe.name] = (attempt, base.share(_value(context, base, probe, attempt)))
    if base.kind == "math" and len(base.paying) > 15:
        paid.pop("negated", None)  # the last number of any text counts: "not 12" commits to 12
    mentions = {probe.name: probe.mentions for probe in PROBES}
    for cause in explain(paid, mentions):
        attempt, gain = paid[cause.main]
        probe = next(p for p in PROBES if p.name == cause.main)
        case = _case(context, base, probe, attempt)
        value = base.wrong + gain * (base.right - base.wrong)
        context.add(
            cause.rule.property,
            cause.rule.level,
            cause.rule.cause,
            [case],
            f"paid {value:g}, where a right answer gets {base.right:g} and a wrong one {base.wrong:g}",
            expect=f"scores[0] is None or scores[0] < {base.wrong + probe.share * (base.right - base.wrong):g}",
            symptoms=cause.symptoms,
            gain=round(gain, 4),
        )
    for name in ("near_misses", "empty_and_blank", "list_of_candidates", "last_declared_answer",
                 "negation", "answer_only_in_reasoning", "unusable_reference", "failure_sentinels",
                 "injection", "verdict_channel"):  # fmt: skip
        context.holds(name)


def _base(context: Context) -> Baseline:
    if context.baseline is None:
        raise AssertionError("tricks are played once it is known what a right answer gets")
    return context.baseline


def _is_tolerant(context: Context) -> bool:
    text = context.description.documentation.lower()
    return any(
        word in text for word in ("toleran", "relaxed", "close to", "approximat", "percent", "%")
    )


def _case(context: Context, base: Baseline, probe: Probe, attempt: Attempt) -> Case:
    reference = attempt.reference if probe.unusable else base.reference(attempt.reference)
    return context.session.case(attempt.text, reference, attempt.prompt)


def _value(context: Context, base: Baseline, probe: Probe, attempt: Attempt) -> float | None:
    result = context.session.row(_case(context, base, probe, attempt))
    return result.cells[0].value if result.ok and result.cells[0].finite else None


def _pays_anyway(context: Context, base: Baseline, probe: Probe, attempt: Attempt) -> bool:
    """Returns whether the text is paid without its mention of the reference too: for its length."""
    reference = attempt.reference
    if not probe.mentions or not isinstance(reference, str) or base.kind != "math":
        return False
    other = "".join(str((int(c) + 3) % 10) if c.isdigit() else c for c in reference)
    text = attempt.text.replace(reference, other)
    value = _value(context, base, probe, Attempt(reference, text, attempt.prompt))
    return base.share(value) >= probe.share


def _play(context: Context, base: Baseline, probe: Probe) -> Attempt | None:
    def pays(attempts: Sequence[Attempt]) -> list[bool]:
        results = context.session.rows([_case(context, base, probe, a) for a in attempts])
        return [
            base.share(r.cells[0].value) >= probe.share if r.ok and r.cells[0].finite else False
            for r in results
        ]

    found = context.search(
        probe.name,
        probe.build(base.frame, base.kind),
        pays,
        times=probe.examples,
        make=lambda data: Attempt(*data),
        always=probe.always(base.frame, base.kind),
    )
    context.attempts[probe.name] = (found.hits, found.tried)
    return found.example


def check_right_answers(context: Context) -> None:
    """The reference itself, where answers are paid, is paid."""
    base = _base(context)
    plain: Any = st.sampled_from(LETTERS if base.kind == "choice" else WORDS)
    if base.kind == "math":
        plain = st.integers(0, 999).map(str) | st.sampled_from(["0", "1", "7", "10", "100"])

    def refused(answer: str) -> bool:
        return _share(context, base, answer, answer) < 0.5

    def all_refused(answers: Sequence[str]) -> list[bool]:
        return [refused(answer) for answer in answers]

    found = context.search("right answers", plain, all_refused, times=2)
    if found.example is not None:
        zero = found.example == "0" and not refused("7") and not refused("100")
        cause = (
            "zero_refused: the reference 0 is taken for a missing one (a falsy value), so the right answer 0 is refused"
            if zero
            else "right_answer_refused: an answer that is the reference letter by letter is refused"
        )
        _add_refusal(
            context, "spelling_of_equal_values", Level.CONTRACT, cause, found.example, found.example
        )
    boxed = base.kind == "math" and base.frame.opening.endswith("{") and not _found_faults(context)
    # Whoever reads numbers only may refuse both.
    if boxed and refused("\\frac{1}{2}") and not refused("n + 1"):
        context.notes.append(
            "It pays texts such as n + 1, and refuses \\frac{1}{2} where that is the reference: its "
            "box ends at the first closing brace."
        )
    if base.kind == "math" and not _found_faults(context):
        for answer, cause in (
            (
                "-17",
                "negative_refused: a negative number that is the reference letter by letter is refused",
            ),
            (
                "1234567",
                "large_number_refused: a long number that is the reference letter by letter is refused",
            ),
        ):
            if refused(answer):
                _add_refusal(
                    context, "spelling_of_equal_values", Level.MEASURED, cause, answer, answer
                )
    good = "B" if base.kind == "choice" else "Paris" if base.kind == "text" else "137"
    for written in () if _found_faults(context) else (f" {good}", f"{good} ", f" {good} "):
        if _share(context, base, good, written) < 0.5:
            _add_refusal(
                context,
                "whitespace",
                Level.MEASURED,
                "whitespace: a space around the answer makes a right one wrong",
                good,
                written,
            )
            break
    context.holds("spelling_of_equal_values")
    context.holds("whitespace")


def _found_faults(context: Context) -> bool:
    # With a fault at work, a refusal of one spelling is most often the same fault once more.
    return any(finding.level is Level.CONTRACT for finding in context.findings)


def _share(context: Context, base: Baseline, reference: str, answer: str) -> float:
    return base.share(context.session.value(base.frame.fill(answer), base.reference(reference)))


def _add_refusal(
    context: Context, name: str, level: Level, cause: str, reference: str, answer: str
) -> None:
    base = _base(context)
    case = context.session.case(base.frame.fill(answer), base.reference(reference))
    value = context.session.value(base.frame.fill(answer), base.reference(reference))
    context.add(
        name,
        level,
        cause,
        [case],
        f"{'refused with' if value is not None else 'no score:'} {value}, where right answers get {base.right:g}",
        expect=f"scores[0] >= {(base.right + base.wrong) / 2:g}",
    )


_FILLER = "We look at the next step and check it with care before we go on to the one after it. "


def check_length(context: Context) -> None:
    """Padding never makes a wrong answer worth a right one, and never hides a right one."""
    base, session = _base(context), context.session
    reference, wrong = (
        ("B", "C")
        if base.kind == "choice"
        else ("Paris", "Oslo")
        if base.kind == "text"
        else ("137", "286")
    )
    by_length = context.traits.length_neutral is False

    def value(answer: str, pads: int) -> float | None:
        frame = base.frame
        inside = frame.before.replace("</think>", f"{_FILLER * pads}\n</think>")
        before = inside if inside != frame.before else f"{frame.before}{_FILLER * pads}\n"
        if not frame.before and pads and frame.name.startswith("JSON"):
            return None
        return session.value(
            f"{before}{frame.declare(answer)}{frame.after}", base.reference(reference)
        )

    short_right, short_wrong = value(reference, 0), value(wrong, 0)
    gap = base.right - base.wrong
    for pads in (1, 5, 20, 80, 400):
        right, bad = value(reference, pads), value(wrong, pads)
        if right is None or bad is None or short_right is None or short_wrong is None:
            continue
        if bad >= min(short_right, base.right) - 1e-9:
            _add_length(context, "right_beats_wrong", Level.CONTRACT,
                        "long_wrong_beats_right: a wrong answer that is long enough is worth a right one",
                        wrong, reference, pads, bad)  # fmt: skip
            return
        if right <= max(short_wrong, base.wrong) + 1e-9:
            seen = abs(right - bad) > 0.05 * gap
            if not seen and (pads > 80 or by_length):
                continue  # an answer past a limit on length
            cause = (
                "long_right_below_wrong: a right answer that is long is worth less than a short wrong one"
                if seen
                else "window: a right answer after a long text is not seen (only a part of the completion is read)"
            )
            _add_length(context, "right_beats_wrong" if seen else "window_safety", Level.CONTRACT,
                        cause, reference, reference, pads, right)  # fmt: skip
            return
        grows = max(bad - short_wrong, right - short_right)
        if (
            grows > 0.05 * gap
            and not by_length
            and context.checked.get("declared_range") != "fails"
        ):
            _add_length(context, "length_neutrality", Level.DECLARED,
                        "length_pays: the same answer is worth more in a longer completion, which is claimed nowhere",
                        wrong if bad - short_wrong >= grows else reference, reference, pads, max(bad, right))  # fmt: skip
            return
    for name in ("right_beats_wrong", "window_safety", "length_neutrality"):
        context.holds(name)


def _add_length(context: Context, name: str, level: Level, cause: str, answer: str,
                reference: str, pads: int, value: float) -> None:  # fmt: skip
    base = _base(context)
    text = f"{base.frame.before}{_FILLER * pads}\n{base.frame.declare(answer)}{base.frame.after}"
    case = context.session.case(text, base.reference(reference))
    expect = (
        f"scores[0] > {base.wrong:g}"
        if answer == reference and name != "length_neutrality"
        else f"scores[0] < {max(value, base.wrong + 1e-6):g}"
    )
    context.add(name, level, cause, [case],
                f"{value:g} with {len(text):,} characters; short, right is {base.right:g} and wrong {base.wrong:g}",
                expect=expect)  # fmt: skip
