"""What one test came to, and how outcomes become a verdict."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.sandbox import Result, Status
from rewardkit.verdict import Reason

__all__ = ["POLICIES", "Outcome", "Run", "from_result", "summarise"]

POLICIES = ("all", "fraction", "first_failure")
_DETAIL_CHARS = 300
_REASONS = {
    Status.CPU: Reason.TIMEOUT,
    Status.WALL: Reason.TIMEOUT,
    Status.MEMORY: Reason.MEMORY,
    Status.OUTPUT: Reason.OUTPUT_LIMIT,
    Status.FAILED: Reason.ENGINE_FAILURE,
}
_SIGSYS = 31
_NOT_RUN = "not run"
_FRAME = re.compile(
    r"\s+at (?![-+*/|&^%@]?=)\S.*(?::\d+\)?|\(Native Method\)|<anonymous>\)?)(?: \{)?$"
)
"""A line of the stack that JavaScript and Java print below the message."""
_AFTERWORD = re.compile(
    r"Node\.js v\d|note: run with|exit status \d+$|goroutine \d+ |\s|main\.\w+\(|created by "
)
"""What Node, Rust and Go print below the message."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: passed or not, and why."""

    passed: bool
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The outcomes of all tests of one program, in the order of the tests."""

    outcomes: tuple[Outcome, ...]
    results: tuple[Result, ...] = ()
    """The sandboxed runs that it took."""
    path: str = ""
    """How the tests were run, in a word or two."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers."""

    score: float | None
    reason: Reason
    detail: str
    parts: dict[str, float]


def from_result(result: Result, what: str) -> Outcome:
    """Returns the outcome of a test whose run ended in another way than asked for."""
    if result.status is Status.SIGNALED:
        reason = Reason.FORBIDDEN if result.signal == _SIGSYS else Reason.CRASH
        return Outcome(False, reason, f"{what}: died of signal {result.signal}")
    if result.status is Status.EXITED:
        tail = _message(result.stderr)
        reason = Reason.MEMORY if tail.startswith("MemoryError") else Reason.CRASH
        return Outcome(
            False, reason, f"{what}: exit status {result.exit_code}; {tail}".rstrip("; ")
        )
    reason = _REASONS.get(result.status, Reason.ENGINE_FAILURE)
    return Outcome(False, reason, f"{what}: {result.status} limit {result.detail}".rstrip())


def summarise(run: Run, policy: str) -> Summary:
    """Returns the score and its reason under a policy.

    A test that the infrastructure lost makes the verdict an abstention, unless another test failed
    for certain and the policy needs them all.
    """
    outcomes = run.outcomes
    passed = sum(outcome.passed for outcome in outcomes)
    share = passed / len(outcomes) if outcomes else 0.0
    parts = {"passed": share}
    parts.update({f"test_{i}": float(outcome.passed) for i, outcome in enumerate(outcomes)})
    lost = [o for o in outcomes if o.reason is Reason.ENGINE_FAILURE]
    failed = [o for o in outcomes if not o.passed and o.reason is not Reason.ENGINE_FAILURE]
    head = f"{run.path}: {passed}/{len(outcomes)} tests passed"
    if lost and (policy == "fraction" or not failed):
        return Summary(None, Reason.ENGINE_FAILURE, _cut(f"{head}; {lost[0].detail}"), parts)
    if outcomes and passed == len(outcomes):
        return Summary(1.0, Reason.MATCH, head, parts)
    first = failed[0] if failed else Outcome(False, Reason.UNPROVED, "no test ran")
    skipped = sum(outcome.detail == _NOT_RUN for outcome in outcomes)
    detail = _cut(f"{head}{f', {skipped} not run' if skipped else ''}; {first.detail}")
    if policy == "fraction" and passed:
        return Summary(share, Reason.PARTIAL, detail, parts)
    return Summary(0.0, first.reason, detail, parts)


def padded(outcomes: Sequence[Outcome], count: int) -> tuple[Outcome, ...]:
    """Returns the outcomes, with those tests that were not reached counted as failed."""
    missing = Outcome(False, Reason.UNPROVED, _NOT_RUN)
    return (*outcomes, *[missing] * (count - len(outcomes)))


def _message(stderr: bytes) -> str:
    """Returns the line that says what went wrong.

    Python prints it last; JavaScript and Java print a stack below it, Go and Rust advice.
    """
    text = stderr[-4000:].decode("utf-8", "replace")
    lines = [line.rstrip()[:2000] for line in text.splitlines() if line.strip()]
    frames = [place for place, line in enumerate(lines) if _FRAME.match(line)]
    if frames:
        top = frames[-1]
        while top > 0 and _FRAME.match(lines[top - 1]):
            top -= 1
        lines = lines[:top] or lines
    elif len(lines) > 1:
        while len(lines) > 1 and _AFTERWORD.match(lines[-1]):
            lines.pop()
    return _cut(lines[-1].strip()) if lines else ""


def _cut(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text[: 2 * _DETAIL_CHARS])
    return clean if len(clean) <= _DETAIL_CHARS else clean[:_DETAIL_CHARS] + "…"
