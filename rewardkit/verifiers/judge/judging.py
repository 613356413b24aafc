"""From a row to its verdict: gates, canaries, votes. It runs in the loop of the judge."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifiers.judge.canaries import canary_job
from rewardkit.verifiers.judge.client import JudgeClient
from rewardkit.verifiers.judge.modes import Mode
from rewardkit.verifiers.judge.options import JudgeOptions
from rewardkit.verifiers.judge.progress import progress_bar
from rewardkit.verifiers.judge.reference import Job
from rewardkit.verifiers.judge.row import before_asking, judge_row, settled_verdict
from rewardkit.verifiers.judge.votes import count_votes

__all__ = ["Judging"]


class Judging:
    """A judge at work: its counters and its client, none of which travels.

    Args:
        options: of the judge.
        mode: what is asked.
    """

    def __init__(self, options: JudgeOptions, mode: Mode) -> None:
        self._options = options
        self._mode = mode
        self._settings = options.make_client_settings()
        self.usage = options.make_usage()
        self.watch = options.make_watch()
        self.client: JudgeClient | None = None
        """Made by the first question, in the loop that asks it."""

    def metrics(self) -> dict[str, Json]:
        """Returns what was spent, how the canaries fared, and the state of the breaker."""
        breaker = None if self.client is None else self.client.breaker
        return {
            "usage": self.usage.to_json(),
            "canaries": self.watch.to_json(),
            "breaker": None if breaker is None else breaker.state,
            "breaker_opened": 0 if breaker is None else breaker.opened,
        }

    async def judge_all(self, jobs: Sequence[Job]) -> list[Verdict]:
        """Judges rows, somewhat more than there are slots at a time, and keeps their order."""
        verdicts: list[Verdict | None] = [None] * len(jobs)
        queue = iter(enumerate(jobs))
        with progress_bar(len(jobs), shown=self._options.progress) as advance:

            async def take() -> None:
                for index, job in queue:
                    verdicts[index] = await self.judge(job)
                    advance()

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._options.rows_at_once, len(jobs))):
                    group.create_task(take())
        return [verdict for verdict in verdicts if verdict is not None]

    async def judge(self, job: Job) -> Verdict:
        """Returns the verdict on a row, and asks about a canary beside it where one is due."""
        started, options = time.perf_counter(), self._options
        self.usage.add("verdicts")
        verdict = before_asking(
            job, self._mode, max_chars=options.max_chars, needs_answer=options.needs_answer
        )
        if verdict is not None:
            self.usage.add("gated")
            return replace(verdict, seconds=time.perf_counter() - started)
        turn = self.watch.next_turn()
        work = [self._panel(job)]
        if turn is not None:
            work.append(self._panel(canary_job(job, self.watch.text(turn, job))))
        verdict, *canary = await asyncio.gather(*work)
        if canary:
            self.watch.record(canary[0].score, accept_at=options.accept_at)
        if self.watch.alarm and options.on_alarm == "abstain" and (verdict.score or 0.0) > 0:
            detail = "judge: it accepts known-wrong responses, so its yes is no verdict"
            verdict = replace(verdict, score=None, reason=Reason.UNPROVED, detail=detail)
        self.usage.add("abstentions", int(verdict.abstained))
        return replace(verdict, seconds=time.perf_counter() - started)

    async def _panel(self, job: Job) -> Verdict:
        """Returns the verdict of all models."""
        if self.client is None:
            self.client = JudgeClient(self._settings, self.usage)
        client, timeout_s = self.client, self._settings.timeout_s
        verdicts = await asyncio.gather(
            *(
                judge_row(client, self._mode, job, model, timeout_s=timeout_s)
                for model in self._options.models
            )
        )
        if len(verdicts) == 1:
            return verdicts[0]
        scores = [one.score for one in verdicts]
        settled = count_votes(scores, self._options.vote, veto=self._options.veto)
        members: list[Json] = [
            {"score": one.score, "reason": one.reason.value, **one.evidence} for one in verdicts
        ]
        return settled_verdict(settled, job, {"tier": "judge", "panel": members})
