"""One scored row as a reader needs it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.completion import completion_text
from rewardkit.datasets._values import plain_json
from rewardkit.datasets.rows import look_up
from rewardkit.report.excerpt import Excerpt, cut_excerpt, find_span
from rewardkit.scoring.scored import ScoredColumns, reward_values
from rewardkit.verdict import Verdict

__all__ = [
    "Example",
    "RowNames",
    "ShortVerdict",
    "make_example",
    "outcome_of",
    "prompt_text",
    "short_verdict",
    "value_text",
]

_PROMPT_COLUMNS = ("prompt", "question", "problem")
_DETAIL_CHARS = 1000


@dataclass(frozen=True, slots=True)
class RowNames:
    """Where a scored row holds what."""

    added: ScoredColumns
    completion: str
    reference: str


@dataclass(frozen=True, slots=True)
class ShortVerdict:
    """A verdict, cut down."""

    outcome: str
    """passed, partial, failed or abstained."""
    score: float | None
    reason: str
    answer: Excerpt | None
    detail: str
    tier: str
    """Empty where the verdict names none."""
    seconds: float
    components: str = ""
    """The values of a reward's components; empty where a verifier graded."""


@dataclass(frozen=True, slots=True)
class Example:
    """A scored row, cut down."""

    row_id: str
    verdict: ShortVerdict
    prompt: Excerpt | None
    completion: Excerpt
    reference: Excerpt


def outcome_of(score: float | None) -> str:
    """Returns passed, partial, failed or abstained.

    >>> outcome_of(0.5)
    'partial'
    """
    if score is None:
        return "abstained"
    if score == 1.0:
        return "passed"
    return "partial" if score > 0.0 else "failed"


def short_verdict(verdict: Mapping[str, Any]) -> ShortVerdict:
    """Returns a verdict in the form of `Verdict.to_dict`, cut down.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    checked = Verdict.from_dict(verdict)
    tier = checked.evidence.get("tier")
    return ShortVerdict(
        outcome=outcome_of(checked.score),
        score=checked.score,
        reason=checked.reason.value,
        answer=None if checked.answer is None else cut_excerpt(checked.answer, keep_start=True),
        detail=checked.detail[:_DETAIL_CHARS],
        tier=str(tier) if isinstance(tier, str | int) else "",
        seconds=checked.seconds,
        components=_components(verdict),
    )


def _components(verdict: Mapping[str, Any]) -> str:
    values = reward_values(verdict)
    if values is None:
        return ""
    shown = {"total": values["total"], **values["components"]}
    parts = (f"{name} {'–' if v is None else format(v, '.4g')}" for name, v in shown.items())
    return ", ".join(parts)[:_DETAIL_CHARS]


def make_example(row: Mapping[str, Any], names: RowNames) -> Example:
    """Returns a scored row, cut down to what a reader needs."""
    verdict = row[names.added.verdict]
    text = completion_text(look_up(row, names.completion))
    span = find_span(text, verdict.get("answer"), (verdict.get("evidence") or {}).get("span"))
    prompt = next((row[name] for name in _PROMPT_COLUMNS if row.get(name)), None)
    reference = value_text(look_up(row, names.reference))
    return Example(
        row_id=str(row[names.added.row_id]),
        verdict=short_verdict(verdict),
        prompt=None if prompt is None else cut_excerpt(prompt_text(prompt), keep_start=True),
        completion=cut_excerpt(text, span),
        reference=cut_excerpt(reference, keep_start=True),
    )


def value_text(value: object) -> str:
    """Returns a column's value as a person reads it: text as it is, other data as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=plain_json)


def prompt_text(prompt: object) -> str:
    """Returns a prompt as text; each message of a chat begins with its role."""
    if isinstance(prompt, list) and all(isinstance(message, Mapping) for message in prompt):
        return "\n\n".join(f"[{m.get('role', '?')}] {completion_text([m])}" for m in prompt)
    return value_text(prompt)
