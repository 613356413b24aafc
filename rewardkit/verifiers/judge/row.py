"""One row: gates, questions, answers, verdict."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.judge.client import Asked, JudgeClient
from rewardkit.verifiers.judge.comparisons import Consistency, Skills
from rewardkit.verifiers.judge.gates import gate
from rewardkit.verifiers.judge.limits import Deadline
from rewardkit.verifiers.judge.modes import Mode, Settled
from rewardkit.verifiers.judge.query import Query
from rewardkit.verifiers.judge.reference import Job

__all__ = ["before_asking", "judge_row", "settled_verdict"]

_SHOWN = 500
_TIMEOUTS = ("timeout",)


def before_asking(
    job: Job, mode: Mode, *, max_chars: int, needs_answer: bool = False
) -> Verdict | None:
    """Returns the verdict on a response that no judge needs to see, or None.

    Args:
        job: the row.
        mode: what would be asked.
        max_chars: a longer response is refused.
        needs_answer: a response in which nothing commits to an answer is refused too.
    """
    shown = job.response[:2_000] or None
    if not job.closed:
        return Verdict(0.0, Reason.TRUNCATED, detail="gate: the reasoning never ends")
    if len(job.response) + len(job.reasoning) > max_chars:
        return Verdict(
            0.0, Reason.SIZE_LIMIT, shown, detail=f"gate: above {max_chars:,} characters"
        )
    if isinstance(mode, Consistency | Skills) and job.reasoning.strip():
        return None
    stopped = gate(job.response, job.reference.answer)
    if stopped is None and needs_answer:
        found = extract_answer(job.response, AnswerPolicy(last_expression=True))
        if found.text is None and not found.contested:
            stopped = found.reason or Reason.NO_ANSWER, found.detail
    if stopped is None:
        return None
    return Verdict(0.0, stopped[0], shown, detail=f"gate: {stopped[1]}", evidence={"tier": "gate"})


@dataclass(slots=True)
class _Spent:
    """What one model's judgement of a row took."""

    asked: list[Asked] = field(default_factory=list)

    def usage(self) -> dict[str, Json]:
        replies = [one.reply for one in self.asked if one.reply is not None]
        return {
            "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
            "completion_tokens": sum(reply.completion_tokens for reply in replies),
            "questions": len(self.asked),
            "from_cache": sum(one.cached for one in self.asked),
        }


async def judge_row(
    client: JudgeClient, mode: Mode, job: Job, model: str, *, timeout_s: float
) -> Verdict:
    """Returns the verdict of one model on one row; nothing that it says or does raises."""
    spent = _Spent()
    deadline = Deadline(timeout_s)

    async def ask(queries: Sequence[Query]) -> list[Asked]:
        said = await asyncio.gather(*(client.ask(query, model, deadline) for query in queries))
        spent.asked += said
        return said

    steps = mode.steps(job)
    try:
        queries = next(steps)
        while True:
            said = await ask(queries)
            failed = next((one for one in said if one.answers is None), None)
            if failed is not None:
                steps.close()
                return _abstention(failed, job, model, spent)
            queries = steps.send([one.answers for one in said if one.answers is not None])
    except StopIteration as end:
        settled: Settled = end.value
    return settled_verdict(settled, job, _evidence(model, spent))


def settled_verdict(settled: Settled, job: Job, evidence: dict[str, Json]) -> Verdict:
    """Returns a verdict from what the answers are worth."""
    return Verdict(
        settled.score,
        settled.reason,
        answer=job.response[:2_000],
        detail=f"judge: {settled.detail}",
        parts=settled.parts,
        evidence=evidence,
    )


def _abstention(failed: Asked, job: Job, model: str, spent: _Spent) -> Verdict:
    reason = Reason.TIMEOUT if failed.why in _TIMEOUTS else Reason.ENGINE_FAILURE
    return Verdict(
        None,
        reason,
        answer=job.response[:2_000],
        detail=f"judge: {failed.detail}",
        evidence=_evidence(model, spent) | {"unreadable": failed.why},
    )


def _evidence(model: str, spent: _Spent) -> dict[str, Json]:
    said: list[Json] = [dict(one.answers) for one in spent.asked if one.answers is not None]
    texts = [one.reply.text[-_SHOWN:] for one in spent.asked if one.reply is not None]
    return {
        "tier": "judge",
        "model": model,
        "answers": said,
        "said": texts[-1] if texts else "",
        "usage": spent.usage(),
    }
