"""MathVerifier: is the final answer of a completion the reference?"""

import importlib.util
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from rewardkit.answer import AnswerPolicy, AnswerSpan, extract_answer
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.runtime import Outcome, OutcomeStatus, WorkerPool, verify_rows
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts
from rewardkit.verifiers.math._decision import Tolerance
from rewardkit.verifiers.math._judge import judge
from rewardkit.verifiers.math._nodes import Labelled, Seq
from rewardkit.verifiers.math._reference import MathReference, compile_reference
from rewardkit.verifiers.math._symbolic import decide

__all__ = ["MathVerifier"]

_POLICIES = {"strict": AnswerPolicy(), "lenient": AnswerPolicy(last_expression=True)}
_MAX_SHOWN = 2_000
_LABEL = re.compile(r"\s*(?:\\text\s*\{\s*)?\(\w{1,4}\)")
_TASK_CHARS = 4_000
_ENGINE_SHARE = 0.4
"""The last tier's share of `timeout_s`; the rest is for starting its worker."""
_NEXT_TO_LAST = "numeric"
"""The tier after which only the last one is left."""
_INLINE_S = 0.5
"""About what it costs to start the workers of a batch."""


class MathVerifier(Verifier):
    r"""Grades the final answer of a completion against a reference answer.

    Tiers run from the cheapest to the dearest, and the first that decides ends it: the same text;
    exact numbers; structures (tuples, sets, intervals, matrices, relations, units, …) element by
    element; algebra by fingerprints and high-precision values; sympy and math-verify in a killable
    worker. The tier is in `verdict.evidence["tier"]` and begins `verdict.detail`.

    Args:
        mode: "strict" for training: a box, an `Answer:` line or "the answer is …" is needed.
            "lenient" for evaluation: else the last value of a finished last sentence is taken.
        policy: where an answer may stand; overrides what `mode` says of it.
        decimal_comma: read `3,5` as 3.5 and `1.234` as 1234 in answers. Without it a decimal comma
            is accepted where the reference is a decimal and nothing else fits.
        significant_figures: accept values within half a unit of this significant figure, at least
            1. None: an exact reference needs an exact answer or six correct figures, a decimal one
            its own digits.
        symbolic: use the last tier; without it, or without `rewardkit[math]`, what the others
            cannot decide is an abstention.
        timeout_s: seconds for one answer, above 0. The last tier may use two fifths of it, then
            its worker is killed. The other tiers are bounded by counting their work, not by a
            clock.
        workers: processes of `verify_batch`; None for one per core.

    Raises:
        ConfigError: an option is outside its values.

    >>> MathVerifier().verify(r"… so \boxed{\frac12}", "0.5").detail
    'exact: equal rational numbers'

    """

    name = "math"

    def __init__(
        self,
        *,
        mode: Literal["strict", "lenient"] = "strict",
        policy: AnswerPolicy | None = None,
        decimal_comma: bool = False,
        significant_figures: int | None = None,
        symbolic: bool = True,
        timeout_s: float = 2.0,
        workers: int | None = None,
    ) -> None:
        if mode not in _POLICIES:
            raise ConfigError(f"mode is 'strict' or 'lenient', not {mode!r}")
        if significant_figures is not None and significant_figures < 1:
            raise ConfigError(f"significant_figures is at least 1, not {significant_figures!r}")
        if not timeout_s > 0:
            raise ConfigError(f"timeout_s is above 0, not {timeout_s!r}")
        self.mode = mode
        self.policy = policy or _POLICIES[mode]
        self.decimal_comma = decimal_comma
        self.symbolic = symbolic
        self.timeout_s = timeout_s
        self._tolerance = Tolerance(significant_figures=significant_figures)
        self._rows = WorkerPool(workers=workers)
        preload = [name for name in ("sympy", "math_verify") if importlib.util.find_spec(name)]
        self._engine = WorkerPool(workers=workers, memory_mb=2048, max_tasks=500, preload=preload)

    def compile_reference(self, reference: Json) -> MathReference:
        """Returns the reference as this verifier reads it; equal ones are compiled once.

        Raises:
            InvalidReferenceError: it cannot be read.
        """
        return compile_reference(reference, tolerance=self._tolerance)

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns what to know before training on a reference.

        How it is read where that is not plain.

        Raises:
            InvalidReferenceError: it cannot be read.
        """
        return list(self.compile_reference(reference).warnings)

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        r"""Returns the verdict on one completion.

        Args:
            completion: anything at all.
            reference: the final answer, as text (LaTeX or plain) or a number. Of a worked solution,
                what follows `####` or stands in the last `\boxed{…}` is taken.
            context: `prompt`, if given, is where a restated task is looked for.

        Raises:
            InvalidReferenceError: the reference is empty, not finite, or of another type.
        """
        started = time.perf_counter()
        compiled = self.compile_reference(reference)
        if compiled.open:
            self._warm()
        verdict = self._grade(completion_text(completion), compiled, context.get("prompt"), started)
        if verdict.evidence.get("tier") == _NEXT_TO_LAST:
            self._warm()
        if not self._needs_engine(verdict):
            return verdict
        outcome = self._engine.call(
            decide, compiled.text, verdict.answer, timeout_s=self.timeout_s * _ENGINE_SHARE
        )
        return replace(_settled(verdict, outcome), seconds=time.perf_counter() - started)

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, in order; equal rows are graded once, on all cores.

        Raises:
            InvalidReferenceError: a reference cannot be read.
            ConfigError: a column has another length.
        """
        check_batch(completions, references, columns)
        contexts = row_contexts(
            len(completions), {k: v for k, v in columns.items() if k == "prompt"}
        )
        texts = [completion_text(c) for c in completions]
        compiled = [self.compile_reference(r) for r in references]
        if any(reference.open for reference in compiled):
            self._warm()
        keys = [
            (text, reference.text, completion_text(c.get("prompt")))
            for text, reference, c in zip(texts, compiled, contexts, strict=True)
        ]
        rows = list(dict.fromkeys(keys))
        verdicts = verify_rows(
            self._without_engine(),
            [text for text, _, _ in rows],
            [reference for _, reference, _ in rows],
            [{"prompt": prompt} if prompt else {} for _, _, prompt in rows],
            pool=self._rows,
            row_timeout_s=30.0,
            inline_rows=128,
            inline_s=_INLINE_S,
        )
        graded = dict(zip(rows, self._settle(rows, verdicts), strict=True))
        return [graded[key] for key in keys]

    def close(self) -> None:
        """Stops the workers. They start again at the next need."""
        self._rows.close()
        self._engine.close()

    def _without_engine(self) -> "MathVerifier":
        if not self.symbolic:
            return self
        return MathVerifier(
            policy=self.policy,
            decimal_comma=self.decimal_comma,
            significant_figures=self._tolerance.significant_figures,
            symbolic=False,
            workers=1,
        )

    def _settle(
        self, rows: Sequence[tuple[str, str, str]], verdicts: Sequence[Verdict]
    ) -> list[Verdict]:
        """Returns the verdicts with those that no other tier could decide put to the last one."""
        open_rows = [i for i, verdict in enumerate(verdicts) if self._needs_engine(verdict)]
        outcomes = self._engine.map(
            _decide_pair,
            [(rows[i][1], verdicts[i].answer or "") for i in open_rows],
            timeout_s=self.timeout_s * _ENGINE_SHARE,
        )
        settled = list(verdicts)
        for index, outcome in zip(open_rows, outcomes, strict=True):
            settled[index] = _settled(verdicts[index], outcome)
        return settled

    def _warm(self) -> None:
        """Has the last tier's modules imported in the background: soon an answer may need them."""
        if self.symbolic and _installed():
            self._engine.warm()

    def _needs_engine(self, verdict: Verdict) -> bool:
        return (
            self.symbolic
            and verdict.evidence.get("open") is True
            and verdict.answer is not None
            and len(verdict.answer) < _MAX_SHOWN
        )

    def _all_match(self, rivals: Sequence[str], reference: MathReference) -> bool:
        """Returns True if competing answers are all right: one answer, spelled twice."""
        return all(
            judge(reference, rival, decimal_comma=self.decimal_comma).decision for rival in rivals
        )

    def _grade(
        self, text: str, reference: MathReference, prompt: Completion, started: float
    ) -> Verdict:
        span = extract_answer(text, self.policy)
        answer = (
            _joined_parts(span, reference) if len(span.rivals) == reference.arity > 1 else span.text
        )
        if answer is None and span.contested and self._all_match(span.rivals, reference):
            answer = span.rivals[-1]
        if answer is None:
            reason = span.reason or Reason.NO_ANSWER
            return Verdict(
                0.0,
                reason,
                detail=f"extraction: {span.detail}",
                evidence={"tier": "extraction"},
                seconds=time.perf_counter() - started,
            )
        task = text[max(0, span.start - _TASK_CHARS) : span.start]
        if prompt is not None:
            task = f"{completion_text(prompt)[-_TASK_CHARS:]}\n{task}"
        found = judge(reference, answer, decimal_comma=self.decimal_comma, task=task)
        decision = found.decision
        evidence: dict[str, Json] = {"tier": decision.tier, "marker": span.marker}
        if found.open and decision.same is None:
            evidence["open"] = True
        if answer == span.text:
            evidence["span"] = [span.start, span.end]
        return Verdict(
            None if decision.same is None else float(decision.same),
            found.reason,
            answer=answer if len(answer) <= _MAX_SHOWN else answer[:_MAX_SHOWN] + "…",
            detail=f"{decision.tier}: {decision.why}" if decision.why else decision.tier,
            evidence=evidence,
            seconds=time.perf_counter() - started,
        )


