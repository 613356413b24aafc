"""One audit from end to end."""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, Literal, get_args

from hypothesis.database import DirectoryBasedExampleDatabase

from rewardkit.audit._search import Limits
from rewardkit.audit.baseline import find_baseline
from rewardkit.audit.checks_answer import check_length, check_right_answers, check_tricks
from rewardkit.audit.checks_batch import check_batches, check_flakiness
from rewardkit.audit.checks_form import check_form
from rewardkit.audit.checks_hostile import check_bounds
from rewardkit.audit.checks_judge import check_judge, find_style
from rewardkit.audit.checks_process import check_effects, check_places
from rewardkit.audit.checks_shape import (
    check_columns,
    check_contents,
    check_results,
    check_sizes,
    check_totality,
)
from rewardkit.audit.checks_task import check_task, find_task
from rewardkit.audit.context import Context
from rewardkit.audit.finding import Level
from rewardkit.audit.judge_server import JudgeServer
from rewardkit.audit.rates import measure_rates
from rewardkit.audit.report import AuditReport
from rewardkit.audit.session import Session
from rewardkit.audit.settle import say_why_never_paid, settle_chat, settle_shape
from rewardkit.audit.target import find_spec
from rewardkit.audit.tasks import TASKS
from rewardkit.audit.traits import Traits, read_traits
from rewardkit.errors import ConfigError
from rewardkit.testing.strategies import Kind

__all__ = ["KINDS", "Profile", "audit_reward"]

Profile = Literal["smoke", "fast", "deep"]

KINDS: dict[str, tuple[Kind, ...]] = {
    "auto": ("math", "choice", "text"),
    "math": ("math",),
    "choice": ("choice",),
    "text": ("text",),
    "format": (),
    "code": (),
    "sql": (),
    "prolog": (),
    "sparql": (),
    "lean": (),
    "dafny": (),
    "rocq": (),
    "judge": (),
}
"""By name, the sorts of references that are tried in turn."""

_ALIASES = {
    "mcq": "choice", "multiple_choice": "choice", "multiple-choice": "choice", "mc": "choice",
    "qa": "text", "string": "text", "exact": "text", "kb": "sparql",
    "length": "format", "style": "format", "shape": "format", "shaping": "format", "other": "auto",
    "generic": "auto", "any": "auto", "numeric": "math", "number": "math", "gsm8k": "math",
    "python": "code", "lean4": "lean", "coq": "rocq", "llm": "judge",
}  # fmt: skip


def audit_reward(
    reward: Any,
    *,
    kind: str = "auto",
    reference_column: str | None = None,
    traits: Traits | None = None,
    profile: Profile = "fast",
    timeout_s: float | None = None,
    memory_mb: int | None = None,
    database: str | os.PathLike[str] | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> AuditReport:
    """Returns what is wrong with a reward, each fault once with its smallest input.

    Args:
        reward: `file.py:function`, `package.module:object`, or a function or object that can be
            imported by name.
        kind: what its references are: `auto`, `math`, `choice`, `text`, `code`, `sql`, `prolog`,
            `sparql`, `lean`, `dafny`, `rocq`; `judge` for a reward that asks a language model; `format` for
            one without references.
        reference_column: the argument with the references, where its name does not say so.
        traits: what the reward claims.
        profile: `fast` takes seconds, `deep` ten times as many cases; `smoke` a fourth of them, for
            rewards that are audited at `fast` elsewhere.
        timeout_s: seconds that one call may take; by default 12, or 40 where it runs programs.
        memory_mb: private memory of the process that runs the reward, what it starts included; by
            default 2,048, or 8,192 where it checks proofs.
        database: a folder that keeps failing cases: those that are in it are tried first, whatever
            the profile. It may not exist yet.
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
    seconds = timeout_s or (40.0 if kind in TASKS or kind == "judge" else 12.0)
    memory = memory_mb or (8192 if kind in ("lean", "dafny", "rocq") else 2048)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(JudgeServer()) if kind == "judge" else None
        environment = {} if server is None else server.environment
        session = stack.enter_context(
            Session(spec, timeout_s=seconds, memory_mb=memory, environment=environment)
        )
        on_step("loading")
        description = session.describe()
        context = Context(
            session,
            description,
            read_traits(description.name, description.documentation, traits or Traits()),
            Limits.of(profile),
            kind=kind,
            database=None if database is None else _open_database(database),
        )
        _audit(context, server, on_step)
        return AuditReport.of(context, profile=profile, seconds=time.monotonic() - started)


def _open_database(folder: str | os.PathLike[str]) -> DirectoryBasedExampleDatabase:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{os.fspath(folder)}: no folder for failing cases: {error.strerror or error}"
        ) from None
    return DirectoryBasedExampleDatabase(folder)


def _audit(context: Context, server: JudgeServer | None, on_step: Callable[[str], None]) -> None:
    session, plan = context.session, context.description.plan
    if not plan.certain:
        settle_shape(context)
    style = None if server is None else find_style(context, server)
    if server is not None and style is None:
        context.notes.append(
            "No reply of a judge was read as a yes, so nothing was tried on it. Does the reward ask "
            "the server at OPENAI_BASE_URL, as it stands in the environment when it is loaded?"
        )
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
    if context.baseline is None and found is None and style is None:
        settle_chat(context)
    if steady:
        _check_always(context, on_step)
    else:
        check_sizes(context)
        return
    on_step("tricks")
    if context.baseline is not None:
        check_tricks(context)
        check_right_answers(context)
        check_length(context)
        context.rates = measure_rates(context)
    elif found is not None:
        check_task(context, *found)
    elif server is not None and style is not None:
        check_judge(context, server, style)
    elif plan.reference is not None and KINDS[context.kind]:
        _check_unpaid(context)
    elif context.kind not in TASKS:
        check_form(context)
    on_step("time and memory")
    if found is None and context.checked.get("wall_bound") != "fails":
        check_bounds(context)
    _drop_echoes(context)


def _check_always(context: Context, on_step: Callable[[str], None]) -> None:
    """Runs what holds for every reward, whatever it grades."""
    on_step("shapes and types")
    for check in (check_sizes, check_results, check_columns):
        check(context)
    on_step("any text")
    check_totality(context)
    check_contents(context)
    on_step("batches")
    check_batches(context)
    on_step("processes and threads")
    check_effects(context)
    check_places(context)


def _check_unpaid(context: Context) -> None:
    """No right answer was paid: says why, unless a fault says it already."""
    unknown = [n for n in context.description.plan.others if "ids" not in n and "token" not in n]
    if unknown:
        context.notes.append(
            f"No right answer was paid. It also reads {', '.join(unknown)}, of which nothing is "
            "known here, so no trick was played."
        )
    elif not any(f.level is Level.CONTRACT for f in context.findings):
        say_why_never_paid(context)


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
