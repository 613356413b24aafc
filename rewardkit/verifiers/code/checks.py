"""The assert, unittest and pytest formats: checks in a second sandbox."""

import os

from rewardkit.errors import EngineMissingError, InvalidReferenceError
from rewardkit.sandbox import Job, Result, Sandbox, Status
from rewardkit.verdict import Reason
from rewardkit.verifiers.code._inside.codec import CodecError, pack, unpack
from rewardkit.verifiers.code.calls import SERVE
from rewardkit.verifiers.code.outcome import Outcome, Run, from_result
from rewardkit.verifiers.code.reference import Task
from rewardkit.verifiers.code.settings import Settings

__all__ = ["run_checks"]

_CHECKS = "rewardkit.verifiers.code._inside.checks:run_checks"
_MAX_REPORT_BYTES = 4 << 20
_LEAVE_S = 0.2
_START_S = 5.0
_ATTEMPTS = 3


def run_checks(sandbox: Sandbox, program: str, task: Task, settings: Settings) -> Run:
    """Runs the check code of a task; a run that the infrastructure lost is repeated.

    Raises:
        InvalidReferenceError: the check code is too large.
        EngineMissingError: the checks import a module that is not installed here.
    """
    source = program.encode("utf-8", "surrogatepass")
    for _ in range(_ATTEMPTS):
        try:
            run = _run_once(sandbox, source, task, settings)
        except OSError:
            continue
        if run is not None:
            return run
    lost = Outcome(False, Reason.ENGINE_FAILURE, "the sandbox was lost three times")
    return Run((lost,), (), task.format)


def _run_once(sandbox: Sandbox, source: bytes, task: Task, settings: Settings) -> Run | None:
    request = _request(task)
    wall_s = settings.wall_s + _START_S
    limits = settings.limits(cpu_s=settings.timeout_s + 1, wall_s=wall_s)
    to_program = os.pipe()
    to_checks = os.pipe()
    try:
        program = sandbox.start(
            Job(entry=SERVE, arguments=(task.entry, 0), files={"main.py": source}, limits=limits),
            pipes=(to_program[0], to_checks[1]),
            discard_output=True,
        )
        try:
            checks = sandbox.start(
                Job(entry=_CHECKS, limits=limits),
                channel=True,
                pipes=(to_checks[0], to_program[1]),
                discard_output=True,
            )
        except BaseException:
            program.close()
            raise
    finally:
        for descriptor in (*to_program, *to_checks):
            os.close(descriptor)
    answer = checks.exchange(request, wall_s=wall_s, max_bytes=_MAX_REPORT_BYTES)
    checks_result = checks.wait(grace_s=_LEAVE_S)
    program_result = program.wait(grace_s=_LEAVE_S)
    if checks.lost or program.lost:
        return None
    results = (program_result, checks_result)
    return Run(_outcomes(answer, program_result, checks_result), results, task.format)


def _request(task: Task) -> bytes:
    try:
        return pack(
            {
                "format": task.format,
                "source": task.source,
                "entry": task.entry,
                "module": task.module,
                "names": list(task.names),
            }
        )
    except CodecError as error:
        raise InvalidReferenceError(f"`source` cannot be run: {error}; split it up") from None


def _outcomes(answer: bytes | None, program: Result, checks: Result) -> tuple[Outcome, ...]:
    if answer is None:
        return (_without_report(program, checks),)
    try:
        report = unpack(answer)
    except CodecError as error:
        return (Outcome(False, Reason.CRASH, f"the checks' report: {error}"),)
    if report["missing"]:
        name = str(report["missing"])
        raise EngineMissingError(
            f"{name}, which a reference's checks import,", f"pip install {name}"
        )
    if report["finished"] and (not report["tests"] or report["calls"] < 1):
        return (Outcome(False, Reason.UNPROVED, "the checks never called the program"),)
    outcomes = [
        Outcome(bool(passed), Reason.MATCH if passed else Reason.MISMATCH, f"{name}: {detail}")
        for name, passed, detail in report["tests"]
    ]
    if report["disbelieved"]:
        outcomes.append(Outcome(False, Reason.MISMATCH, str(report["error"])))
    elif not report["finished"]:
        outcomes.append(_unfinished(str(report["error"]), program))
    return tuple(outcomes)


def _unfinished(error: str, program: Result) -> Outcome:
    if program.status not in {Status.STOPPED, Status.EXITED}:
        return from_result(program, "the program")
    if "MemoryError" in error:
        return Outcome(False, Reason.MEMORY, error)
    return Outcome(False, Reason.CRASH, f"the checks stopped: {error}")


def _without_report(program: Result, checks: Result) -> Outcome:
    if program.status is not Status.STOPPED and not program.succeeded:
        return from_result(program, "the program")
    return from_result(checks, "the checks")
