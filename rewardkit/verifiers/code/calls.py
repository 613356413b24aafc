"""The call format: arguments go into the sandbox, plain data comes out, the host compares."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import math
import time
from collections.abc import Iterator
from typing import Any

from rewardkit.errors import InvalidReferenceError
from rewardkit.sandbox import Job, Result, Sandbox, Session, Status
from rewardkit.verdict import Reason
from rewardkit.verifiers.code._inside.codec import CodecError, decode, encode, pack, unpack
from rewardkit.verifiers.code.compare import shorten, values_match
from rewardkit.verifiers.code.outcome import Outcome, Run, from_result, padded
from rewardkit.verifiers.code.reference import CallCase, Task
from rewardkit.verifiers.code.settings import Settings

__all__ = ["SERVE", "judge_answer", "pack_arguments", "run_calls"]

SERVE = "rewardkit.verifiers.code._inside.serve:serve"
_MAX_ANSWER_BYTES = 4 << 20
_LEAVE_S = 0.2
_AHEAD_BYTES = 1 << 15
"""Of calls that wait in the pipe, which holds twice as much: sending one ahead never waits."""
_HEADER_BYTES = 4


def run_calls(sandbox: Sandbox, program: str, task: Task, settings: Settings) -> Run:
    """Runs all calls of a task, in one process as long as the program lets it live."""
    return _Calls(sandbox, program, task, settings).run()


class _Calls:
    def __init__(self, sandbox: Sandbox, program: str, task: Task, settings: Settings) -> None:
        self.sandbox = sandbox
        self.program = program.encode("utf-8", "surrogatepass")
        self.task = task
        self.settings = settings
        self.outcomes: list[Outcome] = []
        self.results: list[Result] = []
        self.deadline = math.inf
        self.began = time.monotonic()

    def run(self) -> Run:
        cases = self.task.calls
        attempts = 0
        while len(self.outcomes) < len(cases) and time.monotonic() < self.deadline:
            before = len(self.outcomes)
            if not self._run_process(cases[before:]):
                break
            # A process that was lost before it answered anything is repeated twice, then given up.
            attempts = attempts + 1 if len(self.outcomes) == before else 0
            if attempts == 3:
                lost = Outcome(False, Reason.ENGINE_FAILURE, "the sandbox was lost three times")
                self.outcomes.append(lost)
                break
        return Run(padded(self.outcomes, len(cases)), tuple(self.results), "call")

    def _run_process(self, cases: tuple[CallCase, ...]) -> bool:
        """Runs cases in one process until it ends; False if the rest need not run."""
        try:
            session = self.sandbox.start(self._job(len(cases)), channel=True)
        except OSError:
            return True
        try:
            return self._talk(session, cases)
        finally:
            result = session.wait(grace_s=_LEAVE_S)
            self.results.append(result)

    def _talk(self, session: Session, cases: tuple[CallCase, ...]) -> bool:
        waiting = self._ahead(cases)
        session.post(pack({"op": "load"}), *next(waiting), wall_s=self._wall_s())
        loaded = self._answer(session)
        if loaded is None:
            return self._ended(session, "while loading", stops=True)
        if "x" in loaded:
            self.outcomes.append(_from_error(loaded["x"], "while loading"))
            self.outcomes += [self.outcomes[-1]] * (len(cases) - 1)
            return False
        for index, case in enumerate(cases):
            name = f"test {len(self.outcomes)}"
            if index and (requests := next(waiting)):
                session.post(*requests, wall_s=self._wall_s())
            answer = self._answer(session)
            if answer is None:
                return self._ended(session, name)
            self.outcomes.append(self._judge(case, answer, name))
            if self.settings.settles(self.outcomes[-1]):
                return False
            if self.settings.fresh_process:
                return True
        return True

    def _ahead(self, cases: tuple[CallCase, ...]) -> Iterator[list[bytes]]:
        """Yields, before each answer is waited for, the requests to send.

        Calls wait in the pipe while the program is busy with earlier ones, which spares a round
        trip each; as many as fit into it beside one another. Their expected values stay here.
        """
        if self.settings.fresh_process:
            yield [self._request(cases[0])]
            return
        requests = [self._request(case) for case in cases]
        sent = waiting = 0
        for index in range(len(cases)):
            if index:
                waiting -= len(requests[index - 1]) + _HEADER_BYTES
            start = sent
            while sent < len(cases):
                size = len(requests[sent]) + _HEADER_BYTES
                if sent > index and waiting + size > _AHEAD_BYTES:
                    break
                waiting += size
                sent += 1
            yield requests[start:sent]

    def _wall_s(self) -> float:
        left = self.deadline - time.monotonic()
        return max(0.05, min(self.settings.wall_s, left))

    def _answer(self, session: Session) -> Any:
        # After a time-out what is left of the task's whole time is not stretched any more.
        fresh = self.deadline == math.inf
        answer = session.answer(wall_s=self._wall_s(), max_bytes=_MAX_ANSWER_BYTES, stretch=fresh)
        if answer is None:
            return None
        try:
            read = unpack(answer)
        except CodecError as error:
            return {"x": {"n": "CodecError", "s": str(error)}}
        return read if isinstance(read, dict) else {}

    def _ended(self, session: Session, name: str, *, stops: bool = False) -> bool:
        result = session.wait(grace_s=_LEAVE_S)
        if session.lost:
            return True
        outcome = from_result(result, name)
        if result.status is Status.STOPPED:
            outcome = Outcome(False, Reason.CRASH, f"{name}: closed its channel")
        self.outcomes.append(outcome)
        if outcome.reason is Reason.TIMEOUT:
            budget = self.settings.timeout_s * len(self.task.calls)
            self.deadline = min(self.deadline, self.began + budget)
        return not stops and not self.settings.settles(outcome)

    def _job(self, count: int) -> Job:
        settings = self.settings
        limits = settings.limits(
            cpu_s=settings.timeout_s * count, wall_s=settings.wall_s * (count + 1)
        )
        return Job(
            entry=SERVE,
            arguments=(self.task.entry, 1),
            files={"main.py": self.program},
            limits=limits,
        )

    def _request(self, case: CallCase) -> bytes:
        request = {"op": "invoke", "cpu_s": self.settings.timeout_s}
        return pack_arguments(case, request)

    def _judge(self, case: CallCase, answer: Any, name: str) -> Outcome:
        return judge_answer(case, self.task, answer, name)


def pack_arguments(case: CallCase, request: dict[str, Any]) -> bytes:
    """Returns a request together with the call's arguments, under `a` and `k`, as JSON.

    Raises:
        InvalidReferenceError: the arguments are too large, too deep or not plain data.
    """
    try:
        arguments = [encode(argument) for argument in case.args]
        keywords = {name: encode(value) for name, value in case.kwargs.items()}
        return pack({**request, "a": arguments, "k": keywords})
    except CodecError as error:
        raise InvalidReferenceError(
            f"a call's arguments cannot be sent to the program: {error}; make them smaller, "
            "or let the program read them in the stdio format"
        ) from None


def judge_answer(case: CallCase, task: Task, answer: Any, name: str) -> Outcome:
    """Returns what the program's answer to one call is worth."""
    if "x" in answer:
        return _from_error(answer["x"], name)
    try:
        value = decode(answer.get("v"))
    except CodecError as error:
        return Outcome(False, Reason.MISMATCH, f"{name}: {error}")
    if case.check is not None:
        if case.check.holds(value):
            return Outcome(True, Reason.MATCH)
        return Outcome(False, Reason.MISMATCH, f"{case.check.label}: got {shorten(value)}")
    if values_match(value, case.expected, tolerance=task.tolerance):
        return Outcome(True, Reason.MATCH)
    wanted = shorten(case.expected)
    return Outcome(False, Reason.MISMATCH, f"{name}: got {shorten(value)}, expected {wanted}")


def _from_error(form: Any, name: str) -> Outcome:
    kind, message = "error", ""
    if isinstance(form, dict):
        # Only texts are shown: writing out a deep or long value of the program's could raise.
        texts = (form.get(key) for key in ("n", "s"))
        kind, message = (text[:200] if isinstance(text, str) else "" for text in texts)
    reason = Reason.CRASH
    if kind == "MemoryError":
        reason = Reason.MEMORY
    elif kind == "CodecError":
        reason = Reason.MISMATCH
    return Outcome(False, reason, f"{name}: {kind}: {message}")
