"""Grades one query against one prepared reference; runs in a worker."""

from collections.abc import Sequence
from dataclasses import replace

from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.sql._advice import Advice, consult
from rewardkit.verifiers.sql._cost import measure_costs
from rewardkit.verifiers.sql._dialects import route, translate_query
from rewardkit.verifiers.sql._engines.base import QueryError
from rewardkit.verifiers.sql._guard import Query, parse_query
from rewardkit.verifiers.sql._partial import Credit, credit, efficiency
from rewardkit.verifiers.sql._prepare import Prepared, forget, prepare
from rewardkit.verifiers.sql._reasons import REASONS, one_line, verdict_of
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql._signals import find_signals
from rewardkit.verifiers.sql._steps import Attempt, step_verdicts
from rewardkit.verifiers.sql._subtasks import subtask_similarity
from rewardkit.verifiers.sql._trial import Failure, Trial
from rewardkit.verifiers.sql._witness import find_witness
from rewardkit.verifiers.sql.compat import RULES
from rewardkit.verifiers.sql.reference import Task

__all__ = ["check", "grade"]

_UNPAID = (
    *("unsafe", "several_statements", "timeout", "memory", "row_cap", "syntax", "too_big"),
    "engine_crash",
)
_CHEATS = {"constants_only", "catalogue_read"}
_ENDINGS = ("timeout", "memory", "row_cap", "unsafe", "engine_crash")
"""Failures that are named as they are, whatever database they are met on."""


def check(task: Task, settings: Settings) -> list[str]:
    """Returns warnings on a reference.

    Raises:
        QueryError: it cannot be used.
    """
    prepared = prepare(task, settings)
    warnings = []
    strength = prepared.strength
    if prepared.references and not _gives_rows(prepared):
        warnings.append("the reference gives no rows on any database: every verdict abstains")
    elif not all(e.result.rows for e in prepared.given.expected if e is not None):
        warnings.append("the reference gives no rows on the given data")
    if prepared.references and prepared.backwards is None and prepared.way.target == "sqlite":
        warnings.append("the reference gives other rows when the table is stored in another order")
    if strength.mutants and strength.score < 0.5:
        warnings.append(
            f"the databases tell it from only {strength.killed} of {strength.mutants} mutants"
        )
    if not prepared.generated and prepared.references and settings.databases:
        warnings.append("no database can be generated: only the given rows decide")
    return warnings


def grade(task: Task, sql: str, settings: Settings) -> Verdict:
    """Returns the verdict on one query. `answer` and `seconds` are the caller's to fill."""
    way = route(task)
    try:
        query = translate_query(parse_query(sql, way.source, way.own_guard), way)
    except QueryError as error:
        signals = ["catalogue_read"] if "catalogue" in error.message else []
        return verdict_of(error.kind, "guard", error.message, signals=signals)
    try:
        prepared = prepare(task, settings)
    except QueryError as error:
        return verdict_of("reference_fails", "reference", error.message, score=None)
    if settings.compat is not None:
        return _by_rule(prepared, query, settings, settings.compat)
    schema = prepared.engine.schema
    reads = prepared.reads
    signals = find_signals(query, schema, reads)
    if not prepared.references and "constants_only" in signals:
        return verdict_of("constants_only", "guard", "no table is read", signals=signals)
    trial = Trial(prepared, query, settings)
    failure = trial.failure()
    if trial.tables is not None and reads is not None and reads.tables - trial.tables:
        # The engine knows better what is read: a table may be named and never looked at.
        signals = list(dict.fromkeys([*signals, "table_not_read"]))
    advice = Advice()
    if failure is None and settings.prover is not None and trial.tier != "same query":
        advice = consult(trial, settings.prover)
        failure = advice.failure
    if failure is None:
        return _with_steps(_passed(trial, signals, advice), trial, sql, None)
    if failure.why in ("memory", "engine_crash"):
        forget()  # what it left behind in the engine must not meet the next query
    if failure.why == "engine":
        return verdict_of("engine", trial.tier, failure.detail, score=None)
    attempt = _attempt(trial, failure, signals)
    return _with_steps(_failed(trial, failure, signals, attempt), trial, sql, attempt)


def _attempt(trial: Trial, failure: Failure, signals: Sequence[str]) -> Attempt | None:
    """Returns the parts of a wrong query, or None where no part of it is worth a look."""
    settings, tree = trial.settings, trial.query.tree
    if tree is None or failure.why in _UNPAID or _CHEATS & set(signals):
        return None
    if settings.partial <= 0 and not settings.steps:
        return None
    return Attempt.make(trial.prepared, tree, timeout_s=settings.timeout_s, failed=failure.bench)


def _with_steps(verdict: Verdict, trial: Trial, sql: str, attempt: Attempt | None) -> Verdict:
    tree, settings = trial.query.tree, trial.settings
    if not settings.steps or tree is None or verdict.abstained:
        return verdict
    if attempt is None:
        if not verdict.passed:
            return verdict
        attempt = Attempt(trial.prepared, tree, settings.timeout_s)
    steps = step_verdicts(
        attempt, sql, trial.prepared.way.source, passed=verdict.passed, most=settings.partial
    )
    return replace(verdict, steps=steps)