def _joined_parts(span: AnswerSpan, reference: MathReference) -> str:
    """Returns one answer of several boxes, where several parts were asked for."""
    parts = [part.strip().strip("$") for part in span.rivals]
    node = reference.readings[0] if reference.readings else None
    if isinstance(node, Labelled):
        return ", ".join(
            part if _has_label(part) else f"({label}) {part}"
            for (label, _), part in zip(node.items, parts, strict=True)
        )
    joined = ", ".join(parts)
    return (
        f"{node.opening}{joined}{node.closing}"
        if isinstance(node, Seq) and node.opening in ("(", "[")
        else joined
    )


def _has_label(part: str) -> bool:
    return bool(_LABEL.match(part))


def _decide_pair(pair: tuple[str, str]) -> tuple[bool | None, str]:
    return decide(*pair)


def _settled(verdict: Verdict, outcome: Outcome[tuple[bool | None, str]]) -> Verdict:
    """Returns the verdict with what the last tier said of it.

    A failure of the engine is an abstention.
    """
    evidence = {k: v for k, v in verdict.evidence.items() if k != "open"} | {"tier": "symbolic"}
    if outcome.value is not None:
        same, why = outcome.value
        if same is None:
            return replace(verdict, detail=f"symbolic: {why}; {verdict.detail}", evidence=evidence)
        reason = Reason.MATCH if same else Reason.MISMATCH
        return replace(
            verdict, score=float(same), reason=reason, detail=f"symbolic: {why}", evidence=evidence
        )
    reasons = {OutcomeStatus.TIMEOUT: Reason.TIMEOUT, OutcomeStatus.MEMORY: Reason.MEMORY}
    reason = reasons.get(outcome.status, Reason.ENGINE_FAILURE)
    if outcome.status is OutcomeStatus.ERROR and not _installed():
        reason = Reason.ENGINE_MISSING
        return replace(
            verdict,
            reason=reason,
            detail="symbolic: needs pip install 'rewardkit[math]'",
            evidence=evidence,
        )
    return replace(verdict, reason=reason, detail=f"symbolic: {outcome.detail}", evidence=evidence)


@cache
def _installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("sympy", "math_verify"))
