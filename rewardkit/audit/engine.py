"""One audit from end to end."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from rewardkit.audit._search import Limits
from rewardkit.audit.baseline import find_baseline
from rewardkit.audit.checks_answer import check_length, check_right_answers, check_tricks
from rewardkit.audit.checks_batch import check_batches, check_flakiness
from rewardkit.audit.checks_form import check_form
from rewardkit.audit.checks_hostile import check_bounds
from rewardkit.audit.checks_process import check_effects, check_places
from rewardkit.audit.checks_shape import (
    check_columns,
    check_contents,
    check_results,
    check_sizes,
    check_totality,
)
from rewardkit.audit.checks_task import check_task, find_task
from rewardkit.audit.context import SHAPES, Context
from rewardkit.audit.finding import Level
from rewardkit.audit.rates import measure_rates
from rewardkit.audit.report import AuditReport
from rewardkit.audit.session import Session
from rewardkit.audit.target import find_spec
from rewardkit.audit.tasks import TASKS
from rewardkit.audit.traits import Traits, read_traits
from rewardkit.errors import ConfigError
from rewardkit.testing.frames import FRAMES
from rewardkit.testing.strategies import Kind

__all__ = ["KINDS", "Profile", "audit_reward"]

Profile = Literal["fast", "deep"]

KINDS: dict[str, tuple[Kind, ...]] = {
    "auto": ("math", "choice", "text"),
    "math": ("math",),
    "choice": ("choice",),
    "text": ("text",),
    "format": (),
    "code": (),
    "sql": (),
    "prolog": (),
}
"""By name, the sorts of references that are tried in turn."""

_ALIASES = {
    "mcq": "choice", "multiple_choice": "choice", "multiple-choice": "choice", "mc": "choice",
    "qa": "text", "string": "text", "exact": "text", "kb": "text",
    "length": "format", "style": "format", "shape": "format", "shaping": "format", "other": "auto",
    "generic": "auto", "any": "auto", "numeric": "math", "number": "math", "gsm8k": "math",
    "python": "code", "judge": "text",
}  # fmt: skip


def audit_reward(
    reward: Any,
    *,
    kind: str = "auto",
    reference_column: str | None = None,
    traits: Traits | None = None,
    profile: Profile = "fast",
    timeout_s: float | None = None,
    memory_mb: int = 2048,
    on_step: Callable[[str], None] = lambda step: None,
) -> AuditReport:
    """Returns what is wrong with a reward, each fault once with its smallest input.

    Args:
        reward: `file.py:function`, `package.module:object`, or a function or object that can be
            imported by name.
        kind: what its references are: `auto`, `math`, `choice`, `text`, `code`, `sql`, `prolog`;
            `format` for a reward without any.
        reference_column: the argument with the references, where its name does not say so.
        traits: what the reward claims.
        profile: `fast` takes seconds, `deep` ten times as many cases.
        timeout_s: seconds that one call may take; by default 12, or 40 where it runs programs.
        memory_mb: private memory of the process that runs the reward.
        on_step: called with the name of each part as it begins.

    Raises:
        ConfigError: the reward cannot be loaded or called, or an option has no such value.
    """
    kind = _ALIASES.get(kind.lower(), kind.lower())
    if kind not in KINDS:
        raise ConfigError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
    if profile not in get_args(Profile):
        raise ConfigError(f"profile is one of {', '.join(get_args(Profile))}, not {profile!r}")
    started = time.monotonic()
    spec = find_spec(reward, reference_column)
    seconds = timeout_s or (40.0 if kind in TASKS else 12.0)
    with Session(spec, timeout_s=seconds, memory_mb=memory_mb) as session:
        on_step("loading")
        description = session.describe()
        context = Context(
            session,
            description,
            read_traits(description.name, description.documentation, traits or Traits()),
            Limits.of(profile),
            kind=kind,
        )
        _audit(context, on_step)
        return AuditReport.of(context, profile=profile, seconds=time.monotonic() - started)


def _audit(context: Context, on_step: Callable[[str], None]) -> None:
    session, plan = context.session, context.description.plan
    if not plan.certain:
        _settle_shape(context)
    on_step("the same row twice")
    steady = check_flakiness(context)
    on_step("what a right answer gets")
    if steady and plan.reference is not None and KINDS[context.kind]:
        context.baseline = find_baseline(session, context.description, KINDS[context.kind])
    found = None
    if steady and context.kind in TASKS:
        found = find_task(context)
        if found is None:
            context.notes.append(
                f"No right {context.kind} program was paid more than a wrong one, with any shape of "
                "reference that is known, so no trick was played. Is --reference-column right?"
            )
    if context.baseline is None and found is None:
        _settle_chat(context)
    on_step("shapes and types")
    for check in (check_sizes, check_results, check_columns):
        if steady or check is check_sizes:
            check(context)
    if not steady:
        return
    on_step("any text")
    check_totality(context)
    check_contents(context)
    on_step("batches")
    check_batches(context)
    on_step("processes and threads")
    check_effects(context)
    check_places(context)
    on_step("tricks")
    if context.baseline is not None:
        check_tricks(context)
        check_right_answers(context)
        check_length(context)
        context.rates = measure_rates(context)
    elif found is not None:
        check_task(context, *found)
    elif plan.reference is not None and KINDS[context.kind]:
        unknown = [n for n in plan.others if "ids" not in n and "token" not in n]
        if unknown:
            context.notes.append(
                f"No right answer was paid. It also reads {', '.join(unknown)}, of which nothing is "
                "known here, so no trick was played."
            )
        elif not any(f.level is Level.CONTRACT for f in context.findings):
            _never_paid(context)
    elif context.kind not in TASKS:
        check_form(context)
    on_step("time and memory")
    if found is None and context.checked.get("wall_bound") != "fails":
        check_bounds(context)
    _drop_echoes(context)


_REFUSALS = ("negative_refused", "large_number_refused", "whitespace", "negation_ignored")


def _drop_echoes(context: Context) -> None:
    """Makes notes of measured findings that another fault is the likelier reason of."""
    if not any(f.level is Level.CONTRACT for f in context.findings):
        return
    for finding in list(context.findings):
        slug = finding.root_cause.partition(":")[0]
        if finding.level is Level.MEASURED and slug in _REFUSALS:
            context.findings.remove(finding)
            context.notes.append(f"{finding.root_cause}. It may be the same fault once more.")


def _settle_shape(context: Context) -> None:
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


def _settle_chat(context: Context) -> None:
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


def _never_paid(context: Context) -> None:
    """No frame pays a right answer more than a wrong one: it is constant, or ignores the reference."""
    session = context.session
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