def _by_rule(prepared: Prepared, query: Query, settings: Settings, rule: str) -> Verdict:
    """Returns what a published rule says on the given rows; the guard stays."""
    expected = prepared.given.expected[0]
    if expected is None:
        return verdict_of("reference_fails", "reference", "it gives nothing", score=None)
    try:
        found = prepared.given.store.run(query.sql, settings.limits(steps=settings.max_steps))
    except QueryError as error:
        return replace(verdict_of(error.kind, rule, error.message), parts={"ran": 0.0})
    costs = None
    if rule == "r_ves":
        costs = measure_costs(prepared, query, settings, steps=found.steps)
    ratio = 1.0 if costs is None else costs.ratio
    text = prepared.references[0].sql if prepared.references else ""
    value = RULES[rule](found.rows, expected.result.rows, text, ratio)
    most = 1.25 if rule == "r_ves" else 1.0
    reason = Reason.MATCH if value == most else Reason.PARTIAL if value else Reason.MISMATCH
    return Verdict(
        value / most,
        reason,
        detail=f"{rule}: {value:.4g}",
        parts={"ran": 1.0, "reward": value},
        evidence={"tier": rule},
    )


def _gives_rows(prepared: Prepared) -> bool:
    return any(
        e.result.rows
        for bench in (prepared.given, *prepared.generated)
        for e in bench.expected
        if e is not None
    )


def _passed(trial: Trial, signals: Sequence[str], advice: Advice) -> Verdict:
    prepared, tier = trial.prepared, trial.tier
    same = tier == "same query"
    if prepared.references and not same and not _gives_rows(prepared):
        detail = "the reference gives no rows, nor does any generated database make it give some"
        return verdict_of("reference_empty", tier, detail, score=None, signals=signals)
    strength = prepared.strength
    parts = {"correct": 1.0}
    if strength.mutants:
        killed = strength.by_given if tier == "given rows" else strength.killed
        parts["confidence"] = 1.0 if same else round(killed / strength.mutants, 4)
    if advice.proved:
        parts["confidence"] = 1.0
    evidence = _evidence(trial, signals)
    if advice.evidence:
        evidence["prover"] = advice.evidence
    costs = None
    if trial.settings.efficiency:
        costs = measure_costs(prepared, trial.query, trial.settings, steps=trial.steps)
    if costs is not None:
        parts["efficiency"] = efficiency(costs.ratio)
        evidence["cost"] = {
            "prediction": costs.prediction, "reference": costs.reference, "unit": costs.unit,
        }  # fmt: skip
    return Verdict(
        1.0,
        Reason.MATCH,
        detail=f"{tier}: agrees on {trial.ran} database{'s' * (trial.ran > 1)}",
        parts=parts,
        evidence=evidence,
    )


def _evidence(trial: Trial, signals: Sequence[str]) -> dict[str, Json]:
    prepared, strength = trial.prepared, trial.prepared.strength
    evidence: dict[str, Json] = {"tier": trial.tier, "databases": trial.ran}
    if strength.mutants:
        evidence["strength"] = {
            "mutants": strength.mutants,
            "killed": strength.killed,
            "killed_by_given_rows": strength.by_given,
        }
    if trial.steps:
        evidence["steps"] = {"prediction": trial.steps, "reference": prepared.steps}
    if prepared.way.transpiled:
        evidence["transpiled"] = f"{prepared.way.source} to {prepared.way.target}"
    if signals:
        evidence["signals"] = list(signals)
    return evidence


def _failed(trial: Trial, failure: Failure, signals: list[str], attempt: Attempt | None) -> Verdict:
    why = failure.why
    if why == "non_deterministic" and why not in signals:
        signals = [*signals, why]
    if why == "unsafe" and ("sqlite_" in failure.detail or "pragma_" in failure.detail):
        signals = [*signals, "catalogue_read"]
    evidence = _evidence(trial, signals)
    if failure.bench.data is not None and why not in _ENDINGS:
        why = "coincidental"
        evidence |= {"difference": failure.why, "database": failure.bench.name}
        evidence |= find_witness(trial.prepared, trial.query, failure.bench.data, trial.limits)
    evidence["why"] = why
    paid = _pay(trial, failure, attempt)
    return Verdict(
        paid.score,
        Reason.PARTIAL if paid.score > 0 else REASONS[why],
        detail=one_line(trial.tier, why, failure.detail),
        parts=paid.parts,
        evidence=evidence,
    )


def _pay(trial: Trial, failure: Failure, attempt: Attempt | None) -> Credit:
    most, prepared = trial.settings.partial, trial.prepared
    if most <= 0 or attempt is None:
        return Credit(0.0, {})
    reference = prepared.references[0].tree if prepared.references else None
    schema, tree = prepared.engine.schema, attempt.tree
    return credit(
        tree,
        reference,
        schema,
        failure.bench.expected[0] if failure.bench.expected else None,
        failure.found,
        subtasks=0.0
        if reference is None
        else subtask_similarity(tree, reference, schema, attained=attempt.pairs),
        most=most,
    )
